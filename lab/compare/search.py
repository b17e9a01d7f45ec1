"""What an entrant chooses within each budget: by racing, on worlds apart from those of judgement.

All candidates of an entrant meet in the same worlds. After every round, a candidate is dropped if,
within every budget that it fits in, some other candidate is clearly better.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

from lab.compare.settings import Extent
from paofed.algorithms import Algorithm
from paofed.algorithms.setup import resolve
from paofed.experiments import TOLERANCE
from paofed.experiments.arena import Arena
from paofed.experiments.experiment import Arm, Experiment, Findings, spent
from paofed.experiments.rejection import Standing, student_of_race, survivors, winner_of, within
from paofed.report.comparison.page import Purse
from paofed.simulate.results.result import Result
from paofed.simulate.stopping import Report, parts_of
from paofed.world.worlds import Setting

MEASURE = "pao-fed-u1"  # budgets are multiples of what this row spends with the paper's options
BUDGETS: Mapping[str, float] = {"quarter": 0.25, "same": 1.0, "tenfold": 10.0}


class Pick(NamedTuple):
    """What an entrant chose within a purse, and its score in the worlds of the search."""

    word: str
    score: float  # mean error in dB


def purses_of(
    scenario: Setting, tariffs: Sequence[str], extent: Extent, experiment: Experiment
) -> list[list[Purse]]:
    """Measure what MEASURE spends in the worlds of the search, and derive budgets from it.

    For each round, the purses are those of all worlds so far. Where contacts are rare, worlds
    differ, and bytes spent in some worlds must not be compared with bytes spent in others.
    """
    results, found = list[Result](), list[list[Purse]]()
    for number, runs in enumerate(extent.rounds):
        results.append(experiment.run(scenario, [resolve(MEASURE)], runs, 1 + number))
        purses = product(tariffs, BUDGETS.items())
        found.append([
            Purse(tariff, budget, times * spent(results, MEASURE, tariff))
            for tariff, (budget, times) in purses
        ])  # fmt: skip
    return found


def search(
    arena: Arena,
    methods: Mapping[str, Algorithm],
    purses: Sequence[Sequence[Purse]],
    extent: Extent,
    experiment: Experiment,
    report: Report,
) -> dict[Purse, Pick]:
    """Find the best candidate within each purse; a purse that nothing fits in is left out.

    `methods` are its candidates by name; `purses` are those of each round, as `purses_of` measures
    them.
    """
    student = student_of_race(len(methods), len(extent.rounds))
    left, found, parts = list(methods), Findings(experiment, arena), parts_of(report, extent.rounds)
    for number, (runs, told) in enumerate(zip(extent.rounds, parts, strict=True)):
        found.meet(
            {word: Arm(arena.scenario, methods[word]) for word in left}, runs, 1 + number, told
        )
        fits = {purse: _fitting(found, left, purse) for purse in purses[number]}
        may_win = {word for one in fits.values() for word in survivors(one, TOLERANCE, student)}
        left = [word for word in left if word in may_win]
        if not left:
            break
    return {
        purse: Pick(word := winner_of(sound, TOLERANCE), sound[word].score)
        for purse, fitting in fits.items()
        if (sound := {name: one for name, one in fitting.items() if not one.diverged})
    }


def _fitting(found: Findings, left: Sequence[str], purse: Purse) -> dict[str, Standing]:
    """Return how the candidates stand that can afford a purse."""
    standings = {
        word: Standing(found.values(word), found.spent(word, purse.tariff)) for word in left
    }
    return within(standings, purse.bytes)
