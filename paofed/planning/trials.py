"""The race of a plan: candidates meet on common worlds, and the best within each purse is sought.

A purse is a number of bytes per device and tick. After every round those go who are clearly worse
than another in every purse that they fit in. What devices use of their contacts is a scenario of
its own, in the same worlds, so that all differences are paired.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from paofed.algorithms.spec import from_text
from paofed.core.tariffs import Tariff
from paofed.planning.field import Candidate, thinned
from paofed.racing.arena import Arena
from paofed.racing.meeting import kept_by, share_of, simulated, spent
from paofed.racing.rejection import (
    Standing,
    Standings,
    Student,
    at_most,
    behind_winner,
    hopeful,
    last_of,
    winner_of,
    within,
)
from paofed.simulate.results.result import Result
from paofed.simulate.spread.crew import Crew
from paofed.simulate.stopping import Report
from paofed.world.scenario import Scenario


class Meetings:
    """Where candidates meet: their runs, kept by the share of contacts that devices use."""

    def __init__(self, arena: Arena, scenario: Scenario, tariff: Tariff, crew: Crew) -> None:
        self._arena, self._scenario, self._tariff, self._crew = arena, scenario, tariff, crew
        self._results: dict[float, list[Result]] = {}

    def hold(self, candidates: Sequence[Candidate], runs: int, seed: int, report: Report) -> None:
        """Run candidates in so many more worlds."""
        shares = list(dict.fromkeys(one.contacts for one in candidates))
        done = 0
        for share in shares:
            words = [one.word for one in candidates if one.contacts == share]
            told = partial(share_of, report, done / len(candidates), len(words) / len(candidates))
            result = simulated(thinned(self._scenario, share), words, runs=runs, seed=seed,
                               crew=self._crew, report=told)  # fmt: skip
            self._results.setdefault(share, []).append(result)
            done += len(words)

    def standing(self, one: Candidate) -> Standing:
        """How a candidate stands that was in all meetings of its share of contacts."""
        results = self._results[one.contacts]
        return Standing(
            self._arena.values(results, one.word),
            payload=spent(results, one.word, self._tariff) / self._cells,
            kept=kept_by(from_text(one.word), self._scenario.features),
        )

    def contacts(self, one: Candidate) -> float:
        """Contacts per device and tick."""
        totals = [r.run_traffic(one.word).contacts[:, -1] for r in self._results[one.contacts]]
        return float(sum(t.sum() for t in totals) / sum(t.size for t in totals)) / self._cells

    @property
    def _cells(self) -> int:
        return self._scenario.clients * self._scenario.ticks


class Won(NamedTuple):
    """The best within a purse, and how sure that is."""

    most: float  # bytes per device and tick
    winner: str
    at_most: float  # dB by which anything else that fits can be better
    alike: tuple[str, ...]  # others that fit and cannot be told apart from it, the best first


class Trials:
    """What is known of candidates after some rounds."""

    def __init__(
        self, candidates: Mapping[str, Candidate], purses: Sequence[float],
        tolerance: float, student: Student,
    ) -> None:  # fmt: skip
        self.candidates, self._purses = candidates, purses
        self._tolerance, self.student = tolerance, student
        self.left = list(candidates)
        self.history: list[Standings] = []

    def heard(self, standings: Standings) -> None:
        """Take in how those stand who are left, and drop who can win nothing."""
        self.history.append(standings)
        purses = [within(standings, most) for most in self._purses]
        may_win = hopeful(purses, self._tolerance, self.student)
        self.left = [name for name in self.left if name in may_win]

    @property
    def over(self) -> bool:
        """Whether nothing is left to be decided."""
        won = [one.winner for one in self.won()]
        return len(self.left) <= len(set(won)) or not won

    def won(self) -> list[Won]:
        """The best within every purse that anything sound fits in, the smallest first."""
        return [found for most in sorted(self._purses) if (found := self._won(most)) is not None]

    def _won(self, most: float) -> Won | None:
        fits = within(self.history[-1], most)
        sound = {name: fits[name] for name in self.left if name in fits}
        if not sound:
            return None
        winner = winner_of(sound, self._tolerance)
        last = {name: self.last(name) for name in self.history[0]}
        history = [
            {name: one for name, one in standings.items() if name in within(last, most)}
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
        """How a candidate stood when it was last seen."""
        return self.history[last_of(self.history, name)][name]
