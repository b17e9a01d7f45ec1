"""Rounds of arms: who is dropped, who wins within each purse, and how sure that is.

A purse is a number of bytes; a race has one without a limit. After every round, arms are dropped
that are clearly worse than another in every purse that they may fit in; the winner of a purse
surely fits in it. Arms that may be the cheapest below an error that was asked for stay as well.

"Surely" below an error means with 95 % for one arm alone, which is enough to decide who goes on.
What a plan says in the end is compared with the error once more, on worlds that took no part.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple

from paofed.experiments.rejection import (
    ERROR,
    K,
    Standing,
    Standings,
    Student,
    at_most,
    behind_winner,
    last_of,
    perhaps_within,
    student_of_race,
    survivors,
    winner_of,
    within,
)
from paofed.simulate.results.estimates import Estimate, estimate

JUDGED = 4  # how many of the cheapest that were surely below the target in the race are judged


def below(one: Standing, target: float) -> bool:
    """Whether a candidate's error is surely no more than the target."""
    return not one.diverged and estimate(one.values).high <= target


def above(one: Standing, target: float) -> bool:
    """Whether a candidate's error is surely more than the target."""
    return one.diverged or estimate(one.values).low > target


def may_be_cheapest(standings: Standings[K], target: float) -> set[K]:
    """Return who may be below the target, and costs no more than the cheapest that surely is."""
    dearest = min((one.cost for one in standings.values() if below(one, target)),
                  default=(math.inf, 0))  # fmt: skip
    return {
        name
        for name, one in standings.items()
        if one.cost <= dearest and not above(one, target)
    }  # fmt: skip


def cheapest_below(standings: Standings[K], target: float) -> list[K]:
    """Return the cheapest few that are surely below the target, the cheapest first.

    Of equally cheap candidates the best is taken, so that all of the few differ in what they spend.
    """
    found = [name for name, one in standings.items() if below(one, target)]
    found.sort(key=lambda name: (standings[name].cost, standings[name].score))
    best = {standings[name].cost: name for name in reversed(found)}
    return sorted(best.values(), key=lambda name: standings[name].cost)[:JUDGED]


def out_of_reach(standings: Standings[K], target: float) -> bool:
    """Whether the best of the candidates surely misses the target; true without candidates."""
    sound = [one for one in standings.values() if not one.diverged]
    return not sound or above(min(sound, key=lambda one: one.score), target)


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One candidate: what it scored, in dB."""

    candidate: str
    score: Estimate  # with its 95 % interval
    # DB behind the winner, pair by pair, when both were last run; an interval of the race.
    behind: Estimate
    payload: float  # bytes of a run, both ways
    kept: int  # numbers that a device keeps
    worlds: int  # the number of worlds that it was run in
    dropped: int | None  # the round after which it was dropped; None: it stayed to the end


class Won(NamedTuple, Generic[K]):
    """The best candidate within a purse, and how sure that is."""

    most: float  # bytes: of a race, those of a run; of a plan, those per device and tick
    winner: K
    at_most: float  # dB by which any other candidate that fits can be better
    # Other candidates that fit and cannot be told apart from the best, the best first.
    alike: tuple[K, ...]


def student_of_trials(candidates: int, rounds: int, purses: int) -> Student:
    """Return where the intervals of a plan's first race end: its chance to fail is half `ERROR`."""
    return student_of_race(candidates, rounds, ERROR / 2 / purses)


class Trials(Generic[K]):
    """What is known of candidates after some rounds; `target` is an error that is asked for."""

    def __init__(
        self, candidates: Iterable[K], purses: Sequence[float],
        tolerance: float, student: Student, target: float | None = None,
    ) -> None:  # fmt: skip
        self.candidates, self._purses = list(candidates), list(purses)
        self._tolerance, self.student, self._target = tolerance, student, target
        self.left = list(self.candidates)
        self.history: list[Standings[K]] = []

    @property
    def most(self) -> float:
        """The largest purse."""
        return max(self._purses)

    def needs_less(self, standings: Standings[K]) -> bool:
        """Whether fewer bytes than the smallest purse may reach the error that is asked for."""
        target = self._target
        return target is not None and not out_of_reach(within(standings, min(self._purses)), target)

    def widen(self, purse: float, candidates: Sequence[K]) -> None:
        """Add candidates and one more purse, before any candidate was dropped."""
        self._purses.append(purse)
        self.candidates += candidates
        self.left += candidates

    def heard(self, standings: Standings[K]) -> None:
        """Take in how the remaining candidates stand, and drop those that can win nothing."""
        self.history.append(standings)
        may_win = {
            name
            for most in self._purses
            for name in survivors(
                perhaps_within(standings, most), self._tolerance, self.student,
                sure=within(standings, most),
            )
        }  # fmt: skip
        if self._target is not None:
            may_win |= may_be_cheapest(perhaps_within(standings, self.most), self._target)
        self.left = [name for name in self.left if name in may_win]

    @property
    def over(self) -> bool:
        """Whether nothing is left to be decided."""
        won = {one.winner for one in self.won()}
        return bool(won) and len(self.left) <= len(won)

    def cheapest_below(self) -> list[Won[K]]:
        """Return the cheapest that surely reach the error that was asked for.

        Candidates that cost more may have a smaller error.
        """
        if self._target is None:
            return []
        last = {name: self.last(name) for name in self.candidates}
        found = cheapest_below(within(last, self.most), self._target)
        return [Won(self._purse_of(last[name]), name, math.inf, ()) for name in found]

    def _purse_of(self, one: Standing) -> float:
        """Return the smallest purse that a candidate surely fits in."""
        return min(most for most in self._purses if within({"": one}, most))

    def won(self) -> list[Won[K]]:
        """Return the best within every purse that a sound candidate fits in, smallest first."""
        return [found for most in sorted(self._purses) if (found := self._won(most)) is not None]

    def _won(self, most: float) -> Won[K] | None:
        fits = within(self.history[-1], most)
        sound = {name: fits[name] for name in self.left if name in fits}
        if not sound:
            return None
        winner = winner_of(sound, self._tolerance)
        last = {name: self.last(name) for name in self.history[0]}
        may_fit = perhaps_within(last, most)
        history = [
            {name: one for name, one in standings.items() if name in may_fit}
            for standings in self.history
        ]
        differences = {
            name: behind_winner(history, winner, name, self.student)
            for name in sound
            if name != winner
        }
        alike = [name for name in differences if not differences[name].low > 0]
        alike.sort(key=lambda name: differences[name].mean)
        return Won(most, winner, at_most(history, winner, self.student), tuple(alike))

    def last(self, name: K) -> Standing:
        """Return how a candidate stood when it was last run."""
        return self.history[last_of(self.history, name)][name]

    def tried(self, winner: K, rounds: Sequence[int]) -> tuple[Tried, ...]:
        """Return what is known of every candidate, the nearest to the winner first.

        `rounds` are the worlds of each round.
        """
        found = [self._tried(name, winner, rounds) for name in self.history[0]]
        return tuple(sorted(found, key=lambda one: _or_infinite(one.behind.mean)))

    def _tried(self, name: K, winner: K, rounds: Sequence[int]) -> Tried:
        last = last_of(self.history, name)
        standing = self.history[last][name]
        return Tried(
            candidate=str(name),
            score=estimate(standing.values),
            # The difference to the winner alone is over common worlds.
            behind=behind_winner(self.history, winner, name, self.student),
            payload=standing.payload,
            kept=standing.kept,
            worlds=sum(rounds[: last + 1]),
            dropped=None if name in self.left else last + 1,
        )


def _or_infinite(value: float) -> float:
    return value if math.isfinite(value) else math.inf
