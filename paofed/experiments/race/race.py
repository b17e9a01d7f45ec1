"""Candidates race: paired over common worlds, the clearly worse dropped after every round."""

import math
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path

import numpy as np

from paofed.algorithms import Algorithm
from paofed.algorithms.setup import Setup, methods_of, resolve
from paofed.core.random import key_of
from paofed.errors import AlgorithmError, InputError, whole
from paofed.experiments import TOLERANCE
from paofed.experiments.arena import Arena, arena_of
from paofed.experiments.candidates import Choices, asks, expanded
from paofed.experiments.experiment import Arm, Experiment, Findings
from paofed.experiments.race.record import Fresh, Race
from paofed.experiments.rejection import at_most, settled, student_of_race
from paofed.experiments.trials import Trials
from paofed.simulate.engines import USUAL, Precision
from paofed.simulate.spread.crew import Crew
from paofed.simulate.stopping import Report, ignored, keeping, parts_of
from paofed.world.worlds import MakesTrace, Setting, Worlds, setting_of

ROUNDS = 4
_FIRST, _FRESH = 4, 16  # worlds of the first round and of the last judgement
_POINTS = 200  # points of a curve, if it has so many ticks


def race(
    scenario: Setting | Worlds | MakesTrace | str | Path,
    candidates: str | Setup | Algorithm | Sequence[str | Setup | Algorithm],
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
    setting, given = setting_of(scenario), methods_of(candidates)
    rounds, seed = whole("rounds", rounds, least=1), whole("seed", seed)
    if not 0 <= tolerance < np.inf:
        raise InputError(
            f"tolerance is {tolerance!r}: expected a number of dB from 0 on", key="tolerance"
        )
    key_of(seed)  # a wrong seed is refused now, not in a thread
    unraced = _unraced(given, setting, tolerance)
    try:
        arena = arena_of(setting)
    except InputError as error:
        return replace(unraced, reason=str(error))
    runs = [_FIRST, *(_FIRST << number for number in range(rounds - 1)), _FRESH]
    crew = Crew(workers, executor, store)
    experiment = Experiment(seed, crew, engine, precision, points=_POINTS)
    return _Racing(unraced, arena, experiment, runs, report or ignored).result()


class _Racing:
    """One race: its rounds, and what is known after each."""

    def __init__(
        self,
        unraced: Race,
        arena: Arena,
        experiment: Experiment,
        runs: Sequence[int],
        report: Report,
    ) -> None:
        self._unraced, self._arena, self._experiment = unraced, arena, experiment
        self._runs, self._report, self._parts = runs, report, parts_of(report, runs)
        student = student_of_race(len(unraced.methods), len(runs) - 1)
        self._trials = Trials(unraced.methods, [math.inf], unraced.tolerance, student)

    def result(self) -> Race:
        """Race until nothing more can be learned or all rounds are over, then judge the winner."""
        with keeping("race", lambda: self._known(None) if self._trials.history else None):
            self._rounds()
            fresh = self._fresh()
        self._report(1.0)
        return self._known(fresh)

    def _rounds(self) -> None:
        """Let all candidates that are left meet in more worlds, and drop the clearly worse."""
        trials, findings = self._trials, Findings(self._experiment, self._arena)
        for number, runs in enumerate(self._runs[:-1]):
            arms, told = self._arms(trials.left), self._parts[number]
            trials.heard(findings.meet(arms, runs, 1 + number, told))
            if not trials.left:
                raise AlgorithmError(
                    f"every candidate diverged, {self._unraced.usual} among them: give smaller "
                    f"step sizes"
                )
            if settled(trials.history, trials.left, self._unraced.tolerance, trials.student):
                break

    def _arms(self, names: Iterable[str]) -> dict[str, Arm]:
        return {name: Arm(self._arena.scenario, self._unraced.methods[name]) for name in names}

    def _fresh(self) -> Fresh:
        """Judge the winner beside the usual candidate, in worlds with no part in the choice."""
        (won,), usual = self._trials.won(), self._unraced.usual
        found, runs = Findings(self._experiment, self._arena), self._runs[-1]
        found.judge(self._arms((won.winner, usual)), runs, self._parts[-1])
        return Fresh(worlds=runs, score=found.score(won.winner), gain=found.gain(won.winner, usual))

    def _known(self, fresh: Fresh | None) -> Race:
        trials = self._trials
        winner = trials.won()[0].winner
        return replace(
            self._unraced,
            winner=winner,
            where=self._arena.where,
            over=self._arena.over,
            tried=trials.tried(winner, self._runs),
            at_most=at_most(trials.history, winner, trials.student),
            fresh=fresh,
        )


def _unraced(given: Sequence[Setup | Algorithm], setting: Setting, tolerance: float) -> Race:
    """Return a race that nothing has won yet but the usual candidate, which is the first."""
    tried = [expanded(one, setting) if isinstance(one, Setup) else [one] for one in given]
    methods: dict[str, Algorithm] = {}
    for method in (resolve(one) for some in tried for one in some):
        if method.name in methods:
            raise AlgorithmError(f"{method.name} is given twice: name every candidate once")
        methods[method.name] = method
    if not methods:
        raise AlgorithmError("no candidate was given: name at least one")
    options: dict[str, Choices] = {}
    if len(given) == 1 and isinstance(alone := given[0], Setup):
        values = [one.values for one in expanded(alone, setting)]
        options = {key: tuple(dict.fromkeys(v[key] for v in values)) for key in asks(alone)}
    usual = next(iter(methods))
    asked = tuple(str(one) if isinstance(one, Setup) else one.name for one in given)
    return Race(asked=asked, winner=usual, usual=usual, where="", over="", tolerance=tolerance,
                options=options, methods=methods)  # fmt: skip
