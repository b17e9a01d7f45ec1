"""Runs spread over cores: threads for the fast engine, processes for the reference."""

import multiprocessing
import signal
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import NamedTuple, TypedDict

import numpy as np

from paofed.algorithms import Algorithm
from paofed.core.arrays import FloatArray
from paofed.simulate import fast, reference
from paofed.simulate.progressive import per_sample, tally
from paofed.simulate.result import RunRecord, curve_ticks
from paofed.simulate.stopping import Report, stoppable
from paofed.world.realize import realize
from paofed.world.scenario import Scenario
from paofed.world.table.spec import Table
from paofed.world.trace import Trace

_SPREAD_FROM = 16_384  # clients from which the threads share one run, rather than take one each


class Place(TypedDict):
    """Where one run stands among all."""

    seed: int
    world: int
    run: int
    every: int


class Task(NamedTuple):
    """What all runs have in common."""

    scenario: Scenario
    methods: Sequence[Algorithm]
    seed: int
    same_world: bool
    every: int
    precision: fast.Precision
    runs: int
    workers: int

    def place(self, index: int) -> Place:
        """Seed, world and run of the index-th run."""
        world, run = (0, index) if self.same_world else (index, 0)
        return {"seed": self.seed, "world": world, "run": run, "every": self.every}


def on_threads(task: Task, report: Report) -> Iterator[tuple[int, RunRecord]]:
    """Run the fast engine; its kernels release the interpreter, so threads are enough."""

    def job(heard: Report, index: int, pool: fast.ThreadPool | None) -> tuple[int, RunRecord]:
        place = task.place(index)
        record = fast.run(
            task.scenario, task.methods, precision=task.precision, report=heard, pool=pool, **place
        )
        return index, record

    if task.scenario.clients >= _SPREAD_FROM:
        with fast.ThreadPool(task.workers) as shared:
            yield from (job(report, index, shared) for index in range(task.runs))
        return
    executor = ThreadPoolExecutor(task.workers)
    try:
        with stoppable(report) as heard:
            futures = [executor.submit(job, heard, index, None) for index in range(task.runs)]
            yield from (future.result() for future in as_completed(futures))
    finally:
        executor.shutdown(cancel_futures=True)


def on_processes(task: Task, report: Report) -> Iterator[tuple[int, RunRecord]]:
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


_inherited: list[Task] = []  # in a worker process: what it was forked for


def _inherit(task: Task) -> None:
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
