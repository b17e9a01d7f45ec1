"""Many runs of several algorithms: spread over workers, reported as they go, kept when stopped."""

import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import repeat
from pathlib import Path
from typing import Any, get_args

import numpy as np

from paofed.algorithms import Algorithm
from paofed.algorithms.setup import Setup, methods_of, resolve
from paofed.core.metrics import curve_ticks
from paofed.core.random import key_of
from paofed.core.starting import device_from, server_from
from paofed.errors import AlgorithmError, InputError, PaofedWarning, unknown, whole
from paofed.memory import require_memory
from paofed.simulate.engines import USUAL, Precision, engine_of, preferred
from paofed.simulate.engines.assignment import Assignment, assign_engines, cost_of, remarks
from paofed.simulate.engines.task import Task
from paofed.simulate.faulty import with_faults
from paofed.simulate.results.gathering import Gathering
from paofed.simulate.results.outcome import versions
from paofed.simulate.results.places import Tally
from paofed.simulate.results.result import Result
from paofed.simulate.results.runs import Clean, usual_every
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.results.world_result import WorldResult
from paofed.simulate.spread.crew import Crew, checked
from paofed.simulate.spread.spreading import computed
from paofed.simulate.stopping import Interrupted, Report, ignored, parts_of
from paofed.simulate.table.baselines import USUAL as USUAL_BASELINES
from paofed.simulate.table.baselines import chosen as chosen_baselines
from paofed.simulate.table.baselines import work_of
from paofed.simulate.table.coldstart import Starts, may_join, starts_of, with_cold_starts
from paofed.simulate.table.comparisons import (
    about,
    over_table,
    require_times,
    with_apart,
    with_baselines,
)
from paofed.simulate.table.label_shares import at_shares, with_label_shares
from paofed.simulate.table.learners_alone import learners_apart, without_contacts
from paofed.world.scenario import Scenario
from paofed.world.table.door import read
from paofed.world.table.spec import Table
from paofed.world.worlds import MakesTrace, Setting, Worlds, require_room, setting_of

# How long the usual baselines of a table take, relative to one algorithm: for honest progress.
_BESIDE = 40.0


def run(
    scenario: Setting | Worlds | MakesTrace | str | Path,
    methods: str | Setup | Algorithm | Sequence[str | Setup | Algorithm],
    *,
    runs: int = 1,
    first: int = 0,
    seed: int = 0,
    same_world: bool = False,
    engine: str = USUAL,
    precision: Precision = "float32",
    every: int | None = None,
    cold_starts: int = 0,
    baselines: str | Sequence[str] | None = None,
    clean: bool = True,
    label_shares: Sequence[float] = (),
    workers: int | None = None,
    executor: Executor | None = None,
    store: Path | str | None = None,
    report: Report | None = None,
) -> Result:
    """Run algorithms over `runs` worlds, all of them over the same ones, and return the result.

    `scenario` is a Scenario, a preset's name or a file's path; or Worlds, or just a function
    (world, run) -> Trace. `methods` are one or several algorithms, each by name, with options as in
    "pao-fed-u1:shared=8", or as a record. An option `auto` of a name, as in
    "pao-fed-u1:step_size=auto", is chosen by a race before the run, as `race` does with the same
    seed; the result says what was tried.

    Worlds are those of `seed`, numbered from `first` on, so that others can run the rest: see
    Result.merge. With `same_world`, all runs have one map, fleet and test set. A curve has a point
    after `every` ticks (None: 10, or a 200th of all ticks if that is more).

    `engine` is "fast", "reference" or "gpu", or several as in "gpu,fast", of which the first that
    can runs an algorithm; what the fast engine refuses, the reference engine runs, and "gpu" alone
    ends the work instead. A PaofedWarning tells where another engine runs an algorithm, and where
    a server forgets too soon. `precision` is that of the models, "float32" or "float64".

    Over a table, all models are judged on the samples to come, beside the usual `baselines` or
    those named ("none" for no baseline); with `cold_starts`, each device in turn joins late that
    many times. With faults, everything is run once more without them unless `clean` is False, so
    that the result says what the faults cost. Over a table, `label_shares` are shares of the
    samples that have labels: everything is judged once more with each of these.

    Thirteen of the parameters say what is run. The last four say how, and change no number.
    `workers` threads or processes compute (None: one for each core). An `executor` (as in
    concurrent.futures) computes instead of this machine's cores, which still compute the baselines
    and cold starts of a table. A `store` is a folder of finished parts: a second start, or another
    machine with the same folder, computes only the missing parts. `report` is called with the share
    of the work that is done. An interrupt (Ctrl-C) ends the work: it raises Interrupted, whose
    `result` holds the finished runs.
    """
    setting = setting_of(scenario)
    given = [one if _asks(one) else resolve(one) for one in methods_of(methods)]
    seed, runs, first = whole("seed", seed), whole("runs", runs, least=1), whole("first", first, 0)
    cold_starts, beside = whole("cold_starts", cold_starts, least=0), chosen_baselines(baselines)
    every = usual_every(setting.ticks) if every is None else whole("every", every, least=1)
    workers = os.cpu_count() or 1 if workers is None else whole("workers", workers, least=1)
    key_of(seed)  # a wrong seed is refused now, not in a thread
    _check_kinds(same_world, clean, report)
    crew, indices = checked(Crew(workers, executor, store)), range(first, first + runs)
    how = {"seed": seed, "engine": engine, "precision": precision, **crew._asdict()}
    table = setting.stream if isinstance(setting.stream, Table) else None
    if table is None and baselines is not None and beside:
        raise InputError(
            f"baselines is {baselines!r}: expected none, since only tables have them",
            key="baselines",
        )
    if table is not None:
        require_times(beside, table)
    others = at_shares(setting, label_shares)
    chosen, races, report = _raced(setting, given, report, how)
    _check(setting, chosen, engine, precision)
    require_room(setting, min(runs, workers))
    task_of = partial(
        Task,
        seed=seed,
        same_world=same_world,
        every=every,
        precision=precision,
        runs=indices,
        workers=workers,
    )
    work = [
        assign_engines(world, [_as_run(method, world) for method in chosen], engine, task_of)
        for world in _with_clean(setting, clean=clean)
    ]
    for world in others.values():  # what an engine refuses is refused now
        assign_engines(world, chosen, engine, task_of)
    for remark in dict.fromkeys(remarks(setting, chosen, work[0])):
        warnings.warn(remark, PaofedWarning, stacklevel=2)
    engines = work[0].engines
    newcomers = [method for method in chosen if may_join(method)] if cold_starts else []
    starts = _starts(setting, newcomers, cold_starts) if cold_starts else None
    apart = _apart(setting, chosen, beside, engine, task_of) if table else None
    provenance = {
        "scenario": setting.model_dump(),
        "algorithms": [method.describe() for method in chosen],
        "seed": seed,
        "same_world": same_world,
        "first_run": first,
        "runs_requested": runs,
        "engines": engines,
        "refused": work[0].refused,
        "precision": precision,
        "table": about(table) if table else None,
        "baselines": list(beside) if table else [],
        "apart": apart.names if apart else [],
        "versions": versions(),
    }
    tasks = [(name, task) for part in work for name, task in part.tasks.items()]
    shares = [cost_of(*one) for one in tasks]
    shares += [_BESIDE * work_of(beside) / len(USUAL_BASELINES) if table else 0.0]
    shares += [len(newcomers) * len(starts.devices) if starts else 0.0]
    shares += [sum(cost_of(*one) for one in apart.tasks.items()) if apart else 0.0]
    again_at = sum(world is not setting for world in others.values())
    own, *later = parts_of(report or ignored, [1] * (1 + again_at))
    progress = _Progress(own, shares, runs)
    gathered = [Gathering(indices, len(chosen)) for _ in work]
    found = partial(_found, gathered, provenance, setting, every, races)
    stages = map(progress.stage, range(len(tasks)))
    try:
        for part, gathering in zip(work, gathered, strict=True):
            _fill(gathering, part, indices, crew, stages)
    except KeyboardInterrupt:
        raise Interrupted(found() if _kept(gathered) else None) from None
    result = _beside(found(), setting, beside, apart, newcomers, starts, crew, progress)
    again = partial(
        run, methods=chosen, runs=runs, first=first, same_world=same_world, every=every,
        baselines=beside, clean=False, **how,
    )  # fmt: skip
    return _at_label_shares(result, setting, others, again, later) if others else result


def _at_label_shares(
    result: Result,
    setting: Setting,
    others: Mapping[float, Scenario],
    again: Callable[..., Result],
    reports: Sequence[Report],
) -> Result:
    """Run the same once more with each other share of labels, and add what was found."""
    found, left = dict[float, TableResult](), iter(reports)
    try:
        for share, world in others.items():
            same = world is setting
            found[share] = TableResult.of(result if same else again(world, report=next(left)))
    except KeyboardInterrupt:
        raise Interrupted(result) from None
    return with_label_shares(TableResult.of(result), found)


def _apart(
    scenario: Setting,
    methods: Sequence[Algorithm],
    baselines: Sequence[str],
    engine: str,
    task_of: Callable[..., Task],
) -> Assignment | None:
    """Return the work of devices that learn like the algorithms' but never have a contact.

    Returns None where the baselines already hold such devices, or are not asked for.
    """
    if not isinstance(scenario, Scenario):
        return None
    own = learners_apart(methods, scenario, baselines)
    setting = without_contacts(scenario)
    return (
        assign_engines(setting, [_as_run(m, setting) for m in own], engine, task_of)
        if own
        else None
    )


def _as_run(method: Algorithm, setting: Setting) -> Algorithm:
    return with_faults(method, setting) if isinstance(setting, Scenario) else method


def _with_clean(setting: Setting, *, clean: bool) -> list[Setting]:
    """Return the setting and, if it has faults and `clean` is true, the same without faults."""
    if not (clean and isinstance(setting, Scenario) and setting.faults):
        return [setting]
    return [setting, setting.model_copy(update={"faults": ()})]


def _asks(method: Setup | Algorithm) -> bool:
    return isinstance(method, Setup) and bool(method.left_open)


def _raced(
    setting: Setting,
    methods: Sequence[Setup | Algorithm],
    report: Report | None,
    how: Mapping[str, Any],
) -> tuple[list[Algorithm], Sequence[Any], Report | None]:
    """Race for what is to be chosen; return the methods, the races, and how the run is to report.

    Each race is as large a share of the work as the run.
    """
    parts = 1 + sum(map(_asks, methods))
    if parts == 1:
        return list(map(resolve, methods)), (), report
    told = iter(parts_of(report or ignored, [1] * parts))
    # Rooms above this one, which run what they try by this very function.
    racing, choosing = (
        import_module(f"paofed.experiments.race.{room}") for room in ("race", "choosing")
    )
    choice = choosing.choose(
        methods, lambda one: racing.race(setting, one, report=next(told), **how)
    )
    return choice.methods, choice.races, next(told)


def _starts(scenario: Setting, methods: Sequence[Algorithm], count: int) -> Starts:
    """Return when newcomers join; impossible requests are refused before the long work."""
    if isinstance(scenario, Scenario) and scenario.faults:
        raise InputError(
            f"cold_starts is {count}, but they are for fleets without faults: expected 0",
            key="cold_starts",
        )
    starts = starts_of(read(scenario.table), count)
    if not methods:
        raise InputError(
            f"cold_starts is {count}, but they are for algorithms that can be compiled, and none "
            f"of these can: add one that can, or take 0",
            key="cold_starts",
        )
    return starts


def _fill(
    gathering: Gathering, work: Assignment, runs: range, crew: Crew, stages: Iterator[Report]
) -> None:
    """Compute all runs of some work, one engine after the other."""
    for (name, task), report in zip(work.tasks.items(), stages, strict=False):
        for job in computed(name, task, runs, crew, report):
            for index, record in job.records.items():
                gathering.put(index, work.which(name), record, job.cpu)


def _kept(gathered: Sequence[Gathering]) -> list[int]:
    """Return the runs that are finished both with and without faults."""
    return sorted(set.intersection(*(set(gathering.finished) for gathering in gathered)))


def _found(
    gathered: Sequence[Gathering],
    provenance: Mapping[str, Any],
    scenario: Setting,
    every: int,
    races: Sequence[Any],
) -> Result:
    """Make a result of the runs that every engine has finished, with and without faults."""
    kept, results = _kept(gathered), list[Result]()
    about = {**provenance, "cpus": _cpus(gathered, kept), "runs_finished": kept}
    for gathering in gathered:
        records = gathering.arrays(kept)
        judged = Tally(*(records.pop(name) for name in Tally._fields))
        of_runs = {"provenance": about, "ticks": curve_ticks(scenario.ticks, every), **records}
        results.append(
            over_table(scenario, judged, **of_runs)
            if isinstance(scenario, Scenario) and isinstance(scenario.stream, Table)
            else WorldResult(**of_runs)
        )
    result, *clean = results
    for race in races:
        result = race.kept_in(result)
    return replace(result, clean=Clean.of(*clean)) if clean else result


def _cpus(gathered: Sequence[Gathering], kept: Sequence[int]) -> dict[str, list[int]]:
    """Return the runs by the processor that computed them.

    A run that several types of processor computed is listed under all their names together.
    """
    found: dict[str, list[int]] = {}
    for index in kept:
        types = set.union(*(gathering.cpus(index) for gathering in gathered))
        found.setdefault(" and ".join(sorted(types)), []).append(index)
    return dict(sorted(found.items()))


def _beside(
    result: Result,
    scenario: Setting,
    baselines: Sequence[str],
    apart: Assignment | None,
    newcomers: Sequence[Algorithm],
    starts: Starts | None,
    crew: Crew,
    progress: "_Progress",
) -> Result:
    """Add baselines, newcomers and devices apart to the result over a table.

    This machine computes baselines and newcomers; the crew computes devices apart.
    """
    if not isinstance(result, TableResult) or not isinstance(scenario, Scenario):
        return result
    workers = crew.workers or 1
    try:
        if baselines:
            result = with_baselines(result, scenario, baselines, workers, progress.stage(-3))
        if apart is not None:
            result = _judged_apart(result, scenario.table, apart, crew, progress.stage(-1))
        if starts is not None:
            joined = newcomers, starts, workers, progress.stage(-2)
            result = with_cold_starts(result, scenario, *joined)
    except KeyboardInterrupt:
        raise Interrupted(result) from None
    return result


def _judged_apart(
    result: TableResult, table: Table, apart: Assignment, crew: Crew, report: Report
) -> TableResult:
    """Run devices apart in the worlds of a result, and add them to the result."""
    first, runs = result.provenance["first_run"], result.runs
    gathering = Gathering(range(first, first + runs), len(apart.names))
    _fill(gathering, apart, range(first, first + runs), crew, repeat(report))
    records = gathering.arrays(gathering.finished)
    return with_apart(result, table, apart.names, Tally(*(records[name] for name in Tally._fields)))


def _check(scenario: Setting, methods: Sequence[Algorithm], engine: str, precision: str) -> None:
    engines = preferred(engine)
    if precision not in get_args(Precision):
        raise InputError(unknown("precision", str(precision), get_args(Precision)))
    if not methods:
        raise AlgorithmError("no algorithm was given: name at least one")
    names = [method.name for method in methods]
    for name in names:
        if names.count(name) > 1:
            raise AlgorithmError(f"{name} is given twice: give each algorithm a name of its own")
    for method in methods:
        method.require_fits(scenario.features)
        if isinstance(scenario, Scenario) and scenario.start == "calibration":
            some = np.ones(scenario.features)  # refuses a wrong size now, not after compiling
            server_from(method.name, method.server, scenario.clients, some)
            device_from(method.name, method.learner, some)
    size = 4 if precision == "float32" else 8
    if not engine_of(engines[0]).on_card:
        require_memory(
            size * scenario.clients * scenario.features * len(methods),
            f"{scenario.clients} clients with {scenario.features} features, "
            f"{len(methods)} algorithms,",
        )
    if isinstance(scenario.stream, Table):
        samples = len(read(scenario.stream).y)
        require_memory(
            2 * size * samples * len(methods),
            f"the errors of {len(methods)} algorithms on each of {samples:,} samples",
            "run fewer of them at a time",
        )


def _check_kinds(same_world: object, clean: object, report: object) -> None:
    for key, value in (("same_world", same_world), ("clean", clean)):
        if not isinstance(value, bool):
            raise InputError(f"{key} is {value!r}: expected True or False", key=key)
    if report is not None and not callable(report):
        raise InputError(f"report is {report!r}: expected a function", key="report")


class _Progress:
    """Adds up the progress of all stages, weighted by how long they take."""

    def __init__(self, report: Report | None, shares: Sequence[float], runs: int) -> None:
        self._report = report
        self._unit = 1.0 / (runs * sum(shares))
        self._shares = shares
        self._done = 0.0
        self._lock = threading.Lock()

    def stage(self, stage: int) -> Report:
        """Return the function to which a stage reports the parts of runs that it has done."""
        return lambda part: self._add(part * self._shares[stage])

    def _add(self, work: float) -> None:
        with self._lock:
            self._done = min(1.0, self._done + work * self._unit)
            if self._report is not None:
                self._report(self._done)
