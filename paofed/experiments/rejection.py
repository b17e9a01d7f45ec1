"""Who is clearly worse, who wins, and by how much anything that was tried can be better.

All tests are one-sided t-tests of paired differences. In every round each candidate is compared
with the one that leads. The best candidate is dropped by mistake, or the winner is worse than the
best by more than is said, only if for some rival and round the rival's difference to the best lies
beyond its interval. Each of these (candidates - 1) x rounds intervals fails with the same part of
`ERROR`. So `ERROR` is the chance that any of this happens in a race (Bonferroni's bound, whoever
leads when).
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.special import stdtrit

from paofed.core.arrays import FloatArray
from paofed.simulate.results.estimates import Estimate, estimate

ERROR = 0.05
_ROUNDING = 1e-9  # of sums, relative

Student = Callable[[int], float]


class Standing(NamedTuple):
    """What is known of a candidate after a round."""

    values: FloatArray  # by world, device or block of time, in dB: the less, the better
    payload: float  # bytes of a run, both ways
    kept: int = 0  # numbers that a device keeps
    doubt: float = 0.0  # bytes by which the mean of the payload may be off by chance, either way

    @property
    def cost(self) -> tuple[float, int]:
        """What a candidate costs, for comparison: traffic first, then numbers kept."""
        return self.payload, self.kept

    @property
    def score(self) -> float:
        """The mean of the candidate's values."""
        return float(self.values.mean())

    @property
    def diverged(self) -> bool:
        """Whether the candidate has no finite error somewhere."""
        return not np.isfinite(self.values).all()


K = TypeVar("K", bound=Hashable)  # what is tried, by its name or as a record
Standings = Mapping[K, Standing]


def student_of_race(candidates: int, rounds: int, error: float = ERROR) -> Student:
    """Return where the intervals of a race end, by degrees of freedom.

    `error` is the chance that any of these intervals fails.
    """
    part = error / max(1, (candidates - 1) * rounds)
    return lambda freedom: float(stdtrit(freedom, 1 - part))


def behind(one: Standing, other: Standing, student: Student | None = None) -> Estimate:
    """Return by how many dB one candidate is worse than another, pair by pair."""
    with np.errstate(invalid="ignore"):
        return estimate(one.values - other.values, student=student)


def survivors(
    standings: Standings[K], tolerance: float, student: Student, sure: Standings[K] | None = None
) -> list[K]:
    """Return the candidates that may still win: not clearly worse than the leader.

    A candidate that is cheaper than the leader may be worse by `tolerance`. Where only the
    candidates in `sure` are certain to be allowed to win, the leader is the best of them; while
    there are none, nobody is dropped.
    """
    sound = {name: s for name, s in standings.items() if not s.diverged}
    leaders = [s for name, s in sound.items() if sure is None or name in sure]
    if not leaders:
        return list(sound)
    leader = min(leaders, key=lambda s: s.score)

    def may_win(one: Standing) -> bool:
        allowed = tolerance if one.cost < leader.cost else 0.0
        return one is leader or not behind(one, leader, student).low > allowed

    return [name for name, one in sound.items() if may_win(one)]


def within(standings: Standings[K], most: float) -> dict[K, Standing]:
    """Return who surely needs no more than `most` bytes, up to the rounding of sums."""
    limit = most * (1 + _ROUNDING)
    return {name: one for name, one in standings.items() if one.payload + one.doubt <= limit}


def perhaps_within(standings: Standings[K], most: float) -> dict[K, Standing]:
    """Return who may need no more than `most` bytes: chance has not decided it yet."""
    limit = most * (1 + _ROUNDING)
    return {name: one for name, one in standings.items() if one.payload - one.doubt <= limit}


def winner_of(standings: Standings[K], tolerance: float) -> K:
    """Return the cheapest candidate within the tolerance of the best.

    Of equally cheap candidates, the best is returned.
    """
    least = min(one.score for one in standings.values())
    near = {name: one for name, one in standings.items() if one.score <= least + tolerance}
    return min(near, key=lambda name: (near[name].cost, near[name].score))


def last_of(history: Sequence[Standings[K]], name: K) -> int:
    """Return the last round that a candidate was in."""
    return max(number for number, standings in enumerate(history) if name in standings)


def behind_winner(
    history: Sequence[Standings[K]], winner: K, name: K, student: Student
) -> Estimate:
    """Return by how many dB a candidate was worse than the winner when it was last run."""
    standings = history[last_of(history, name)]
    return behind(standings[name], standings[winner], student)


def at_most(history: Sequence[Standings[K]], winner: K, student: Student) -> float:
    """Return by how many dB anything tried can be better than the winner; below 0: nothing is."""
    ends = [
        -behind_winner(history, winner, name, student).low
        for name in history[0]
        if name != winner and not history[last_of(history, name)][name].diverged
    ]
    return max((np.inf if np.isnan(end) else end for end in ends), default=-np.inf)


def settled(
    history: Sequence[Standings[K]], left: Sequence[K], tolerance: float, student: Student
) -> bool:
    """Whether more runs are of no use: no rival is better than the winner, nor cheap enough."""
    standings = {name: history[-1][name] for name in left}
    winner = winner_of(standings, tolerance)
    cheaper = any(one.cost < standings[winner].cost for one in standings.values())
    return not cheaper and at_most(history, winner, student) <= tolerance
