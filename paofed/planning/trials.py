"""The race of a plan: candidates meet on common worlds, and the best within each purse is sought.

A purse is a number of bytes per device and tick. After every round, candidates are dropped that are
clearly worse than another in every purse that they may fit in; the winner of a purse surely fits in
it. Candidates that may be the cheapest below an error that was asked for stay as well. Each share
of contacts that devices use is a scenario of its own, in the same worlds, so that all differences
are paired.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from paofed.algorithms.spec import from_text
from paofed.core.tariffs import Tariff
from paofed.planning.field import Candidate, thinned
from paofed.planning.target import cheapest_below, may_be_cheapest, out_of_reach
from paofed.racing.arena import Arena
from paofed.racing.meeting import kept_by, share_of, simulated, spent_by_run
from paofed.racing.rejection import (
    ERROR,
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
from paofed.simulate.results.estimates import estimate
from paofed.simulate.results.result import Result
from paofed.simulate.spread.crew import Crew
from paofed.simulate.stopping import Report
from paofed.world.worlds import Setting


class Meetings:
    """Where candidates meet: their runs, kept by the share of contacts that devices use."""

    def __init__(
        self, arena: Arena, scenario: Setting, tariff: Tariff, crew: Crew, engine: str
    ) -> None:
        self._arena, self._scenario, self._tariff = arena, scenario, tariff
        self._crew, self._engine = crew, engine
        self._results: dict[float, list[Result]] = {}

    def hold(self, candidates: Sequence[Candidate], runs: int, seed: int, report: Report) -> None:
        """Run candidates in `runs` more worlds."""
        shares = list(dict.fromkeys(one.contacts for one in candidates))
        done = 0
        for share in shares:
            words = [one.word for one in candidates if one.contacts == share]
            told = partial(share_of, report, done / len(candidates), len(words) / len(candidates))
            result = simulated(thinned(self._scenario, share), words, runs=runs, seed=seed,
                               crew=self._crew, engine=self._engine, report=told)  # fmt: skip
            self._results.setdefault(share, []).append(result)
            done += len(words)

    def standing(self, one: Candidate) -> Standing:
        """Return how a candidate stands that was in all meetings of its share of contacts."""
        results = self._results[one.contacts]
        bytes_of = estimate(spent_by_run(results, one.word, self._tariff))
        return Standing(
            self._arena.values(results, one.word),
            payload=bytes_of.mean / self._cells,
            kept=kept_by(from_text(one.word), self._scenario.features),
            doubt=(bytes_of.high - bytes_of.mean) / self._cells,
        )

    def contacts(self, one: Candidate) -> float:
        """Return a candidate's contacts per device and tick."""
        totals = [r.run_traffic(one.word).contacts[:, -1] for r in self._results[one.contacts]]
        return float(sum(t.sum() for t in totals) / sum(t.size for t in totals)) / self._cells

    @property
    def _cells(self) -> int:
        return self._scenario.clients * self._scenario.ticks


class Won(NamedTuple):
    """The best candidate within a purse, and how sure that is."""

    most: float  # bytes per device and tick
    winner: str
    at_most: float  # dB by which any other candidate that fits can be better
    # Other candidates that fit and cannot be told apart from the best, the best first.
    alike: tuple[str, ...]


def student_of_trials(candidates: int, rounds: int, purses: int) -> Student:
    """Return where the intervals of a plan's first race end: its chance to fail is half `ERROR`."""
    return student_of_race(candidates, rounds, ERROR / 2 / purses)


class Trials:
    """What is known of candidates after some rounds; `target` is an error that is asked for."""

    def __init__(
        self, candidates: Mapping[str, Candidate], purses: Sequence[float],
        tolerance: float, student: Student, target: float | None = None,
    ) -> None:  # fmt: skip
        self.candidates, self._purses = dict(candidates), list(purses)
        self._tolerance, self.student, self._target = tolerance, student, target
        self.left = list(candidates)
        self.history: list[Standings] = []

    @property
    def most(self) -> float:
        """The largest purse."""
        return max(self._purses)

    def needs_less(self, standings: Standings) -> bool:
        """Whether fewer bytes than the smallest purse may reach the error that is asked for."""
        target = self._target
        return target is not None and not out_of_reach(within(standings, min(self._purses)), target)

    def widen(self, purse: float, candidates: Mapping[str, Candidate]) -> None:
        """Add candidates and one more purse, before any candidate was dropped."""
        self._purses.append(purse)
        self.candidates |= candidates
        self.left += candidates

    def heard(self, standings: Standings) -> None:
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

    def cheapest_below(self) -> list["Won"]:
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

    def won(self) -> list[Won]:
        """Return the best within every purse that a sound candidate fits in, smallest first."""
        return [found for most in sorted(self._purses) if (found := self._won(most)) is not None]

    def _won(self, most: float) -> Won | None:
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

    def last(self, name: str) -> Standing:
        """Return how a candidate stood when it was last run."""
        return self.history[last_of(self.history, name)][name]
