"""Candidates race: paired over common worlds, the clearly worse dropped after every round."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from paofed.algorithms import Algorithm
from paofed.algorithms.spec import resolve
from paofed.core.random import key_of
from paofed.errors import AlgorithmError, InputError, whole
from paofed.racing import TOLERANCE
from paofed.racing.arena import Arena, arena_of
from paofed.racing.candidates import asks, expanded
from paofed.racing.meeting import APART, kept_by, worlds_met
from paofed.racing.record import Fresh, Race, all_tried
from paofed.racing.rejection import (
    Standing,
    Standings,
    at_most,
    behind,
    settled,
    student_of_race,
    survivors,
    winner_of,
)
from paofed.simulate.engines import USUAL, Precision
from paofed.simulate.montecarlo import run
from paofed.simulate.results.estimates import estimate
from paofed.simulate.results.result import Result
from paofed.simulate.spread.crew import Crew
from paofed.simulate.stopping import Interrupted, Report, ignored
from paofed.world.worlds import MakesTrace, Setting, Worlds, setting_of

ROUNDS = 4
_FIRST, _FRESH = 4, 16  # worlds of the first round and of the last judgement
_POINTS = 200  # points of a curve, if it has so many ticks


class RaceInterrupted(Interrupted):
    """Ctrl-C while candidates raced.

    `race` says what was known, or is None before the first round.
    """

    def __init__(self, race: Race | None) -> None:
        super().__init__()
        self.race = race

    def __str__(self) -> str:
        return f"interrupted, with {'what is known' if self.race else 'nothing'} in its `race`"


def race(
    scenario: Setting | Worlds | MakesTrace | str | Path,
    candidates: str | Algorithm | Sequence[str | Algorithm],
    *,
    seed: int = 0,
    rounds: int = ROUNDS,
    tolerance: float = TOLERANCE,
    engine: str = USUAL,
    precision: Precision = "float32",
    workers: int | None = None,
    executor: Executor | None = None,
    store: Path | str | None = None,
    report: Report | None = None,
) -> Race:
    """Find the best of some candidates, and return what is known of each.

    `scenario` is as in `run`. `candidates` are algorithms by name, with `auto` for options to be
    chosen, or as records. The first candidate, or the first that a word with `auto` stands for, is
    the usual one: it wins where nothing can be chosen.

    `seed` is that of the run to come, whose worlds have no part in the race; of Worlds, the race
    takes numbers from 10,000 on. There are at most
    `rounds`; after each, candidates that are clearly worse drop out. A cheaper candidate wins over
    the best if it is worse by no more than `tolerance`, in dB. `engine`, `precision`, `workers`,
    `executor`, `store` and `report` are as in `run`. An interrupt (Ctrl-C) raises Interrupted,
    whose `race` holds what is known.
    """
    setting, asked = setting_of(scenario), _listed(candidates)
    rounds, seed = whole("rounds", rounds, least=1), whole("seed", seed)
    if not 0 <= tolerance < np.inf:
        raise InputError(f"tolerance is {tolerance!r}: expected a number of dB from 0 on")
    key_of(seed)  # a wrong seed is refused now, not in a thread
    entry = _Entry(
        asked=tuple(one if isinstance(one, str) else one.name for one in asked),
        methods=_methods(asked, setting),
        options=_options(asked, setting),
        tolerance=tolerance,
    )
    try:
        arena = arena_of(setting)
    except InputError as error:
        return entry.unraced(str(error))
    runs = [_FIRST, *(_FIRST << number for number in range(rounds - 1)), _FRESH]
    ran = partial(
        run,
        arena.scenario,
        every=max(1, arena.scenario.ticks // _POINTS),
        engine=engine,
        precision=precision,
        baselines="none",
        clean=False,
        **Crew(workers, executor, store)._asdict(),
    )
    return _Racing(entry, arena, ran, seed, runs, report or ignored).result()


def seed_of(seed: int, number: int) -> int:
    """Return the seed of round `number` of the race before a run; 0 is the judgement after it."""
    return (seed + APART + number) % 2**64


@dataclass(frozen=True)
class _Entry:
    """The candidates, and what everybody should know of a race however it ends."""

    asked: tuple[str, ...]
    methods: Mapping[str, Algorithm]
    options: Mapping[str, tuple[Any, ...]]
    tolerance: float

    @property
    def usual(self) -> str:
        return next(iter(self.methods))

    def unraced(self, reason: str) -> Race:
        return Race(asked=self.asked, winner=self.usual, usual=self.usual, where="", units="",
                    tolerance=self.tolerance, options=self.options, reason=reason)  # fmt: skip


class _Racing:
    """One race: its rounds, and what is known after each."""

    def __init__(
        self,
        entry: _Entry,
        arena: Arena,
        ran: Callable[..., Result],
        seed: int,
        runs: Sequence[int],
        report: Report,
    ) -> None:
        self._entry, self._arena, self._ran, self._seed = entry, arena, ran, seed
        self._runs, self._report = runs, report
        self._student = student_of_race(len(entry.methods), len(runs) - 1)
        self._history: list[Standings] = []
        self._results: list[Result] = []
        self._left = list(entry.methods)

    def result(self) -> Race:
        """Race until nothing more can be learned or all rounds are over, then judge the winner."""
        try:
            for number in range(len(self._runs) - 1):
                self._round(number)
                if settled(self._history, self._left, self._entry.tolerance, self._student):
                    break
            fresh = self._fresh()
        except KeyboardInterrupt:
            raise RaceInterrupted(self._known(None) if self._history else None) from None
        self._report(1.0)
        return self._known(fresh)

    def _round(self, number: int) -> None:
        """Let all candidates that are left meet in more worlds, and drop the clearly worse."""
        self._results.append(self._meet(self._left, number, seed_of(self._seed, 1 + number)))
        self._history.append({name: self._standing(name) for name in self._left})
        left = survivors(self._history[-1], self._entry.tolerance, self._student)
        if not left:
            raise AlgorithmError(
                f"every candidate diverged, {next(iter(self._entry.methods))} among them: give "
                f"smaller step sizes"
            )
        self._left = left

    def _meet(self, names: Sequence[str], stage: int, seed: int) -> Result:
        begun, total = sum(self._runs[:stage]), sum(self._runs)

        def heard(share: float) -> None:
            self._report((begun + share * self._runs[stage]) / total)

        methods = [self._entry.methods[name] for name in names]
        met = worlds_met(self._arena.scenario, seed)
        return self._ran(methods, runs=self._runs[stage], **met, report=heard)

    def _standing(self, name: str) -> Standing:
        wires = [result.run_wire(name) for result in self._results]
        sent = np.concatenate([(wire.up + wire.down)[:, -1] for wire in wires])
        return Standing(
            self._arena.values(self._results, name),
            payload=float(sent.mean()),
            kept=kept_by(self._entry.methods[name], self._arena.scenario.features),
        )

    @property
    def _winner(self) -> str:
        return winner_of({n: self._history[-1][n] for n in self._left}, self._entry.tolerance)

    def _fresh(self) -> Fresh:
        """Judge the winner beside the usual candidate, in worlds with no part in the choice."""
        winner, usual = self._winner, self._entry.usual
        names = list(dict.fromkeys((winner, usual)))
        result = self._meet(names, -1, seed_of(self._seed, 0))
        won, without = (Standing(self._arena.values([result], n), 0.0) for n in (winner, usual))
        return Fresh(worlds=result.runs, score=estimate(won.values), gain=behind(without, won))

    def _known(self, fresh: Fresh | None) -> Race:
        winner = self._winner
        return Race(
            asked=self._entry.asked,
            winner=winner,
            usual=self._entry.usual,
            where=self._arena.where,
            units=self._arena.units,
            tolerance=self._entry.tolerance,
            options=self._entry.options,
            tried=all_tried(self._history, winner, self._student, self._runs, self._left),
            at_most=at_most(self._history, winner, self._student),
            fresh=fresh,
        )


def _listed(
    candidates: str | Algorithm | Sequence[str | Algorithm],
) -> list[str | Algorithm]:
    return [candidates] if isinstance(candidates, str | Algorithm) else list(candidates)


def _methods(asked: Sequence[str | Algorithm], scenario: Setting) -> dict[str, Algorithm]:
    """Return all candidates by name, in the order in which they were given."""
    parts = [expanded(one, scenario) if isinstance(one, str) else [one] for one in asked]
    methods = [resolve(one) for part in parts for one in part]
    if not methods:
        raise AlgorithmError("no candidate was given: name at least one")
    by_name: dict[str, Algorithm] = {}
    for method in methods:
        if method.name in by_name:
            raise AlgorithmError(f"{method.name} is given twice: name every candidate once")
        by_name[method.name] = method
    return by_name


def _options(asked: Sequence[str | Algorithm], scenario: Setting) -> dict[str, tuple[Any, ...]]:
    """Return the values tried by option, if a single word stands for all candidates."""
    (one, *more) = asked
    if more or not isinstance(one, str):
        return {}
    found = expanded(one, scenario).values()
    return {key: tuple(dict.fromkeys(values[key] for values in found)) for key in asks(one)}
