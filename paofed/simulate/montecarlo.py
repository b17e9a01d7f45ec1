"""Many runs of several algorithms: spread over workers, reported as they go, kept when stopped."""

import os
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import count, repeat
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np

from paofed.algorithms import Algorithm
from paofed.algorithms.outside import split
from paofed.algorithms.spec import asks_for_choice, resolve
from paofed.core.metrics import curve_ticks
from paofed.core.random import key_of
from paofed.core.starting import device_from, server_from
from paofed.errors import AlgorithmError, InputError, PaofedWarning, unknown, whole
from paofed.memory import require_memory
from paofed.simulate.engines import ENGINES, LAST, USUAL, Precision, engine_of, preferred
from paofed.simulate.engines.task import Task
from paofed.simulate.faulty import with_faults
from paofed.simulate.results.gathering import Gathering
from paofed.simulate.results.places import Tally
from paofed.simulate.results.result import Clean, Result, usual_every, versions
from paofed.simulate.spread.crew import Crew, checked
from paofed.simulate.spread.spreading import computed
from paofed.simulate.stopping import Interrupted, Report
from paofed.simulate.table.baselines import USUAL as USUAL_BASELINES
from paofed.simulate.table.baselines import chosen as chosen_baselines
from paofed.simulate.table.coldstart import Starts, may_join, starts_of, with_cold_starts
from paofed.simulate.table.comparisons import about, with_apart, with_baselines, with_errors
from paofed.simulate.table.learners_alone import learners_apart, without_contacts
from paofed.world.scenario import Scenario
from paofed.world.table.door import read
from paofed.world.table.spec import Table
from paofed.world.worlds import MakesTrace, Setting, Worlds, require_room, setting_of

# How long the baselines of a table take, relative to one algorithm: for honest progress.
_BESIDE = 40.0


def run(
    scenario: Setting | Worlds | MakesTrace | str | Path,
    methods: str | Algorithm | Sequence[str | Algorithm],
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
    that the result says what the faults cost.

    `workers` threads or processes compute (None: one for each core). An `executor` (as in
    concurrent.futures) computes instead of this machine's cores, which still compute the baselines
    and cold starts of a table. A `store` is a folder of finished parts: a second start, or another
    machine with the same folder, computes only the missing parts. `report` is called with the share
    of the work that is done. An interrupt (Ctrl-C) ends the work: it raises Interrupted, whose
    `result` holds the finished runs.
    """
    setting, asked = setting_of(scenario), _listed(methods)
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
        raise InputError(f"baselines is {baselines!r}: expected none, since only tables have them")
    chosen, races, report = _raced(setting, asked, report, how)
    _check(setting, chosen, engine, precision)
    require_room(setting, min(runs, workers))
    common = (seed, same_world, every, precision, indices, workers)
    work = [
        _shared_out(world, [_as_run(method, world) for method in chosen], engine, common)
        for world in _with_clean(setting, clean=clean)
    ]
    for remark in dict.fromkeys(_remarks(setting, chosen, work[0])):
        warnings.warn(remark, PaofedWarning, stacklevel=2)
    engines = work[0].engines
    newcomers = [method for method in chosen if may_join(method)] if cold_starts else []
    starts = _starts(setting, newcomers, cold_starts) if cold_starts else None
    apart = _apart(setting, chosen, beside, engine, common) if table else None
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
    shares = [_cost([one]) for one in tasks]
    shares += [_BESIDE * len(beside) / len(USUAL_BASELINES) if table else 0.0]
    shares += [len(newcomers) * len(starts.devices) if starts else 0.0]
    shares += [_cost(apart.tasks.items()) if apart else 0.0]
    progress = _Progress(report, shares, runs)
    gathered = [Gathering(indices, len(chosen)) for _ in work]
    found = partial(_found, gathered, provenance, setting, every, races)
    stages = map(progress.stage, range(len(tasks)))
    try:
        for part, gathering in zip(work, gathered, strict=True):
            _fill(gathering, part, indices, crew, stages)
    except KeyboardInterrupt:
        raise Interrupted(found() if _kept(gathered) else None) from None
    return _beside(found(), setting, beside, apart, newcomers, starts, crew, progress)


class _Work(NamedTuple):
    """Algorithms over one setting, each on an engine."""

    names: list[str]  # the names of the algorithms
    engines: list[str]  # the engine of each algorithm
    refused: dict[str, str]  # by algorithm: why the engine that was asked for refused it
    tasks: dict[str, Task]  # the task of each engine

    def which(self, engine: str) -> list[int]:
        """Return the indices of the algorithms that an engine runs, in the order of its task."""
        return [number for number, name in enumerate(self.engines) if name == engine]


def _shared_out(
    setting: Setting, methods: Sequence[Algorithm], engine: str, common: tuple[Any, ...]
) -> _Work:
    """Give every algorithm an engine."""
    engines: list[str] = []
    refused: dict[str, str] = {}
    for method in methods:
        taken, reason = _taken(setting, method, preferred(engine))
        engines.append(taken)
        refused |= {method.name: reason} if reason else {}
    # In the order of ENGINES, the slow engine last: an interrupt keeps the runs that all engines
    # have finished.
    of_engine: dict[str, list[Algorithm]] = {name: [] for name in ENGINES if name in engines}
    for method, name in zip(methods, engines, strict=True):
        of_engine[name].append(method)
    tasks = {name: Task(setting, own, *common) for name, own in of_engine.items()}
    return _Work([method.name for method in methods], engines, refused, tasks)


def _taken(setting: Setting, method: Algorithm, engines: Sequence[str]) -> tuple[str, str | None]:
    """Choose an engine for an algorithm; say why not the first of them, where that is so."""
    why = None
    for name in engines:
        engine = engine_of(name)
        reason = engine.refuses(method) or engine.refuses_setting(setting)
        if reason is None:
            return name, why
        why = why or reason
    if engine_of(engines[-1]).on_card:  # whoever asks for a card alone does not want to wait
        raise AlgorithmError(
            f"{method.name}: {why}; or use the {USUAL} engine, or {engines[-1]},{USUAL} to have it "
            f"take what the card cannot"
        )
    return LAST, why


def _remarks(setting: Setting, methods: Sequence[Algorithm], work: _Work) -> Iterator[str]:
    """Yield what people should know before they wait: slow engines, servers that forget.

    Algorithms are named without their options, so that dozens of candidates say the same.
    """
    for method, engine in zip(methods, work.engines, strict=True):
        name, _ = split(method.name)
        if reason := work.refused.get(method.name):
            yield f"the {engine} engine takes {name}: {reason}"
        if forgets := method.forgets(setting.max_age):
            yield f"{name} {forgets}"


def _cost(tasks: Iterable[tuple[str, Task]]) -> float:
    """Return how long tasks take, in units of the usual engine, for honest progress."""
    return sum(engine_of(name).cost * len(task.methods) for name, task in tasks)


def _apart(
    scenario: Setting,
    methods: Sequence[Algorithm],
    baselines: Sequence[str],
    engine: str,
    common: tuple[Any, ...],
) -> _Work | None:
    """Return the work of devices that learn like the algorithms' but never have a contact.

    Returns None where the baselines already hold such devices, or are not asked for.
    """
    if not isinstance(scenario, Scenario):
        return None
    own = learners_apart(methods, scenario, baselines)
    setting = without_contacts(scenario)
    return _shared_out(setting, [_as_run(m, setting) for m in own], engine, common) if own else None


def _as_run(method: Algorithm, setting: Setting) -> Algorithm:
    return with_faults(method, setting) if isinstance(setting, Scenario) else method


def _with_clean(setting: Setting, *, clean: bool) -> list[Setting]:
    """Return the setting and, if it has faults and `clean` is true, the same without faults."""
    if not (clean and isinstance(setting, Scenario) and setting.faults):
        return [setting]
    return [setting, setting.model_copy(update={"faults": ()})]


def _listed(methods: str | Algorithm | Iterable[str | Algorithm]) -> list[str | Algorithm]:
    """Return the methods as a list; refuse what is no method, before anything that takes long."""
    listed = [methods] if isinstance(methods, str) or not isinstance(methods, Iterable) else methods
    return [method if _asks(method) else resolve(method) for method in listed]


def _asks(method: str | Algorithm) -> bool:
    return isinstance(method, str) and asks_for_choice(method)


def _raced(
    setting: Setting,
    methods: Sequence[str | Algorithm],
    report: Report | None,
    how: Mapping[str, Any],
) -> tuple[list[Algorithm], Sequence[Any], Report | None]:
    """Race for what is to be chosen; return the methods, the races, and how the run is to report.

    Each race is as large a share of the work as the run.
    """
    parts = 1 + sum(map(_asks, methods))
    if parts == 1:
        return list(map(resolve, methods)), (), report
    number = count()

    def part() -> Report:
        done = next(number)
        return lambda share: report((done + share) / parts) if report is not None else None

    # Rooms above this one, which run what they try by this very function.
    racing, choosing = (import_module(f"paofed.racing.{room}") for room in ("race", "choosing"))
    choice = choosing.choose(methods, lambda word: racing.race(setting, word, report=part(), **how))
    return list(map(resolve, choice.methods)), choice.races, part()


def _starts(scenario: Setting, methods: Sequence[Algorithm], count: int) -> Starts:
    """Return when newcomers join; impossible requests are refused before the long work."""
    if isinstance(scenario, Scenario) and scenario.faults:
        raise InputError("cold starts are for fleets without faults: ask for no cold starts")
    starts = starts_of(read(scenario.table), count)
    if not methods:
        raise InputError(
            "cold starts are for windows, LMS steps and the paper's server, and none of these "
            "algorithms has them: add one that has, or ask for no cold starts"
        )
    return starts


def _fill(
    gathering: Gathering, work: _Work, runs: range, crew: Crew, stages: Iterator[Report]
) -> None:
    """Compute all runs of some work, one engine after the other."""
    for (name, task), report in zip(work.tasks.items(), stages, strict=False):
        for index, record, cpu in computed(name, task, runs, crew, report):
            gathering.put(index, work.which(name), record, cpu)


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
    kept, results = _kept(gathered), []
    about = {**provenance, "cpus": _cpus(gathered, kept), "runs_finished": kept}
    for gathering in gathered:
        records = gathering.arrays(kept)
        judged = Tally(*(records.pop(name) for name in Tally._fields))
        ticks = curve_ticks(scenario.ticks, every)
        result = Result(provenance=about, ticks=ticks, **records)
        if isinstance(scenario.stream, Table):
            result = with_errors(result, scenario.stream, judged)
        results.append(result)
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
    apart: _Work | None,
    newcomers: Sequence[Algorithm],
    starts: Starts | None,
    crew: Crew,
    progress: "_Progress",
) -> Result:
    """Add baselines, newcomers and devices apart to the result over a table.

    This machine computes baselines and newcomers; the crew computes devices apart.
    """
    if not isinstance(scenario, Scenario) or not isinstance(scenario.stream, Table):
        return result
    workers = crew.workers or 1
    try:
        if baselines:
            result = with_baselines(result, scenario, baselines, workers, progress.stage(-3))
        if apart is not None:
            result = _judged_apart(result, scenario.stream, apart, crew, progress.stage(-1))
        if starts is not None:
            joined = newcomers, starts, workers, progress.stage(-2)
            result = with_cold_starts(result, scenario, *joined)
    except KeyboardInterrupt:
        raise Interrupted(result) from None
    return result


def _judged_apart(result: Result, table: Table, apart: _Work, crew: Crew, report: Report) -> Result:
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
            raise InputError(f"{key} is {value!r}: expected True or False")
    if report is not None and not callable(report):
        raise InputError(f"report is {report!r}: expected a function")


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
