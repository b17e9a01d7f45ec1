"""What an entrant chooses within each budget: by racing, on worlds apart from those of judgement.

All candidates of an entrant meet in the same worlds. After every round, a candidate is dropped if,
within every budget that it fits in, some other candidate is clearly better.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

from lab.compare.settings import Extent
from paofed.racing import TOLERANCE
from paofed.racing.arena import Arena
from paofed.racing.meeting import share_of, simulated, spent
from paofed.racing.race import seed_of
from paofed.racing.rejection import Standing, hopeful, student_of_race, winner_of, within
from paofed.report.comparison.judged import Purse
from paofed.simulate.results.result import Result
from paofed.simulate.spread.crew import Crew
from paofed.simulate.stopping import Report
from paofed.world.worlds import Setting

MEASURE = "pao-fed-u1"  # budgets are multiples of what this row spends with the paper's options
BUDGETS: Mapping[str, float] = {"quarter": 0.25, "same": 1.0, "tenfold": 10.0}


class Pick(NamedTuple):
    """What an entrant chose within a purse, and its score in the worlds of the search."""

    word: str
    score: float  # mean error in dB


def purses_of(
    scenario: Setting, tariffs: Sequence[str], extent: Extent, seed: int, crew: Crew
) -> list[list[Purse]]:
    """Measure what MEASURE spends in the worlds of the search, and derive budgets from it.

    For each round, the purses are those of all worlds so far. Where contacts are rare, worlds
    differ, and bytes spent in some worlds must not be compared with bytes spent in others.
    """
    results, found = list[Result](), list[list[Purse]]()
    for number, runs in enumerate(extent.rounds):
        results.append(simulated(scenario, [MEASURE], runs=runs, seed=seed_of(seed, 1 + number),
                                 crew=crew))  # fmt: skip
        purses = product(tariffs, BUDGETS.items())
        found.append([
            Purse(tariff, budget, times * spent(results, MEASURE, tariff))
            for tariff, (budget, times) in purses
        ])  # fmt: skip
    return found


def search(
    arena: Arena,
    candidates: Sequence[str],
    purses: Sequence[Sequence[Purse]],
    extent: Extent,
    seed: int,
    crew: Crew,
    report: Report,
) -> dict[Purse, Pick]:
    """Find the best candidate within each purse; a purse that nothing fits in is left out.

    `purses` are those of each round, as `purses_of` measures them.
    """
    ran = partial(simulated, arena.scenario, crew=crew)
    student = student_of_race(len(candidates), len(extent.rounds))
    left, results, total = list(candidates), list[Result](), sum(extent.rounds)
    for number, runs in enumerate(extent.rounds):
        begun, part = sum(extent.rounds[:number]) / total, runs / total
        told = partial(share_of, report, begun, part)
        results.append(ran(left, runs=runs, seed=seed_of(seed, 1 + number), report=told))
        fits = {purse: _fitting(arena, results, left, purse) for purse in purses[number]}
        may_win = hopeful(fits.values(), TOLERANCE, student)
        left = [word for word in left if word in may_win]
        if not left:
            break
    return {
        purse: Pick(word := winner_of(sound, TOLERANCE), sound[word].score)
        for purse, found in fits.items()
        if (sound := {name: one for name, one in found.items() if not one.diverged})
    }


def _fitting(
    arena: Arena, results: Sequence[Result], left: Sequence[str], purse: Purse
) -> dict[str, Standing]:
    """Return how the candidates stand that can afford a purse."""
    bytes_of = {word: spent(results, word, purse.tariff) for word in left}
    standings = {
        word: Standing(arena.values(results, word), sent) for word, sent in bytes_of.items()
    }
    return within(standings, purse.bytes)
