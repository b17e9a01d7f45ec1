"""What is left out before any race: what cannot be stable, and what costs too much."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from paofed.algorithms.setup import Setup
from paofed.core.selection import Windows
from paofed.core.tariffs import Tariff
from paofed.errors import InputError
from paofed.experiments.arena import Arena
from paofed.experiments.experiment import Experiment, spent
from paofed.experiments.plan.field import Candidate, levels, step_of
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


def stable(setups: Iterable[Setup], scenario: Setting, limit: float | None) -> list[Setup]:
    """Return the setups that may be stable; all setups without LMS steps are let through.

    The limit is that of clients that nobody corrects. Setups whose contacts renew a client's whole
    model are let through as well.
    """

    def may_diverge(setup: Setup) -> bool:
        step = step_of(setup, scenario)
        return limit is not None and step is not None and step >= limit

    return [one for one in setups if not may_diverge(one) or renews_all(one, scenario.features)]


def renews_all(setup: Setup, features: int) -> bool:
    """Whether a contact renews a client's whole model, not a window of it."""
    down = setup.algorithm().downlink
    return not isinstance(down, Windows) or down.size(features) == features


def rates_of(
    arena: Arena, shapes: Mapping[Setup, Setup], tariff: Tariff,
    experiment: Experiment, number: int, report: Report,
) -> dict[Setup, float]:  # fmt: skip
    """Return the bytes per device and tick of each shape with every contact used, from one run."""
    first = {shapes[setup]: setup for setup in reversed(list(shapes))}
    methods = [setup.algorithm() for setup in first.values()]
    result = experiment.run(arena.scenario, methods, 1, number, report)
    cells = arena.scenario.clients * arena.scenario.ticks
    return {shape: spent([result], str(setup), tariff) / cells for shape, setup in first.items()}


def fitting(
    setups: Sequence[Setup], shapes: Mapping[Setup, Setup], rates: Mapping[Setup, float],
    purses: Sequence[float],
) -> list[Candidate]:  # fmt: skip
    """Return all candidates that may fit the largest purse, with every share of contacts."""
    cheapest = min(rates[shapes[setup]] for setup in setups)
    shares = levels(cheapest, min(purses))
    if not cheapest * shares[-1] <= max(purses):
        raise nothing_fits(shares[-1], cheapest * shares[-1], max(purses))
    return [
        Candidate(setup, share)
        for share in shares
        for setup in setups
        if rates[shapes[setup]] * share <= SLACK * max(purses)
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
