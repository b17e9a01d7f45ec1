"""Cold start: what a device gains that joins late, having learned nothing, each in turn.

Until it joins, the fleet learns without it. Then it takes part, beginning with the server's whole
model (`whole`: one download of D numbers) or with zeros (`windows`: the server's model comes with
its contacts, a window at a time). Beside them, a device that never has a contact, and one that
repeats its last value.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.algorithms import Algorithm
from paofed.core.arrays import FloatArray, IntArray
from paofed.errors import InputError
from paofed.simulate import layout
from paofed.simulate.baselines import Alone, last_value
from paofed.simulate.fast import Simulation, settle
from paofed.simulate.progressive import WAYS, ColdStart
from paofed.simulate.result import Result
from paofed.simulate.tables import one_thread_algebra
from paofed.world.realize import realize
from paofed.world.scenario import Scenario
from paofed.world.trace import Trace

if TYPE_CHECKING:
    from paofed.world.table.readings import Readings

_SPANS = (86_400.0, 604_800.0, 2_592_000.0)  # a day, a week, thirty days, in seconds
_OF_HOURS = (24, 168, 720)  # ticks of the same, where it is not known how long they last
_MOST_NEWCOMERS = 24  # each of them takes as long as a run of the whole fleet


class Starts(NamedTuple):
    """Who joins when, and for how long it is watched."""

    devices: IntArray  # (K,)
    begins: IntArray  # (S,) ticks
    horizons: IntArray  # (H,) ticks, rising


def starts_of(readings: "Readings", count: int) -> Starts:
    """Ticks evenly over the time that counts, each with the longest horizon after it.

    Not its very beginning, where the fleet may know nothing yet. Of many devices, some join.
    """
    line, ticks = readings.timeline, len(readings.has_data) - readings.scored
    wanted = [round(span / line.tick) for span in _SPANS] if line.calendar else _OF_HOURS
    horizons = np.unique([h for h in wanted if 0 < h < ticks])
    if not horizons.size:
        shortest = "a day" if line.calendar else f"{_OF_HOURS[0]} ticks"
        raise InputError(f"the table is too short for cold starts: expected more than {shortest}")
    evenly = np.linspace(readings.scored, len(readings.has_data) - horizons[-1], count + 1)[1:]
    there = np.flatnonzero(readings.has_data.any(axis=0))
    begins = np.unique(np.ceil(evenly).astype(np.int64))
    return Starts(there[:: -(-there.size // _MOST_NEWCOMERS)], begins, horizons)


def with_cold_starts(
    result: Result,
    scenario: Scenario,
    methods: Sequence[Algorithm],
    starts: Starts,
    workers: int,
    report: Callable[[float], None],
) -> Result:
    """Let devices of a table join late, each in turn, in the world of every run of a result.

    The algorithms must be of the fast engine's family. `report` hears of parts of runs.
    """
    readings = scenario.table.read()
    settled = [settle(method, scenario.step_size, scenario.max_age) for method in methods]
    joined, alone = [], []
    for world, run in result.places:
        trace = realize(scenario, world, run, seed=result.provenance["seed"])
        done = partial(report, 1 / len(starts.devices))
        job = partial(_newcomer, trace, settled, starts, done)
        joined.append(np.stack(_on_threads(job, starts.devices, workers), axis=-2))
        with one_thread_algebra():
            alone.append(_alone(trace, starts, scenario.step_size))
    repeated = readings.y - last_value(readings.y, readings.y_before)
    found = ColdStart(
        algorithms=np.array([method.name for method in methods]),
        devices=starts.devices,
        starts=starts.begins,
        horizons=starts.horizons,
        errors=np.stack(joined),
        alone=np.stack(alone),
        last_value=_summed(np.where(readings.has_data, repeated**2, 0.0), starts),
        samples=_summed(readings.has_data.astype(np.int64), starts),
    )
    return replace(result, cold_start=found)


def _on_threads(
    job: Callable[[int], FloatArray], devices: IntArray, workers: int
) -> list[FloatArray]:
    """One job per device; an interrupt does not wait for those that are not begun."""
    pool = ThreadPoolExecutor(workers)
    try:
        return list(pool.map(job, devices.tolist()))
    finally:
        pool.shutdown(cancel_futures=True)


def _newcomer(
    trace: Trace,
    methods: Sequence[Algorithm],
    starts: Starts,
    done: Callable[[], None],
    device: int,
) -> FloatArray:
    """Errors (A, 2, S, H) of one device that joins at each of the starts."""
    joined = layout.traced(trace)
    others = np.arange(trace.clients) != device
    # Made over the whole trace, for the ages of all messages; then nobody hears of the device.
    fleet = Simulation.over(trace, methods, "float32")
    fleet.nature = joined._replace(
        has_data=trace.has_data & others, available=trace.available & others
    )
    errors = np.empty((len(methods), len(WAYS), starts.begins.size, starts.horizons.size))
    for s, begin in enumerate(starts.begins.tolist()):
        fleet.advance(int(starts.begins[s - 1]) if s else 0, begin)
        for w, way in enumerate(WAYS):
            newcomer = fleet.branch(joined)
            if way == "whole":
                newcomer.download(device)
            stops = begin + np.append(0, starts.horizons)
            for h, (now, end) in enumerate(pairwise(stops.tolist())):
                newcomer.advance(now, end)
                errors[:, w, s, h] = newcomer.model.judged[:, 0, device]
    done()
    return errors


# A step size that is too large overflows; the errors then say so.
@np.errstate(over="ignore", invalid="ignore")
def _alone(trace: Trace, starts: Starts, step_size: float) -> FloatArray:
    """Errors (S, K, H) of devices that begin with nothing and have no contact."""
    squared = np.empty((starts.begins.size, starts.devices.size, starts.horizons.size))
    for s, begin in enumerate(starts.begins.tolist()):
        span = slice(begin, begin + int(starts.horizons[-1]))
        who = starts.devices
        x, y, there = trace.x[span, who], trace.y[span, who], trace.has_data[span, who]
        errors = Alone(who.size, trace.features, step_size).follow(trace.fourier_map(x), y, there)
        squared[s] = np.cumsum(errors**2, axis=0)[starts.horizons - 1].T
    return squared


def _summed(values: NDArray[Any], starts: Starts) -> NDArray[Any]:
    """Sum values (N, all devices) over the horizons after each start: (S, K, H)."""
    mine, longest = values[:, starts.devices], int(starts.horizons[-1])
    spans = [mine[begin : begin + longest] for begin in starts.begins.tolist()]
    return np.stack([np.cumsum(span, axis=0)[starts.horizons - 1].T for span in spans])
