"""The GPU engine as the engines' door knows it: as many runs at a time as the card takes."""

from collections.abc import Iterator, Sequence
from itertools import islice

from paofed.algorithms import Algorithm
from paofed.algorithms.base import REPLAYED
from paofed.algorithms.setup import resolve
from paofed.core.metrics import curve_ticks
from paofed.errors import AlgorithmError, InputError
from paofed.simulate.engines import Engine, Precision
from paofed.simulate.engines.fast import family
from paofed.simulate.engines.gpu.card import compilation_noted, missing, the_card
from paofed.simulate.engines.gpu.layout import DrawnRuns, TracedRuns
from paofed.simulate.engines.gpu.simulation import RunsOnCard, plan_of, records, settled_rows
from paofed.simulate.engines.task import Task
from paofed.simulate.results.outcome import Outcome, RunRecord
from paofed.simulate.stopping import Report
from paofed.world.faults import FaultyReadings
from paofed.world.realize import realize
from paofed.world.scenario import Scenario
from paofed.world.table.spec import Table
from paofed.world.trace import Trace
from paofed.world.worlds import Setting, SizedWorlds

_OUTSIDE = (
    "it is not windows, LMS steps and the paper's server, which are all that the kernels know"
)
_WHOLE = "newcomers get the whole model, which the kernels do not know"
_LABELS = "labels are rare or late, which the kernels do not know"


def refuses(method: Algorithm) -> str | None:
    """Say why the card cannot run an algorithm, or None."""
    return missing() or (None if family.in_family(method) else _OUTSIDE)


def refuses_setting(setting: Setting) -> str | None:
    """Say why the card cannot run any algorithm in a setting, or None."""
    if isinstance(setting.stream, Table):
        return (
            f"{setting.name} is a table, whose models are judged on every sample, not on the card"
        )
    if not isinstance(setting, Scenario):
        return None
    if setting.labels is not None:
        return _LABELS
    return _WHOLE if setting.newcomers == "whole" else None


def replay(
    trace: Trace,
    method: str | Algorithm,
    *,
    seed: int = 0,  # noqa: ARG001 (an engine's interface; the family draws no numbers)
) -> Outcome:
    """Run an algorithm over a trace in float64, as the reference engine's `replay` does."""
    settled = family.settle(resolve(method), *REPLAYED)
    if (reason := refuses(settled)) is not None:
        raise AlgorithmError(f"{settled.name}: {reason}; or use the fast engine")
    if trace.newcomers_whole[0]:
        raise InputError(f"the gpu engine: {_WHOLE}; use the fast engine")
    runs = _traced([trace], "float64")
    (found,) = records(runs, settled_rows(runs, [settled], "float64"), 1)
    return Outcome(server_model=found.models[0], mse=found.mse[0], traffic=found.traffic[0])


def on_the_card(task: Task, report: Report) -> Iterator[tuple[int, RunRecord]]:
    """Run as many runs at a time as the card takes; an interrupt keeps the finished ones."""
    the_card()
    scenario = task.scenario
    if (reason := refuses_setting(scenario)) is not None:
        raise InputError(f"the gpu engine: {reason}; use the fast engine")
    methods = [family.settle(m, scenario.step_size, scenario.max_age) for m in task.methods]
    left, at_once = iter(task.runs), 1
    while indices := list(islice(left, at_once)):
        runs = _runs(task, indices)
        rows = settled_rows(runs, methods, task.precision)
        points = curve_ticks(scenario.ticks, task.every).size
        if at_once == 1 and isinstance(runs, DrawnRuns):
            at_once = plan_of(runs, rows, points).at_once()
            indices += islice(left, at_once - 1)
            runs = _runs(task, indices)
        found = records(runs, rows, task.every, report)
        yield from zip(indices, found, strict=True)


def _runs(task: Task, indices: list[int]) -> RunsOnCard:
    """Draw runs of a scenario on the card; copy worlds of one's own, and faulty ones, to it."""
    places = [task.place(index) for index in indices]
    setting = task.scenario
    if isinstance(setting, SizedWorlds):
        return _traced([setting.trace(p["world"], p["run"]) for p in places], task.precision)
    if setting.numbered(FaultyReadings):
        traces = [realize(setting, p["world"], p["run"], seed=p["seed"]) for p in places]
        return _traced(traces, task.precision)
    return DrawnRuns(setting, places, task.precision)


def _traced(traces: Sequence[Trace], precision: Precision) -> TracedRuns:
    if any(trace.sparse().labels is not None for trace in traces):
        raise InputError(f"the gpu engine: {_LABELS}; use the fast engine")
    return TracedRuns(traces, precision)


ENGINE = Engine(
    refuses=refuses,
    refuses_setting=refuses_setting,
    run=on_the_card,
    replay=replay,
    cost=0.01,
    on_card=True,
    announced=compilation_noted,
)
