"""Many runs of several algorithms: spread over cores, reported as they go, kept when stopped."""

import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypedDict, get_args

import numpy as np

from paofed.algorithms import Algorithm
from paofed.algorithms.spec import resolve
from paofed.core.arrays import FloatArray
from paofed.errors import AlgorithmError, InputError, unknown
from paofed.memory import require_memory
from paofed.simulate import fast, reference
from paofed.simulate.coldstart import Starts, starts_of, with_cold_starts
from paofed.simulate.progressive import Progressive, per_sample, tally
from paofed.simulate.result import Result, RunRecord, curve_ticks, versions
from paofed.simulate.tables import about, progressive, with_baselines
from paofed.world.realize import realize
from paofed.world.scenario import Scenario
from paofed.world.table.spec import Table
from paofed.world.trace import Trace

Engine = Literal["fast", "reference"]
Report = Callable[[float], None]  # told the share of all work that is done, from 0 to 1

_SPREAD_FROM = 16_384  # clients from which the threads share one run, rather than take one each
# How much longer things take than one algorithm on the fast engine, for honest progress.
_SLOWER, _BESIDE = 200.0, 40.0
_EVERY, _POINTS = 10, 200  # ticks between points of a curve, but no more points than this


class _Stopped(Exception):  # noqa: N818 (not an error)
    """Ends a run that nobody waits for any more."""


class _Place(TypedDict):
    """Where one run stands among all."""

    seed: int
    world: int
    run: int
    every: int


class _Task(NamedTuple):
    """What all runs have in common."""

    scenario: Scenario
    methods: Sequence[Algorithm]
    seed: int
    same_world: bool
    every: int
    precision: fast.Precision
    runs: int
    workers: int

    def place(self, index: int) -> _Place:
        """Seed, world and run of the index-th run."""
        world, run = (0, index) if self.same_world else (index, 0)
        return {"seed": self.seed, "world": world, "run": run, "every": self.every}


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
    every = max(_EVERY, scenario.ticks // _POINTS) if every is None else every
    _check(scenario, chosen, runs, every, workers, engine, precision)
    common = (seed, same_world, every, precision, runs, workers or os.cpu_count() or 1)
    quick = [engine == "fast" and fast.in_family(method) for method in chosen]
    inside = _Task(scenario, [m for m, q in zip(chosen, quick, strict=True) if q], *common)
    outside = _Task(scenario, [m for m, q in zip(chosen, quick, strict=True) if not q], *common)
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
    inside: _Task, outside: _Task, table: Table | None, starts: Starts | None
) -> tuple[float, float, float, float]:
    """How long the stages of a run take beside each other: engines, baselines, newcomers."""
    quick, slow = len(inside.methods), len(outside.methods)
    joining = quick * len(starts.devices) if starts else 0.0
    return quick, _SLOWER * slow, _BESIDE if table else 0.0, joining


def _run_engines(
    inside: _Task, outside: _Task, progress: "_Progress"
) -> tuple[list[dict[int, RunRecord]], bool]:
    """The runs of each engine that has any, and whether all were finished."""
    finished: list[dict[int, RunRecord]] = [{} for task in (inside, outside) if task.methods]
    stages = ((inside, _on_threads), (outside, _on_processes))
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
    inside: _Task,
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


def _on_threads(task: _Task, report: Report) -> Iterator[tuple[int, RunRecord]]:
    """Run the fast engine; its kernels release the interpreter, so threads are enough."""
    stop = threading.Event()

    def heard(part: float) -> None:
        if stop.is_set():
            raise _Stopped
        report(part)

    def job(index: int, pool: fast.ThreadPool | None = None) -> tuple[int, RunRecord]:
        place = task.place(index)
        record = fast.run(
            task.scenario, task.methods, precision=task.precision, report=heard, pool=pool, **place
        )
        return index, record

    if task.scenario.clients >= _SPREAD_FROM:
        with fast.ThreadPool(task.workers) as pool:
            yield from (job(index, pool) for index in range(task.runs))
    else:
        executor = ThreadPoolExecutor(task.workers)
        try:
            futures = [executor.submit(job, index) for index in range(task.runs)]
            yield from (future.result() for future in as_completed(futures))
        finally:
            stop.set()
            executor.shutdown(cancel_futures=True)


def _on_processes(task: _Task, report: Report) -> Iterator[tuple[int, RunRecord]]:
    """Run the reference engine; it is plain Python, so only processes use several cores."""
    # Forked, so that anyone's own functions reach the workers without being pickled.
    context = multiprocessing.get_context("fork")
    workers = min(task.workers, task.runs)
    with warnings.catch_warnings():
        # Python 3.12 warns of forking beside threads; ours have ended, NumPy's own are idle.
        warnings.simplefilter("ignore", DeprecationWarning)
        pool = context.Pool(workers, initializer=_inherit, initargs=(task,))
    with pool:
        for index, record in pool.imap_unordered(_one_run, range(task.runs)):
            report(1.0)
            yield index, record


_inherited: list[_Task] = []  # in a worker process: what it was forked for


def _inherit(task: _Task) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted and ends its workers
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # like this, whatever the parent does at it
    _inherited.append(task)


def _one_run(index: int) -> tuple[int, RunRecord]:
    task = _inherited[-1]
    return index, run_reference(task.scenario, task.methods, **task.place(index))


def run_reference(
    scenario: Scenario, methods: Sequence[Algorithm], *, seed: int, world: int, run: int, every: int
) -> RunRecord:
    """Run algorithms over one run of one world on the reference engine, as `fast.run` does."""
    trace = realize(scenario, world, run, seed=seed)
    records = [_replayed(scenario, trace, method, every) for method in methods]
    return RunRecord(*(np.stack(parts) for parts in zip(*records, strict=True)))


def _replayed(scenario: Scenario, trace: Trace, method: Algorithm, every: int) -> RunRecord:
    """One algorithm over a trace, without the axis of the algorithms."""
    points = curve_ticks(scenario.ticks, every)
    squared: list[FloatArray] = []
    outcome = reference.replay(
        trace,
        method,
        step_size=scenario.step_size,
        max_age=scenario.max_age,
        watch=lambda info: squared.append(info.squared),
    )
    errors = device_errors = np.zeros((2, 0))
    mse = outcome.mse[points]
    if isinstance(scenario.stream, Table):
        scored = scenario.stream.read().scored
        judged = [tally(e, trace.has_data, points, scored) for e in np.stack(squared, 1)]
        errors, device_errors = (np.stack(parts) for parts in zip(*judged, strict=True))
        mse = per_sample(errors[1], trace.has_data, points)
    return RunRecord(
        mse=mse,
        sent=outcome.sent[points],
        sent_up=np.array(outcome.sent_up),
        sent_down=np.array(outcome.sent_down),
        models=outcome.server_model,
        errors=errors,
        device_errors=device_errors,
    )


def _joined(parts: Sequence[RunRecord], quick: Sequence[bool]) -> RunRecord:
    """Put what the engines computed back into the order in which it was asked for."""
    # The fast engine's come first; the inverse of that sorting puts everything back.
    order = np.argsort(np.argsort(~np.array(quick), kind="stable"))
    return RunRecord(*(np.concatenate(arrays)[order] for arrays in zip(*parts, strict=True)))


def _stack(records: Sequence[RunRecord]) -> dict[str, Any]:
    return {
        name: np.stack([getattr(record, name) for record in records]) for name in RunRecord._fields
    }
