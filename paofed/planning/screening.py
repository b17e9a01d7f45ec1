"""What is left out before any race: what cannot be stable, and what costs too much."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from paofed.algorithms.spec import from_text
from paofed.core.selection import Windows
from paofed.core.tariffs import Tariff
from paofed.errors import InputError
from paofed.planning.field import Candidate, levels, step_of
from paofed.racing.arena import Arena
from paofed.racing.meeting import simulated, spent
from paofed.simulate.spread.crew import Crew
from paofed.simulate.stopping import Report
from paofed.theory.bounds import step_sizes
from paofed.theory.moments import closed_form
from paofed.theory.sample_points import points_of
from paofed.theory.second.stability import largest_step
from paofed.world.realize import make_world
from paofed.world.scenario import Scenario
from paofed.world.streams import Synthetic
from paofed.world.worlds import Setting

# The largest fleet and model whose matrices theory looks at: that takes a few seconds.
_MOST_CLIENTS, _MOST_FEATURES = 32, 1000
_MOST_FOR_SQUARES = 200  # features; with more of them, |z|^2 is nearly the same for all samples
# How many clients with the longest features, and how many points stand for their samples.
_FIRST, _POINTS = 4, 512
SLACK = 1.1  # what was measured in one world may be off by this factor


class Advance(NamedTuple):
    """What theory says before any run."""

    limit: float | None  # from this step size on, a client left to itself diverges; None: not known
    words: str


def advance(scenario: Setting, seed: int) -> Advance:
    """Return the step sizes with which clients left to themselves diverge, in one world."""
    if not isinstance(scenario, Scenario) or not isinstance(scenario.stream, Synthetic):
        what = "a table" if isinstance(scenario, Scenario) else "a function"
        return Advance(None, f"theory knows no laws of {what}: every step size is tried")
    if scenario.features > _MOST_FEATURES:
        return Advance(None, f"theory takes too long for {scenario.features:,} features")
    world = make_world(scenario, seed, 0)
    some = range(0, scenario.clients, max(1, scenario.clients // _MOST_CLIENTS))
    laws = type(world.laws)(*(law[list(some)] for law in world.laws))
    moments = closed_form(world.fourier_map, laws)
    found = step_sizes(moments)
    limit, how = min(found.bound, found.typical), "on average"
    if scenario.features <= _MOST_FOR_SQUARES:
        longest = np.argsort(-np.trace(moments.R, axis1=1, axis2=2))[:_FIRST]
        seen = points_of(world.fourier_map, laws)(longest, _POINTS)
        steps = (largest_step(z, p, p) for z, p in zip(seen.z, seen.weights, strict=True))
        limit, how = min(limit, *steps), "in the mean square"
    said = f"theory: with step sizes from {limit:.2f} on a client between contacts diverges"
    return Advance(limit, f"{said} {how}")


def stable(words: Iterable[str], scenario: Setting, limit: float | None) -> list[str]:
    """Return the words that may be stable; all words without LMS steps are let through.

    The limit is that of clients that nobody corrects. Words whose contacts renew a client's whole
    model are let through as well.
    """

    def may_diverge(word: str) -> bool:
        step = step_of(word, scenario)
        return limit is not None and step is not None and step >= limit

    return [word for word in words if not may_diverge(word) or renews_all(word, scenario.features)]


def renews_all(word: str, features: int) -> bool:
    """Whether a contact renews a client's whole model, not a window of it."""
    down = from_text(word).downlink
    return not isinstance(down, Windows) or down.size(features) == features


def rates_of(
    arena: Arena, shapes: Mapping[str, str], tariff: Tariff, seed: int, crew: Crew, engine: str,
    report: Report,
) -> dict[str, float]:  # fmt: skip
    """Return the bytes per device and tick of each shape with every contact used, from one run."""
    first = {shapes[word]: word for word in reversed(list(shapes))}
    result = simulated(arena.scenario, list(first.values()), runs=1, seed=seed, crew=crew,
                       engine=engine, report=report)  # fmt: skip
    cells = arena.scenario.clients * arena.scenario.ticks
    return {shape: spent([result], word, tariff) / cells for shape, word in first.items()}


def fitting(
    words: Sequence[str], shapes: Mapping[str, str], rates: Mapping[str, float],
    purses: Sequence[float],
) -> list[Candidate]:  # fmt: skip
    """Return all candidates that may fit the largest purse, with every share of contacts."""
    cheapest = min(rates[shapes[word]] for word in words)
    shares = levels(cheapest, min(purses))
    if not cheapest * shares[-1] <= max(purses):
        raise nothing_fits(shares[-1], cheapest * shares[-1], max(purses))
    return [
        Candidate(word, share)
        for share in shares
        for word in words
        if rates[shapes[word]] * share <= SLACK * max(purses)
    ]


def nothing_fits(share: float, spends: float, most: float) -> InputError:
    """Return the error for the case that even the cheapest settings spend too much."""
    return InputError(
        f"nothing fits: the cheapest settings, at {share:g} of the contacts, spend up to "
        f"{spends:.3g} B per device and tick, and the budget is {most:.3g} B; give a larger budget "
        f"or a cheaper tariff"
    )


def left_out(total: int, by_theory: int, by_budget: int) -> str:
    """Say what took no part: combinations of options, whatever the share of contacts."""
    parts = [
        f"{number:,} {why}"
        for number, why in ((by_theory, "would diverge"), (by_budget, "cost too much"))
        if number
    ]
    every = f"{total:,} combinations of options"
    return f"of {every}, {' and '.join(parts)}" if parts else f"all {every} were raced"
