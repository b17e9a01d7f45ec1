"""The door of this room: a crew computes a task, except the units that were finished before."""

import logging
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from paofed.simulate.engines import engine_of
from paofed.simulate.engines.task import Task
from paofed.simulate.results.result import RunRecord
from paofed.simulate.spread.crew import Crew
from paofed.simulate.spread.handing import Handing
from paofed.simulate.spread.identity import host, processor, program
from paofed.simulate.spread.orders import order_of
from paofed.simulate.spread.store import FinishedUnit, UnitStore
from paofed.simulate.spread.units import WorkUnit, cut, files_of, require_same
from paofed.simulate.stopping import Report

_log = logging.getLogger(__name__)
LOOK = 0.5  # seconds between two looks at units that others compute


class Computed(NamedTuple):
    """One run, and the type of processor that it was computed on."""

    run: int
    record: RunRecord
    cpu: str


_Keep = Callable[[WorkUnit, FinishedUnit], None]  # called with every unit that is finished
# Computes units, taking each from the iterator when it has room; yields runs as they end.
_Computes = Callable[[Iterator[WorkUnit], _Keep], Iterator[Computed]]


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
    files = files_of(task.scenario)
    if crew.executor is None:
        compute = _here(engine, task, report)
    else:
        compute = _elsewhere(Handing(crew.executor, order_of(engine, task, files)), report)
    if crew.store is None:
        yield from compute(cut(engine, task, runs, None), lambda _unit, _finished: None)
        return
    units = list(cut(engine, task, runs, files))
    about = _about(engine, task)

    def keep(unit: WorkUnit, finished: FinishedUnit) -> None:
        require_same(files, host())
        store.save(unit, finished, about)

    with UnitStore(Path(crew.store)) as store:
        asked = len(units)
        units = yield from _stored(store, units, report)
        _log.info("%d of %d units were in the store", asked - len(units), asked)
        while units:
            left = list[WorkUnit]()
            yield from compute(_claimed(store, units, left), keep)
            if len(left) == len(units):  # other processes compute all units that are left
                time.sleep(LOOK)
            units = yield from _stored(store, left, report)


def _stored(
    store: UnitStore, units: Iterable[WorkUnit], report: Report
) -> Generator[Computed, None, list[WorkUnit]]:
    """Yield the runs of units that are in the store, and return the other units."""
    missing, there = list[WorkUnit](), 0
    for unit in units:
        found = store.load(unit)
        if found is None:
            missing.append(unit)
            continue
        there += len(unit.runs)
        for index, record in found.records.items():
            yield Computed(index, record, found.cpu)
    if there:
        # In one call, since stored units say nothing about the speed of computing the others.
        report(float(there))
    return missing


def _claimed(
    store: UnitStore, units: Iterable[WorkUnit], left: list[WorkUnit]
) -> Iterator[WorkUnit]:
    """Yield the units that nobody else computes or has finished; add all others to `left`."""
    for unit in units:
        if store.claim(unit):
            yield unit
        else:
            left.append(unit)


def _here(engine: str, task: Task, report: Report) -> _Computes:
    """Let this machine compute all units together, so that no core waits for the end of a unit."""

    def compute(units: Iterator[WorkUnit], keep: _Keep) -> Iterator[Computed]:
        of_run = dict[int, WorkUnit]()
        ended = dict[WorkUnit, dict[int, RunRecord]]()

        def runs() -> Iterator[int]:
            for unit in units:
                of_run.update(dict.fromkeys(unit.runs, unit))
                yield from unit.runs

        for index, record in engine_of(engine).run(task._replace(runs=runs()), report):
            unit = of_run.pop(index)
            ended.setdefault(unit, {})[index] = record
            if len(ended[unit]) == len(unit.runs):
                keep(unit, FinishedUnit(ended.pop(unit), processor()))
            yield Computed(index, record, processor())

    return compute


def _elsewhere(handing: Handing, report: Report) -> _Computes:
    """Let an executor compute the units."""

    def compute(units: Iterator[WorkUnit], keep: _Keep) -> Iterator[Computed]:
        report(0.0)  # progress is timed from now on: the first units of all workers end together
        for unit, finished in handing.finished(units):
            keep(unit, finished)
            report(float(len(unit.runs)))
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
