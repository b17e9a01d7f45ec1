"""The door of this room: a crew computes a task, except the units that were finished before."""

import logging
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from paofed.simulate.engines import engine_of
from paofed.simulate.engines.task import Task
from paofed.simulate.results.result import RunRecord
from paofed.simulate.spread.crew import Crew
from paofed.simulate.spread.handing import Handing, order_of
from paofed.simulate.spread.identity import host, processor, program
from paofed.simulate.spread.store import FinishedUnit, UnitStore
from paofed.simulate.spread.units import (
    UnitSize,
    cut,
    files_of,
    key_of_task,
    leading,
    require_same,
)
from paofed.simulate.stopping import Report

_log = logging.getLogger(__name__)
LOOK = 0.5  # seconds between two looks at units that others compute


class Computed(NamedTuple):
    """One run, and the type of processor that it was computed on."""

    run: int
    record: RunRecord
    cpu: str


# Called with every unit that is finished.
_Keep = Callable[[range, FinishedUnit], None]
# Computes units, taking each from the iterator when it has room; yields runs as they end.
_Computes = Callable[[Iterator[range], _Keep], Iterator[Computed]]


def computed(
    engine: str, task: Task, runs: range, crew: Crew, report: Report
) -> Iterator[Computed]:
    """Yield all runs of a task in any order, each once; `report` is told parts of runs.

    Without an executor, this machine's cores compute; without a store, nothing is kept.
    """
    if crew.executor is None and crew.store is None:
        for index, record in engine_of(engine).run(task._replace(runs=runs), report):
            yield Computed(index, record, processor())
        return
    files, size = files_of(task.scenario), UnitSize(engine)
    if crew.executor is None:
        compute = _here(engine, task, report)
    else:
        compute = _elsewhere(Handing(crew.executor, order_of(engine, task, files)), report)
    if crew.store is None:
        yield from compute(
            cut(runs, size), lambda unit, found: size.learn(len(unit), found.seconds)
        )
        return
    about = _about(engine, task)

    def keep(unit: range, finished: FinishedUnit) -> None:
        size.learn(len(unit), finished.seconds)
        require_same(files, host())
        store.save(unit, finished, about)

    with UnitStore(Path(crew.store), key_of_task(engine, task, files)) as store:
        missing = yield from _stored(store, runs, report)
        _log.info("%d of %d runs were in the store", len(runs) - len(missing), len(runs))
        while missing:
            left = list[int]()
            yield from compute(_claimed(store, missing, size, left), keep)
            if len(left) == len(missing):  # other processes compute all runs that are left
                time.sleep(LOOK)
            missing = yield from _stored(store, left, report)


def _stored(
    store: UnitStore, runs: Sequence[int], report: Report
) -> Generator[Computed, None, list[int]]:
    """Yield the runs that are in the store, and return the other runs."""
    missing = dict.fromkeys(runs)
    for found in store.finished(runs) if runs else ():
        for index, record in found.records.items():
            if index in missing:
                del missing[index]
                yield Computed(index, record, found.cpu)
    if len(missing) < len(runs):
        # In one call, since stored runs say nothing about the speed of computing the others.
        report(float(len(runs) - len(missing)))
    return list(missing)


def _claimed(
    store: UnitStore, runs: Iterable[int], size: UnitSize, left: list[int]
) -> Iterator[range]:
    """Yield units of runs that nobody else computes or has finished; add other runs to `left`."""
    waiting, taken = deque(runs), store.taken()
    while waiting:
        if waiting[0] in taken:
            left.append(waiting.popleft())
            continue
        unit = leading(waiting, size, taken)
        if store.claim(unit):
            yield unit
        else:
            left += unit
        taken = store.taken()  # reads a file for each claim: once for a unit, not for each run


def _here(engine: str, task: Task, report: Report) -> _Computes:
    """Let this machine compute all units together, so that no core waits for the end of a unit."""

    def compute(units: Iterator[range], keep: _Keep) -> Iterator[Computed]:
        of_run, begun = dict[int, range](), dict[range, float]()
        ended = dict[range, dict[int, RunRecord]]()

        def runs() -> Iterator[int]:
            for unit in units:
                of_run.update(dict.fromkeys(unit, unit))
                begun[unit] = time.monotonic()
                yield from unit

        for index, record in engine_of(engine).run(task._replace(runs=runs()), report):
            unit = of_run.pop(index)
            ended.setdefault(unit, {})[index] = record
            if len(ended[unit]) == len(unit):
                seconds = time.monotonic() - begun.pop(unit)
                keep(unit, FinishedUnit(ended.pop(unit), processor(), seconds))
            yield Computed(index, record, processor())

    return compute


def _elsewhere(handing: Handing, report: Report) -> _Computes:
    """Let an executor compute the units."""

    def compute(units: Iterator[range], keep: _Keep) -> Iterator[Computed]:
        report(0.0)  # progress is timed from now on: the first units of all workers end together
        for unit, finished in handing.finished(units):
            keep(unit, finished)
            report(float(len(unit)))
            for index, record in finished.records.items():
                yield Computed(index, record, finished.cpu)

    return compute


def _about(engine: str, task: Task) -> Mapping[str, Any]:
    """Return what the file of a unit says about itself, for people who look into it."""
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
