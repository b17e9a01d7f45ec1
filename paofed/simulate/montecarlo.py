"""Many runs of several algorithms: spread over cores, reported as they go, kept when stopped."""

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from paofed.algorithms import Algorithm
from paofed.algorithms.spec import resolve
from paofed.errors import AlgorithmError, InputError, unknown
from paofed.memory import require_memory
from paofed.simulate import fast
from paofed.simulate.coldstart import Starts, starts_of, with_cold_starts
from paofed.simulate.progressive import Progressive
from paofed.simulate.result import Result, RunRecord, curve_ticks, usual_every, versions
from paofed.simulate.spread import Task, on_processes, on_threads
from paofed.simulate.stopping import Report
from paofed.simulate.tables import about, progressive, with_baselines
from paofed.world.scenario import Scenario
from paofed.world.table.spec import Table

Engine = Literal["fast", "reference"]

# How much longer things take than one algorithm on the fast engine, for honest progress.
_SLOWER, _BESIDE = 200.0, 40.0


def run(
    scenario: Scenario,
    methods: str | Algorithm | Sequence[str | Algorithm],
    *,
    runs: int = 1,
    seed: int = 0,
    same_world: bool = False,
    engine: Engine = "fast",
    precision: fast.Precision = "float32",
    every: int | None = None,
    cold_starts: int = 0,
    workers: int | None = None,
    report: Report | None = None,
) -> Result:
    """Run algorithms, by name (`pao-fed-u1:shared=8`) or record, over `runs` worlds.

    The fast engine takes the algorithms of its family, the reference engine the others. Over a
    table, all models are judged on the samples to come, beside baselines; with `cold_starts`, so
    many times each device in turn joins late. An interrupt (Ctrl-C) ends the work; the result then
    holds what was finished, unless no run was.
    """
    given = [methods] if isinstance(methods, str | Algorithm) else methods
    chosen = [resolve(method) for method in given]
    every = usual_every(scenario.ticks) if every is None else every
    _check(scenario, chosen, runs, every, workers, engine, precision)
    common = (seed, same_world, every, precision, runs, workers or os.cpu_count() or 1)
    quick = [engine == "fast" and fast.in_family(method) for method in chosen]
    inside = Task(scenario, [m for m, q in zip(chosen, quick, strict=True) if q], *common)
    outside = Task(scenario, [m for m, q in zip(chosen, quick, strict=True) if not q], *common)
    starts = _starts(scenario, inside.methods, cold_starts) if cold_starts else None
    table = scenario.stream if isinstance(scenario.stream, Table) else None
    provenance = {
        "scenario": scenario.model_dump(),
        "algorithms": [method.describe() for method in chosen],
        "seed": seed,
        "same_world": same_world,
        "runs_requested": runs,
        "engines": ["fast" if q else "reference" for q in quick],
        "precision": precision,
        "table": about(table) if table else None,
        "versions": versions(),
    }
    progress = _Progress(report, _shares(inside, outside, table, starts), runs)
    finished, whole = _run_engines(inside, outside, progress)
    kept = sorted(set.intersection(*map(set, finished)))
    if not kept:
        raise KeyboardInterrupt
    records = _stack([_joined([stage[i] for stage in finished], quick) for i in kept])
    errors = records.pop("errors"), records.pop("device_errors")
    ticks = curve_ticks(scenario.ticks, every)
    result = Result(provenance={**provenance, "runs_finished": kept}, ticks=ticks, **records)
    if table is None:
        return result
    judged = progressive(table, chosen, ticks, *errors)
    result = replace(result, progressive=judged)
    return _beside(result, judged, inside, starts, progress) if whole else result


def _starts(scenario: Scenario, methods: Sequence[Algorithm], count: int) -> Starts:
    """When newcomers join; what cannot be is refused before the long work."""
    if count < 0:
        raise InputError(f"cold_starts is {count}: expected a whole number from 0 on")
    starts = starts_of(scenario.table.read(), count)
    if not methods:
        raise InputError(
            "cold starts are for the fast engine, and it takes none of these algorithms: add one "
            "of its family, or ask for no cold starts"
        )
    return starts


def _shares(
    inside: Task, outside: Task, table: Table | None, starts: Starts | None
) -> tuple[float, float, float, float]:
    """How long the stages of a run take beside each other: engines, baselines, newcomers."""
    quick, slow = len(inside.methods), len(outside.methods)
    joining = quick * len(starts.devices) if starts else 0.0
    return quick, _SLOWER * slow, _BESIDE if table else 0.0, joining


def _run_engines(
    inside: Task, outside: Task, progress: "_Progress"
) -> tuple[list[dict[int, RunRecord]], bool]:
    """The runs of each engine that has any, and whether all were finished."""
    finished: list[dict[int, RunRecord]] = [{} for task in (inside, outside) if task.methods]
    stages = ((inside, on_threads), (outside, on_processes))
    try:
        begun = iter(finished)
        for stage, (task, engine_of) in enumerate(stages):
            if task.methods:
                next(begun).update(engine_of(task, progress.stage(stage)))
    except KeyboardInterrupt:
        return finished, False
    return finished, True


def _beside(
    result: Result,
    judged: Progressive,
    inside: Task,
    starts: Starts | None,
    progress: "_Progress",
) -> Result:
    """Add baselines and newcomers, or what an interrupt leaves of them."""
    scenario, workers = inside.scenario, inside.workers
    with suppress(KeyboardInterrupt):
        result = with_baselines(result, judged, scenario, workers, progress.stage(2))
        if starts is not None:
            joined = inside.methods, starts, workers, progress.stage(3)
            result = with_cold_starts(result, scenario, *joined)
    return result


def _check(
    scenario: Scenario,
    methods: Sequence[Algorithm],
    runs: int,
    every: int,
    workers: int | None,
    engine: str,
    precision: str,
) -> None:
    for kind, got, known in (
        ("engine", engine, get_args(Engine)),
        ("precision", precision, get_args(fast.Precision)),
    ):
        if got not in known:
            raise InputError(unknown(kind, got, known))
    if not methods:
        raise AlgorithmError("no algorithm was given: name at least one")
    names = [method.name for method in methods]
    for name in names:
        if names.count(name) > 1:
            raise AlgorithmError(f"{name} is given twice: give each algorithm a name of its own")
    for what, count in (("runs", runs), ("every", every), ("workers", workers)):
        if count is not None and count < 1:
            raise InputError(f"{what} is {count}: expected a whole number from 1 on")
    for method in methods:
        method.require_fits(scenario.features)
    size = 4 if precision == "float32" else 8
    require_memory(
        size * scenario.clients * scenario.features * len(methods),
        f"{scenario.clients} clients with {scenario.features} features, {len(methods)} algorithms,",
    )


class _Progress:
    """Adds up what the stages report, weighted by how long they take."""

    def __init__(self, report: Report | None, shares: Sequence[float], runs: int) -> None:
        self._report = report
        self._unit = 1.0 / (runs * sum(shares))
        self._shares = shares
        self._done = 0.0
        self._lock = threading.Lock()

    def stage(self, stage: int) -> Report:
        """Return what is told the parts of runs that a stage has done."""
        return lambda part: self._add(part * self._shares[stage])

    def _add(self, work: float) -> None:
        with self._lock:
            self._done = min(1.0, self._done + work * self._unit)
            if self._report is not None:
                self._report(self._done)


def _joined(parts: Sequence[RunRecord], quick: Sequence[bool]) -> RunRecord:
    """Put what the engines computed back into the order in which it was asked for."""
    # The fast engine's come first; the inverse of that sorting puts everything back.
    order = np.argsort(np.argsort(~np.array(quick), kind="stable"))
    return RunRecord(*(np.concatenate(arrays)[order] for arrays in zip(*parts, strict=True)))


def _stack(records: Sequence[RunRecord]) -> dict[str, Any]:
    return {
        name: np.stack([getattr(record, name) for record in records]) for name in RunRecord._fields
    }
