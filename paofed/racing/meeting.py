"""Runs candidates with as few curve points as final errors allow, and counts what they spent."""

from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from paofed.algorithms import Algorithm
from paofed.core.arrays import FloatArray
from paofed.core.tariffs import Tariff
from paofed.simulate.engines import USUAL
from paofed.simulate.montecarlo import run
from paofed.simulate.results.result import Result
from paofed.simulate.spread.crew import Crew
from paofed.simulate.stopping import Report
from paofed.world.scenario import Scenario
from paofed.world.worlds import Setting

_POINTS = 100  # points of a curve: five of them are in the last 5 % of the ticks
APART = 2**63  # how far the seeds of meetings are from the seed of the run
# Worlds of one's own know no seeds: each seed of a meeting has so many of their numbers for itself.
_NUMBERS, _SEEDS = 10_000, 400_000


class WorldsMet(TypedDict):
    """Which worlds candidates meet in, as `run` takes them."""

    seed: int
    first: int


def worlds_met(setting: Setting, seed: int) -> WorldsMet:
    """Return the worlds of a meeting, whose seed is `APART` from that of the run.

    Worlds of one's own are told apart by their numbers: those of meetings begin at 10,000.
    """
    if isinstance(setting, Scenario):
        return {"seed": seed, "first": 0}
    return {"seed": seed, "first": _NUMBERS * (1 + (seed - APART) % _SEEDS)}


def simulated(
    scenario: Setting,
    words: Sequence[str],
    *,
    runs: int,
    seed: int,
    crew: Crew,
    engine: str = USUAL,
    report: Report | None = None,
) -> Result:
    """Run candidates in `runs` worlds."""
    every = max(1, scenario.ticks // _POINTS)
    return run(
        scenario, words, runs=runs, **worlds_met(scenario, seed), every=every, baselines="none",
        clean=False, engine=engine, report=report, **crew._asdict(),
    )  # fmt: skip


def spent(results: Sequence[Result], word: str, tariff: Tariff | str) -> float:
    """Return the bytes on the wire of a whole run, mean over runs."""
    return float(spent_by_run(results, word, tariff).mean())


def spent_by_run(results: Sequence[Result], word: str, tariff: Tariff | str) -> FloatArray:
    """Return the bytes on the wire of every run."""
    return np.concatenate([result.run_wire(word, tariff).both[:, -1] for result in results])


def kept_by(method: Algorithm, features: int) -> int:
    """Return how many numbers a device keeps: what it learns with, and its memory of its uplink."""
    kept = (*method.learner.init(features), *method.uplink.init(features))
    return sum(np.size(part) for part in kept)


def share_of(report: Report, begun: float, part: float, share: float) -> None:
    """Report a share of one part of the work as a share of all of the work."""
    report(begun + part * share)
