"""The compiled engine as the engines' door knows it: runs spread over threads."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from paofed.algorithms import Algorithm
from paofed.simulate.engines import Engine
from paofed.simulate.engines.fast import family
from paofed.simulate.engines.fast.compiling import note_compilation
from paofed.simulate.engines.task import Task, each
from paofed.simulate.results.result import RunRecord
from paofed.simulate.stopping import Report, stoppable

_SPREAD_FROM = 16_384  # clients from which the threads share one run, rather than take one each


def refuses(method: Algorithm) -> str | None:
    """Say why the kernels cannot run an algorithm, or None."""
    if not family.in_family(method):
        return "it is outside the family that the fast engine knows"
    return None


def on_threads(task: Task, report: Report) -> Iterator[tuple[int, RunRecord]]:
    """Run the kernels; they release the interpreter, so threads are enough."""

    def job(heard: Report, index: int, pool: family.ThreadPool | None) -> tuple[int, RunRecord]:
        place = task.place(index)
        record = family.run(
            task.scenario, task.methods, precision=task.precision, report=heard, pool=pool, **place
        )
        return index, record

    if task.scenario.clients >= _SPREAD_FROM:
        with family.ThreadPool(task.workers) as shared:
            yield from (job(report, index, shared) for index in range(task.runs))
        return
    executor = ThreadPoolExecutor(task.workers)
    try:
        with stoppable(report) as heard:
            yield from each(executor, lambda index: job(heard, index, None), task)
    finally:
        executor.shutdown(cancel_futures=True)


ENGINE = Engine(
    refuses=refuses, run=on_threads, replay=family.replay, cost=1.0, announced=note_compilation
)
