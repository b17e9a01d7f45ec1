"""The door of this room: a crew computes a task, except the jobs that were finished before."""

import logging
import time
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np

from paofed.simulate.engines import engine_of
from paofed.simulate.engines.task import Task
from paofed.simulate.results.outcome import RunRecord
from paofed.simulate.spread.crew import Crew
from paofed.simulate.spread.handing import Handing, Order, order_of
from paofed.simulate.spread.identity import host, processor, program
from paofed.simulate.spread.job_store import FinishedJob, JobStore
from paofed.simulate.spread.jobs import (
    JobSize,
    around,
    cut,
    files_of,
    key_of_task,
    require_same,
)
from paofed.simulate.stopping import Report

_log = logging.getLogger(__name__)


def computed(
    engine: str, task: Task, runs: range, crew: Crew, report: Report
) -> Iterator[FinishedJob]:
    """Yield all runs of a task in jobs, in any order; `report` is told parts of runs.

    Without an executor, this machine's cores compute; without a store, nothing is kept.
    """
    if crew.executor is None and crew.store is None:
        for index, record in engine_of(engine).run(task._replace(runs=runs), report):
            yield FinishedJob({index: record}, processor(), 0.0)
        return
    files, size = files_of(task.scenario), JobSize(engine)

    def compute(jobs: Iterator[range]) -> Iterator[FinishedJob]:
        if crew.executor is None:
            found = _here(engine, task, jobs, report)
        else:
            found = _elsewhere(crew.executor, order_of(engine, task, files), jobs, report)
        for job in found:
            size.learn(len(job.records), job.seconds)
            yield job

    if crew.store is None:
        yield from compute(cut(runs, size))
        return
    store = JobStore(Path(crew.store), key_of_task(engine, task, files))
    missing = yield from _stored(store, runs, report)
    _log.info("%d of %d runs were in the store", len(runs) - len(missing), len(runs))
    while missing:
        left = list[int]()
        for job in compute(_unfinished(store, missing, size, left)):
            require_same(files, host())
            store.save(job, _about(engine, task))
            yield job
        missing = yield from _stored(store, left, report)


def _stored(
    store: JobStore, runs: Sequence[int], report: Report
) -> Generator[FinishedJob, None, list[int]]:
    """Yield the runs that are in the store, and return the other runs."""
    missing = dict.fromkeys(runs)
    for job in store.finished(runs) if runs else ():
        records = {index: record for index, record in job.records.items() if index in missing}
        for index in records:
            del missing[index]
        yield job._replace(records=records)
    if len(missing) < len(runs):
        # In one call, since stored runs say nothing about the speed of computing the others.
        report(float(len(runs) - len(missing)))
    return list(missing)


def _unfinished(
    store: JobStore, runs: Iterable[int], size: JobSize, left: list[int]
) -> Iterator[range]:
    """Yield jobs of runs that nobody has finished yet; add the others to `left`.

    The order is drawn, by every client for itself, so that clients of one store seldom meet.
    """
    missing = {*runs}
    while missing:
        finished = missing & store.runs
        missing -= finished
        left += sorted(finished)
        if missing:
            job = around(any_of(missing), missing, size)
            missing.difference_update(job)
            yield job


def any_of(runs: Collection[int]) -> int:
    """Draw one of some runs."""
    return sorted(runs)[np.random.default_rng().integers(len(runs))]


def _here(engine: str, task: Task, jobs: Iterator[range], report: Report) -> Iterator[FinishedJob]:
    """Let this machine compute all jobs together, so that no core waits for the end of a job."""
    begun = dict[int, tuple[range, float, dict[int, RunRecord]]]()

    def runs() -> Iterator[int]:
        for job in jobs:
            begun.update(dict.fromkeys(job, (job, time.monotonic(), {})))
            yield from job

    for index, record in engine_of(engine).run(task._replace(runs=runs()), report):
        job, at, records = begun.pop(index)
        records[index] = record
        if len(records) == len(job):
            yield FinishedJob(records, processor(), time.monotonic() - at)


def _elsewhere(
    executor: Executor, order: Order, jobs: Iterator[range], report: Report
) -> Iterator[FinishedJob]:
    """Let an executor compute the jobs."""
    report(0.0)  # progress is timed from now on: the first jobs of all workers end together
    for job in Handing(executor, order).finished(jobs):
        report(float(len(job.records)))
        yield job


def _about(engine: str, task: Task) -> Mapping[str, Any]:
    """Return what the file of a job says about itself, for people who look into it."""
    return {
        "engine": engine,
        "scenario": task.scenario.name,
        "algorithms": [method.name for method in task.methods],
        "seed": task.seed,
        "same_world": task.same_world,
        "every": task.every,
        "precision": task.precision,
        "program": program(),
        "host": host(),
    }
