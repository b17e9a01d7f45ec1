"""The reference engine as the engines' door knows it: runs spread over processes."""

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue

import cloudpickle

from paofed.algorithms import Algorithm
from paofed.errors import AlgorithmError, InputError, ScenarioError
from paofed.simulate.engines import Engine
from paofed.simulate.engines.reference import replay
from paofed.simulate.engines.reference_run import run_reference
from paofed.simulate.engines.task import Task, each
from paofed.simulate.engines.workers import Worker
from paofed.simulate.results.result import RunRecord
from paofed.simulate.stopping import Report


def refuses(method: Algorithm) -> str | None:  # noqa: ARG001 (an engine's interface)
    """Refuse nothing: every rule that Python can call runs here."""
    return None


def on_processes(task: Task, report: Report) -> Iterator[tuple[int, RunRecord]]:
    """Run the reference engine; it is plain Python, so only processes use several cores."""
    work = partial(run_reference, task.scenario, task.methods)
    count = min(task.workers, task.runs)
    # A daemonic process is a worker of somebody's pool already: more would only get in its way.
    if count == 1 or multiprocessing.current_process().daemon:
        found = (work(**task.place(index)) for index in range(task.runs))
        runs: Iterator[tuple[int, RunRecord]] = enumerate(found)
    else:
        runs = _on_workers(task, _sendable(work, task), count)
    for index, record in runs:
        report(1.0)
        yield index, record


def _sendable(work: Callable[..., RunRecord], task: Task) -> bytes:
    try:
        pickled: bytes = cloudpickle.dumps(work)
    except Exception as error:  # whatever one's own objects do when they are copied
        raise _unsendable(task, error) from error
    return pickled


def _unsendable(task: Task, error: Exception) -> InputError:
    """Say which part cannot be copied: the worlds, or else the algorithms."""
    advice = f"cannot be sent to another process ({error}): run with workers=1"
    try:
        cloudpickle.dumps(task.scenario)
    except Exception:  # noqa: BLE001 (likewise)
        return ScenarioError(f"the function of {task.scenario.name} {advice}")
    return AlgorithmError(f"{', '.join(method.name for method in task.methods)} {advice}")


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
        yield from each(executor, job, task)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.kill()
        executor.shutdown()  # soon: nothing is left to wait for
        for worker in workers:
            worker.close()


ENGINE = Engine(refuses=refuses, run=on_processes, replay=replay, cost=200.0)
