"""Runs a sweep: every point in the same worlds, and the best again in fresh ones."""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np

from paofed.algorithms import Algorithm
from paofed.core.arrays import FloatArray
from paofed.experiments.experiment import Arms, Experiment
from paofed.experiments.sweep import RUNS
from paofed.experiments.sweep.asked import Sweep, asked_for, described
from paofed.experiments.sweep.swept import Swept
from paofed.simulate.engines import USUAL, Precision
from paofed.simulate.results.outcome import versions
from paofed.simulate.results.progressive import MODELS
from paofed.simulate.results.result import Result
from paofed.simulate.spread.crew import HERE, Crew
from paofed.simulate.stopping import Report, ignored, keeping, parts_of
from paofed.words import counted
from paofed.world.scenario import Scenario
from paofed.world.worlds import MakesTrace, Setting, Worlds

_AT_ONCE = 32  # points of one call of `run`: an interrupt loses at most these


def sweep(
    scenario: Scenario | Worlds | MakesTrace | str | Path,
    methods: str | Algorithm | Sequence[str | Algorithm],
    over: Mapping[str, Any],
    *,
    random: int | None = None,
    runs: int = RUNS,
    seed: int = 0,
    fresh: int = 0,
    engine: str = USUAL,
    precision: Precision = "float32",
    workers: int | None = None,
    executor: Executor | None = None,
    store: Path | str | None = None,
    report: Report | None = None,
) -> Swept:
    """Run methods with many settings in the same worlds, and return a record to ask.

    `scenario` is as in `run`, and `methods` are algorithms by name or as records. `over` holds by
    key what is tried: values, or {"from": low, "to": high} to draw from. A key is an option of
    methods (`shared`) or one of the scenario (`features`, `loss.up`; of Worlds `step_size`,
    `max_age`, `contacts`). All combinations are run or, with `random`, that many that are drawn.

    Every point is run in the same `runs` worlds of `seed`, from which combinations are drawn, too.
    The best of each method are run again in `fresh` worlds, of Worlds those from 10,000 on.
    `engine`, `precision`, `workers`, `executor`, `store` and `report` are as in `run`. An interrupt
    (Ctrl-C) raises Interrupted, whose `swept` holds what was finished.
    """
    asked = asked_for(scenario, methods, over, random=random, runs=runs, seed=seed, fresh=fresh)
    crew = Crew(workers, executor, store)
    return swept_by(asked, engine=engine, precision=precision, crew=crew, report=report)


def swept_by(
    asked: Sweep,
    *,
    engine: str = USUAL,
    precision: Precision = "float32",
    crew: Crew = HERE,
    report: Report | None = None,
) -> Swept:
    """Run a sweep that `asked_for` has checked."""
    experiment = Experiment(asked.seed, crew, engine, precision, points=None, at_once=_AT_ONCE)
    return _Sweeping(asked, experiment, report or ignored).result()


class _Sweeping:
    """One sweep, and what is found so far."""

    def __init__(self, asked: Sweep, experiment: Experiment, report: Report) -> None:
        self._asked, self._experiment, self._report = asked, experiment, report
        points, runs = asked.layout.points, asked.runs
        self._refused: dict[str, str] = {}
        self._finished = np.zeros((len(points), runs), dtype=bool)
        self._finals = np.full((len(points), runs, len(MODELS)), np.nan)
        self._traffic = np.zeros((len(points), runs, 7), dtype=np.int64)

    def result(self) -> Swept:
        with keeping("swept", lambda: self._swept() if self._finished.any() else None, _said):
            swept = self._all()
        self._report(1.0)
        return swept

    def _all(self) -> Swept:
        """Run every point, and the best in fresh worlds, which take about so much of the work."""
        asked, layout = self._asked, self._asked.layout
        cases = {str([point.values[key] for key in layout.conditions]) for point in layout.points}
        again = asked.fresh * len(asked.methods) * len(cases) / len(layout.points)
        trying, judging = parts_of(self._report, (asked.runs, again))
        arms = dict(enumerate(layout.arms))
        self._experiment.meet(arms, asked.runs, None, trying, self._keep, partly=True)
        swept = self._swept()
        return self._judged_again(swept, judging) if asked.fresh else swept

    def _keep(self, arms: Arms, result: Result) -> None:
        """Take in the worlds that were finished, all of them unless there was an interrupt."""
        worlds = result.provenance["runs_finished"]
        self._refused |= result.provenance["refused"]
        for number, arm in arms.items():
            self._finished[number, worlds] = True
            self._finals[number, worlds] = result.finals_by_model(arm.method.name)
            sent = np.stack(result.run_traffic(arm.method.name))[..., -1]
            self._traffic[number, worlds] = sent.T

    def _swept(self) -> Swept:
        asked, how = self._asked, self._experiment
        return Swept(
            provenance={
                "scenario": _plain(asked.scenario),
                "methods": asked.words,
                "axes": described(asked.axes),
                "conditions": asked.layout.conditions,
                "points": [
                    {
                        "method": point.method,
                        "values": dict(point.values),
                        "algorithm": arm.method.name,
                    }
                    for point, arm in zip(asked.layout.points, asked.layout.arms, strict=True)
                ],
                "random": asked.random,
                "seed": asked.seed,
                "runs_requested": asked.runs,
                "fresh_requested": asked.fresh,
                "engine": how.engine,
                "precision": how.precision,
                "refused": dict(self._refused),
                "versions": versions(),
            },
            finished=self._finished,
            finals=self._finals,
            traffic=self._traffic,
        )

    def _judged_again(self, swept: Swept, report: Report) -> Swept:
        """Run the best of each method in worlds that had no part in the choice."""
        names, arms = list(map(str, swept.points)), self._asked.layout.arms
        bests = [best for _, _, best in swept.bests() if not best.found.diverged]
        if not bests:
            return swept
        first = {id(arm.setting): number for number, arm in reversed(list(enumerate(arms)))}
        numbers = [names.index(str(best.point)) for best in bests]
        numbers.sort(key=lambda number: first[id(arms[number].setting)])
        finals: dict[int, FloatArray] = {}

        def keep(some: Arms, result: Result) -> None:
            finals.update({n: result.finals_by_model(arm.method.name) for n, arm in some.items()})

        again = {number: arms[number] for number in numbers}
        self._experiment.judge(again, self._asked.fresh, report, keep)
        return swept.judged_again([swept.points[n] for n in numbers],
                                  np.stack([finals[n] for n in numbers]))  # fmt: skip


def _said(swept: Swept | None) -> str:
    """Say how much was finished."""
    return counted(0 if swept is None else int(swept.finished.any(axis=1).sum()), "point")


def _plain(setting: Setting) -> dict[str, Any]:
    """Return what points were run over, in values that JSON knows."""
    if isinstance(setting, Scenario):
        return setting.model_dump(mode="json")
    found: dict[str, Any] = json.loads(json.dumps(setting.model_dump()))
    return found
