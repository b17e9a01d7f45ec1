"""The compiled engine as the engines' door knows it: runs spread over threads."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import numpy as np

from paofed.algorithms import Algorithm
from paofed.algorithms.base import REPLAYED
from paofed.algorithms.setup import resolve
from paofed.core.parts import keys_of
from paofed.errors import AlgorithmError, RuleError
from paofed.simulate.engines import Engine, reference
from paofed.simulate.engines.fast import family
from paofed.simulate.engines.fast.compiling import note_compilation
from paofed.simulate.engines.fast.curves import outcome
from paofed.simulate.engines.fast.own import simulation as own
from paofed.simulate.engines.fast.own.compiler import refusal
from paofed.simulate.engines.fast.own.method_run import BrokenRuleError
from paofed.simulate.engines.reference_run import run_reference
from paofed.simulate.engines.task import Task, each
from paofed.simulate.results.outcome import Outcome, RunRecord
from paofed.simulate.stopping import Report, stoppable
from paofed.world.trace import Trace

# Fleets of at least so many clients share one run over all threads; else each thread has a run.
_SPREAD_FROM = 16_384


def refuses(method: Algorithm) -> str | None:
    """Say why the kernels cannot run an algorithm, or None."""
    return None if family.in_family(method) else refusal(method)


def replay(
    trace: Trace,
    method: str | Algorithm,
    *,
    seed: int = 0,
) -> Outcome:
    """Run an algorithm over a trace in float64, as the reference engine's `replay` does."""
    settled = family.settle(resolve(method), *REPLAYED)
    if family.in_family(settled):
        return outcome(family.Simulation.over(trace.sparse(), [settled], "float64"), trace)
    if (reason := refusal(settled)) is not None:
        raise AlgorithmError(f"{settled.name}: {reason}; use the reference engine")
    settled.require_fits(trace.features)
    again = partial(reference.replay, trace, settled, seed=seed)
    with _told_by_the_reference([settled], lambda _: again()):
        return outcome(own.General.over(trace.sparse(), [settled], keys_of(seed)), trace)


def on_threads(task: Task, report: Report) -> Iterator[tuple[int, RunRecord]]:
    """Run the kernels on threads: they release the interpreter, so no processes are needed."""

    def job(heard: Report, index: int, pool: family.ThreadPool | None) -> tuple[int, RunRecord]:
        return index, _run(task, index, heard, pool)

    # Only algorithms of the family can share one run over threads.
    numbers = all(map(family.in_family, task.methods))
    if numbers and task.scenario.clients >= _SPREAD_FROM:
        with family.ThreadPool(task.workers) as shared:
            yield from (job(report, index, shared) for index in task.runs)
        return
    executor = ThreadPoolExecutor(task.workers)
    try:
        with stoppable(report) as heard:
            yield from each(
                executor, lambda index: job(heard, index, None), task.runs, task.workers
            )
    finally:
        executor.shutdown(cancel_futures=True)


def _run(task: Task, index: int, heard: Report, pool: family.ThreadPool | None) -> RunRecord:
    """Run the family in one pass and methods of one's own in another; keep the order of methods."""
    numbers = [family.in_family(method) for method in task.methods]
    inside = [m for m, number in zip(task.methods, numbers, strict=True) if number]
    outside = [m for m, number in zip(task.methods, numbers, strict=True) if not number]
    place, parts = task.place(index), []
    if inside:
        share = len(inside) / len(numbers)
        parts.append(
            family.run(
                task.scenario, inside, precision=task.precision, pool=pool,
                report=lambda part: heard(share * part), **place,
            )
        )  # fmt: skip
    if outside:
        rest = len(outside) / len(numbers)

        def again(failed: list[Algorithm]) -> RunRecord:
            return run_reference(task.scenario, failed, **place)

        with _told_by_the_reference(outside, again):
            parts.append(
                own.run(
                    task.scenario, outside, precision=task.precision,
                    report=lambda part: heard(rest * part), **place,
                )
            )  # fmt: skip
    order = np.argsort(np.argsort(~np.array(numbers), kind="stable"))
    return RunRecord(*(np.concatenate(arrays)[order] for arrays in zip(*parts, strict=True)))


@contextmanager
def _told_by_the_reference(
    methods: Sequence[Algorithm], again: Callable[[list[Algorithm]], object]
) -> Iterator[None]:
    """Where a compiled rule fails, let the reference engine say which rule and how.

    Machine code knows neither names nor shapes. The reference engine runs the same rules as Python
    code and meets the same mistake.
    """
    try:
        yield
    except BrokenRuleError as broken:
        again([method for method in methods if method.name == broken.method])
        raise RuleError(
            broken.method,
            f"a compiled rule failed ({broken}), and the reference engine finds nothing wrong: run "
            f"with engine='reference'",
        ) from broken


ENGINE = Engine(
    refuses=refuses, run=on_threads, replay=replay, cost=1.0, announced=note_compilation
)
