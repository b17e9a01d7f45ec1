"""Runs a sweep: every point in the same worlds, and the best again in fresh ones."""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np

from paofed.algorithms import Algorithm
from paofed.core.arrays import FloatArray
from paofed.racing.meeting import WorldsMet, worlds_met
from paofed.racing.race import seed_of
from paofed.simulate.engines import USUAL, Precision
from paofed.simulate.montecarlo import run
from paofed.simulate.results.progressive import MODELS
from paofed.simulate.results.result import Result, versions
from paofed.simulate.spread.crew import HERE, Crew
from paofed.simulate.stopping import Interrupted, Report, ignored
from paofed.sweeping import RUNS
from paofed.sweeping.asked import Sweep, asked_for, described
from paofed.sweeping.points import Point, Site
from paofed.sweeping.swept import Swept
from paofed.words import counted
from paofed.world.scenario import Scenario
from paofed.world.worlds import MakesTrace, Setting, Worlds

_AT_ONCE = 32  # points of one call of `run`: an interrupt loses at most these


class SweepInterrupted(Interrupted):
    """Ctrl-C during a sweep; `swept` holds what was finished, or is None before the first world."""

    def __init__(self, swept: Swept | None) -> None:
        super().__init__()
        self.swept = swept

    def __str__(self) -> str:
        run = 0 if self.swept is None else int(self.swept.finished.any(axis=1).sum())
        return f"interrupted, with {counted(run, 'point')} in its `swept`"


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
    return _Sweeping(asked, engine, precision, crew, report or ignored).result()


class _Sweeping:
    """One sweep, and what is found so far."""

    def __init__(
        self, asked: Sweep, engine: str, precision: Precision, crew: Crew, report: Report
    ) -> None:
        self._asked, self._report = asked, report
        self._how: dict[str, Any] = {
            "engine": engine, "precision": precision, "baselines": "none", "clean": False,
            **crew._asdict(),
        }  # fmt: skip
        sites, points, runs = asked.layout.sites, asked.layout.points, asked.runs
        self._refused: dict[str, str] = {}
        self._finished = np.zeros((len(points), runs), dtype=bool)
        self._finals = np.full((len(points), runs, len(MODELS)), np.nan)
        self._traffic = np.zeros((len(points), runs, 7), dtype=np.int64)
        self._site_of = {number: site for site in sites for number in site.numbers}
        bests = len(asked.methods) * len({str(_case(asked, point)) for point in points})
        judged = asked.fresh * bests / len(points)  # relative to the work of one point in one world
        self._total = sum(map(_cost, sites)) * (runs + judged)
        self._done = 0.0

    def result(self) -> Swept:
        try:
            for site in self._asked.layout.sites:
                for part in _parts(site):
                    self._meet(part)
            swept = self._swept()
            if self._asked.fresh:
                swept = self._judged_again(swept)
        except KeyboardInterrupt:
            raise SweepInterrupted(self._swept() if self._finished.any() else None) from None
        self._report(1.0)
        return swept

    def _meet(self, site: Site) -> None:
        """Run some points over their scenario; an interrupt keeps the worlds that were finished."""
        try:
            result = self._ran(site, self._asked.runs, {"seed": self._asked.seed, "first": 0})
        except Interrupted as interrupt:
            if interrupt.result is not None:
                self._keep(site, interrupt.result)
            raise
        self._keep(site, result)

    def _ran(self, site: Site, runs: int, worlds: WorldsMet) -> Result:
        part = _cost(site) * runs / self._total
        begun, self._done = self._done, self._done + part

        def heard(share: float) -> None:
            self._report(min(1.0, begun + part * share))

        return run(site.scenario, site.algorithms, runs=runs, report=heard, **worlds, **self._how)

    def _keep(self, site: Site, result: Result) -> None:
        worlds = result.provenance["runs_finished"]
        self._refused |= result.provenance["refused"]
        for number, method in zip(site.numbers, site.algorithms, strict=True):
            self._finished[number, worlds] = True
            self._finals[number, worlds] = _finals(result, method.name)
            sent = np.stack(result.run_traffic(method.name))[..., -1]
            self._traffic[number, worlds] = sent.T

    def _swept(self) -> Swept:
        asked = self._asked
        return Swept(
            provenance={
                "scenario": _plain(asked.scenario),
                "methods": asked.words,
                "axes": described(asked.axes),
                "conditions": asked.layout.conditions,
                "points": [self._described(*one) for one in enumerate(asked.layout.points)],
                "random": asked.random,
                "seed": asked.seed,
                "runs_requested": asked.runs,
                "fresh_requested": asked.fresh,
                "engine": self._how["engine"],
                "precision": self._how["precision"],
                "refused": dict(self._refused),
                "versions": versions(),
            },
            finished=self._finished,
            finals=self._finals,
            traffic=self._traffic,
        )

    def _described(self, number: int, point: Point) -> dict[str, Any]:
        name = self._algorithm(number).name
        return {"method": point.method, "values": dict(point.values), "algorithm": name}

    def _algorithm(self, number: int) -> Algorithm:
        site = self._site_of[number]
        return site.algorithms[site.numbers.index(number)]

    def _judged_again(self, swept: Swept) -> Swept:
        """Run the best of each method in worlds that had no part in the choice."""
        chosen = [found.point for _, _, found in swept.bests() if not found.found.diverged]
        names = [str(point) for point in swept.points]
        finals: dict[int, FloatArray] = {}
        for site in self._asked.layout.sites:
            mine = [n for point in chosen if (n := names.index(str(point))) in site.numbers]
            if mine:
                algorithms = [self._algorithm(number) for number in mine]
                again = Site(site.scenario, mine, algorithms)
                fresh = worlds_met(site.scenario, seed_of(self._asked.seed, 0))
                result = self._ran(again, self._asked.fresh, fresh)
                finals |= {
                    n: _finals(result, a.name) for n, a in zip(mine, algorithms, strict=True)
                }
        if not finals:
            return swept
        return swept.judged_again([swept.points[n] for n in finals], np.stack([*finals.values()]))


def _plain(setting: Setting) -> dict[str, Any]:
    """Return what points were run over, in values that JSON knows."""
    if isinstance(setting, Scenario):
        return setting.model_dump(mode="json")
    found: dict[str, Any] = json.loads(json.dumps(setting.model_dump()))
    return found


def _case(asked: Sweep, point: Point) -> list[Any]:
    return [point.values[key] for key in asked.layout.conditions]


def _parts(site: Site) -> Iterator[Site]:
    """Yield the points of a site, some at a time."""
    for begin in range(0, len(site.numbers), _AT_ONCE):
        part = slice(begin, begin + _AT_ONCE)
        yield Site(site.scenario, site.numbers[part], site.algorithms[part])


def _cost(site: Site) -> float:
    """Return how long one world of a site takes, for honest progress."""
    return float(len(site.numbers) * site.scenario.ticks * site.scenario.clients)


def _finals(result: Result, name: str) -> FloatArray:
    """Return the linear final errors of every run, (R, 2): the devices' and the server's."""
    judged = result.progressive
    own = np.full(result.runs, np.nan) if judged is None else judged.run_finals(name, "device")
    return np.stack([own, result.run_finals(name)], axis=-1)
