"""The reference engine as the engines' door knows it: runs spread over processes."""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain, islice
from queue import SimpleQueue

from paofed.algorithms import Algorithm
from paofed.simulate.engines import Engine
from paofed.simulate.engines.reference import replay
from paofed.simulate.engines.reference_run import run_reference
from paofed.simulate.engines.task import Task, each, sendable
from paofed.simulate.engines.workers import Worker
from paofed.simulate.results.outcome import RunRecord
from paofed.simulate.stopping import Report


def refuses(method: Algorithm) -> str | None:  # noqa: ARG001 (an engine's interface)
    """Refuse nothing: every rule that Python can call runs here."""
    return None


def on_processes(task: Task, report: Report) -> Iterator[tuple[int, RunRecord]]:
    """Run the reference engine in processes: threads of plain Python share one core."""
    work = partial(run_reference, task.scenario, task.methods)
    left = iter(task.runs)
    first = list(islice(left, task.workers))  # no more processes than there are runs
    # A daemonic process is already a worker of somebody's pool: more processes would get in its
    # way.
    chained = chain(first, left)
    found: Iterator[tuple[int, RunRecord]]
    if len(first) <= 1 or multiprocessing.current_process().daemon:
        found = ((index, work(**task.place(index))) for index in chained)
    else:
        sent = sendable(work, task, "run with workers=1")
        found = _on_workers(task._replace(runs=chained), sent, len(first))
    for index, record in found:
        report(1.0)
        yield index, record


def _on_workers(task: Task, work: bytes, count: int) -> Iterator[tuple[int, RunRecord]]:
    """Give each process a thread of its own, which waits for the process."""
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
        yield from each(executor, job, task.runs, count)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.kill()
        executor.shutdown()  # returns soon, since no work is left
        for worker in workers:
            worker.close()


ENGINE = Engine(refuses=refuses, run=on_processes, replay=replay, cost=200.0)
