"""Runs spread over cores: threads for the fast engine, processes for the reference."""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from functools import partial
from itertools import islice
from queue import SimpleQueue
from typing import NamedTuple, TypedDict

import cloudpickle

from paofed.algorithms import Algorithm
from paofed.errors import AlgorithmError
from paofed.simulate import fast
from paofed.simulate.reference_run import run_reference
from paofed.simulate.result import RunRecord
from paofed.simulate.stopping import Report, stoppable
from paofed.simulate.workers import Worker
from paofed.world.scenario import Scenario

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
            yield from _each(executor, lambda index: job(heard, index, None), task)
    finally:
        executor.shutdown(cancel_futures=True)


def _each(
    executor: ThreadPoolExecutor, job: Callable[[int], tuple[int, RunRecord]], task: Task
) -> Iterator[tuple[int, RunRecord]]:
    """Yield runs as they are finished; a few wait for a thread, so that the first come at once."""
    left = iter(range(task.runs))
    waiting = {executor.submit(job, index) for index in islice(left, 2 * task.workers)}
    while waiting:
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        waiting |= {executor.submit(job, index) for index in islice(left, len(done))}
        # An interrupt that was raised in a thread comes last: runs that ended beside it are kept.
        yield from (f.result() for f in sorted(done, key=lambda f: f.exception() is not None))


def on_processes(task: Task, report: Report) -> Iterator[tuple[int, RunRecord]]:
    """Run the reference engine; it is plain Python, so only processes use several cores."""
    work = partial(run_reference, task.scenario, task.methods)
    count = min(task.workers, task.runs)
    # A daemonic process is a worker of somebody's pool already: more would only get in its way.
    if count == 1 or multiprocessing.current_process().daemon:
        found = (work(**task.place(index)) for index in range(task.runs))
        runs: Iterator[tuple[int, RunRecord]] = enumerate(found)
    else:
        runs = _on_workers(task, _sendable(work, task.methods), count)
    for index, record in runs:
        report(1.0)
        yield index, record


def _sendable(work: Callable[..., RunRecord], methods: Sequence[Algorithm]) -> bytes:
    try:
        pickled: bytes = cloudpickle.dumps(work)
    except Exception as error:  # whatever one's own objects do when they are copied
        names = ", ".join(method.name for method in methods)
        raise AlgorithmError(
            f"{names} cannot be sent to another process ({error}): run with workers=1"
        ) from error
    return pickled


def _on_workers(task: Task, work: bytes, count: int) -> Iterator[tuple[int, RunRecord]]:
    """Let as many threads as there are processes each wait for one of them."""
    executor, workers = ThreadPoolExecutor(count), [Worker(work) for _ in range(count)]
    free: SimpleQueue[Worker] = SimpleQueue()
    for worker in workers:
        free.put(worker)

    def job(index: int) -> tuple[int, RunRecord]:
        worker = free.get()
        try:
            return index, worker.do(**task.place(index))
        finally:
            free.put(worker)

    try:
        yield from _each(executor, job, task)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.kill()
        executor.shutdown()  # soon: nothing is left to wait for
        for worker in workers:
            worker.close()
