"""Many runs of several algorithms: spread over cores, reported as they go, kept when stopped."""

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from paofed.algorithms import Algorithm
from paofed.algorithms.spec import resolve
from paofed.core.random import key_of
from paofed.errors import AlgorithmError, InputError, unknown, whole
from paofed.memory import require_memory
from paofed.simulate import fast
from paofed.simulate.coldstart import Starts, starts_of, with_cold_starts
from paofed.simulate.result import Result, RunRecord, curve_ticks, usual_every, versions
from paofed.simulate.spread import Task, on_processes, on_threads
from paofed.simulate.stopping import Interrupted, Report
from paofed.simulate.tables import about, progressive, with_baselines
from paofed.world.scenario import Scenario, scenario_of
from paofed.world.table.spec import Table

Engine = Literal["fast", "reference"]

# How much longer things take than one algorithm on the fast engine, for honest progress.
_SLOWER, _BESIDE = 200.0, 40.0


def run(
    scenario: Scenario | str | Path,
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

    The scenario is one, a preset's name or a file's path. The fast engine takes the algorithms of
    its family, the reference engine the others. Over a table, all models are judged on the samples
    to come, beside baselines; with `cold_starts`, so many times each device in turn joins late. An
    interrupt (Ctrl-C) ends the work: it raises Interrupted, whose `result` holds what was finished.
    """
    scenario, chosen = scenario_of(scenario), _chosen(methods)
    seed, runs = whole("seed", seed), whole("runs", runs, least=1)
    cold_starts = whole("cold_starts", cold_starts, least=0)
    every = usual_every(scenario.ticks) if every is None else whole("every", every, least=1)
    workers = os.cpu_count() or 1 if workers is None else whole("workers", workers, least=1)
    key_of(seed)  # refused now, not in a thread
    _check(scenario, chosen, engine, precision)
    _check_kinds(same_world, report)
    common = (seed, same_world, every, precision, runs, workers)
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
    finished: list[dict[int, RunRecord]] = [{} for task in (inside, outside) if task.methods]
    found = partial(_gathered, finished, provenance, scenario, chosen, quick, every)
    try:
        _run_engines(inside, outside, finished, progress)
    except KeyboardInterrupt:
        raise Interrupted(found() if _kept(finished) else None) from None
    return _beside(found(), inside, starts, progress)


def _chosen(methods: str | Algorithm | Iterable[str | Algorithm]) -> list[Algorithm]:
    if isinstance(methods, str) or not isinstance(methods, Iterable):
        return [resolve(methods)]
    return [resolve(method) for method in methods]


def _starts(scenario: Scenario, methods: Sequence[Algorithm], count: int) -> Starts:
    """When newcomers join; what cannot be is refused before the long work."""
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
    inside: Task, outside: Task, finished: Sequence[dict[int, RunRecord]], progress: "_Progress"
) -> None:
    """Let each engine that has any algorithms add its runs to its part of `finished`."""
    stages = ((inside, on_threads), (outside, on_processes))
    begun = iter(finished)
    for stage, (task, engine_of) in enumerate(stages):
        if task.methods:
            next(begun).update(engine_of(task, progress.stage(stage)))


def _kept(finished: Sequence[dict[int, RunRecord]]) -> list[int]:
    return sorted(set.intersection(*map(set, finished)))


def _gathered(
    finished: Sequence[dict[int, RunRecord]],
    provenance: Mapping[str, Any],
    scenario: Scenario,
    methods: Sequence[Algorithm],
    quick: Sequence[bool],
    every: int,
) -> Result:
    """Put together the runs that every engine has finished."""
    kept = _kept(finished)
    records = _stack([_joined([stage[i] for stage in finished], quick) for i in kept])
    errors = records.pop("errors"), records.pop("device_errors")
    ticks = curve_ticks(scenario.ticks, every)
    result = Result(provenance={**provenance, "runs_finished": kept}, ticks=ticks, **records)
    if not isinstance(scenario.stream, Table):
        return result
    return replace(result, progressive=progressive(scenario.stream, methods, ticks, *errors))


def _beside(result: Result, inside: Task, starts: Starts | None, progress: "_Progress") -> Result:
    """Over a table, add baselines and newcomers."""
    if result.progressive is None:
        return result
    scenario, workers = inside.scenario, inside.workers
    try:
        judged = result.progressive
        result = with_baselines(result, judged, scenario, workers, progress.stage(2))
        if starts is not None:
            joined = inside.methods, starts, workers, progress.stage(3)
            result = with_cold_starts(result, scenario, *joined)
    except KeyboardInterrupt:
        raise Interrupted(result) from None
    return result


def _check(scenario: Scenario, methods: Sequence[Algorithm], engine: str, precision: str) -> None:
    for kind, got, known in (
        ("engine", engine, get_args(Engine)),
        ("precision", precision, get_args(fast.Precision)),
    ):
        if got not in known:
            raise InputError(unknown(kind, str(got), known))
    if not methods:
        raise AlgorithmError("no algorithm was given: name at least one")
    names = [method.name for method in methods]
    for name in names:
        if names.count(name) > 1:
            raise AlgorithmError(f"{name} is given twice: give each algorithm a name of its own")
    for method in methods:
        method.require_fits(scenario.features)
    size = 4 if precision == "float32" else 8
    require_memory(
        size * scenario.clients * scenario.features * len(methods),
        f"{scenario.clients} clients with {scenario.features} features, {len(methods)} algorithms,",
    )


def _check_kinds(same_world: object, report: object) -> None:
    if not isinstance(same_world, bool):
        raise InputError(f"same_world is {same_world!r}: expected True or False")
    if report is not None and not callable(report):
        raise InputError(f"report is {report!r}: expected a function")


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
