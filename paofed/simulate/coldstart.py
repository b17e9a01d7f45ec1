"""Cold start: what a device gains that joins late, having learned nothing, each in turn.

Until it joins, the fleet learns without it. Then it takes part, beginning with the server's whole
model (`whole`: one download of D numbers) or with zeros (`windows`: the server's model comes with
its contacts, a window at a time). Beside them, a device that never has a contact, and one that
repeats its last value.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

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

_DAY, _WEEK, _MONTH = 86_400.0, 604_800.0, 2_592_000.0  # seconds
_OF_HOURS = (24, 168, 720)  # ticks of the same, where it is not known how long they last


def with_cold_starts(
    result: Result,
    scenario: Scenario,
    methods: Sequence[Algorithm],
    starts: int,
    report: Callable[[float], None],
) -> Result:
    """Let every device of a table join at so many starts, in the world of every run of a result.

    The algorithms must be of the fast engine's family. `report` hears of parts of runs.
    """
    readings = scenario.table.read()
    horizons = horizons_of(readings)
    begins = starts_of(readings, horizons, starts)
    settled = [settle(method, scenario.step_size, scenario.max_age) for method in methods]
    joined, alone = [], []
    for world, run in result.places:
        trace = realize(scenario, world, run, seed=result.provenance["seed"])
        done = partial(report, 1 / trace.clients)
        job = partial(_newcomer, trace, settled, begins, horizons, done)
        joined.append(np.stack(_on_threads(job, trace.clients), axis=-2))
        with one_thread_algebra():
            alone.append(_alone(trace, begins, horizons, scenario.step_size))
    repeated = np.where(readings.has_data, (readings.y - last_value(readings.y)) ** 2, 0.0)
    found = ColdStart(
        algorithms=np.array([method.name for method in methods]),
        starts=begins,
        horizons=horizons,
        errors=np.stack(joined),
        alone=np.stack(alone),
        last_value=_summed(repeated, begins, horizons),
        samples=_summed(readings.has_data.astype(np.int64), begins, horizons),
    )
    return replace(result, cold_start=found)


def _on_threads(job: Callable[[int], FloatArray], devices: int) -> list[FloatArray]:
    """One job per device; an interrupt does not wait for those that are not begun."""
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        return list(pool.map(job, range(devices)))
    finally:
        pool.shutdown(cancel_futures=True)


def horizons_of(readings: "Readings") -> IntArray:
    """A day, a week and thirty days in ticks; those of hours where a tick has no length."""
    line, ticks = readings.timeline, len(readings.has_data) - readings.scored
    wanted = [round(span / line.tick) for span in (_DAY, _WEEK, _MONTH)]
    fitting = np.unique([h for h in (wanted if line.calendar else _OF_HOURS) if 0 < h <= ticks])
    if not fitting.size:
        raise InputError(
            "the table is too short for a cold start: errors count for less than a day"
        )
    return fitting


def starts_of(readings: "Readings", horizons: IntArray, starts: int) -> IntArray:
    """Ticks evenly over the time that counts, each with the longest horizon after it."""
    last = len(readings.has_data) - int(horizons[-1])
    return np.unique(np.linspace(readings.scored, last, starts).astype(np.int64))


def _newcomer(
    trace: Trace,
    methods: Sequence[Algorithm],
    begins: IntArray,
    horizons: IntArray,
    done: Callable[[], None],
    device: int,
) -> FloatArray:
    """Errors (A, 2, S, H) of one device that joins at each of the ticks `begins`."""
    joined = layout.traced(trace)
    others = np.arange(trace.clients) != device
    fleet = Simulation.over(trace, methods, "float32")
    fleet.nature = joined._replace(
        has_data=trace.has_data & others, available=trace.available & others
    )
    errors = np.empty((len(methods), len(WAYS), begins.size, horizons.size))
    now = 0
    for s, begin in enumerate(begins.tolist()):
        fleet.advance(now, begin)
        now = begin
        for way in range(len(WAYS)):
            newcomer = fleet.branch(joined)
            if WAYS[way] == "whole":
                newcomer.download(device)
            for h, end in enumerate((begin + horizons).tolist()):
                newcomer.advance(begin if h == 0 else begin + int(horizons[h - 1]), end)
                errors[:, way, s, h] = newcomer.model.judged[:, 0, device]
    done()
    return errors


# A step size that is too large overflows; the errors then say so.
@np.errstate(over="ignore", invalid="ignore")
def _alone(trace: Trace, begins: IntArray, horizons: IntArray, step_size: float) -> FloatArray:
    """Errors (S, K, H) of devices that begin with nothing and have no contact."""
    errors = np.empty((begins.size, trace.clients, horizons.size))
    for s, begin in enumerate(begins.tolist()):
        span = slice(begin, begin + int(horizons[-1]))
        newcomers = Alone(trace.clients, trace.features, step_size)
        e = newcomers.follow(trace.fourier_map(trace.x[span]), trace.y[span], trace.has_data[span])
        errors[s] = np.cumsum(e**2, axis=0)[horizons - 1].T
    return errors


def _summed(values: NDArray[Any], begins: IntArray, horizons: IntArray) -> NDArray[Any]:
    """Sum values (N, K) over the horizons after each start: (S, K, H)."""
    spans = [values[begin : begin + int(horizons[-1])] for begin in begins.tolist()]
    return np.stack([np.cumsum(span, axis=0)[horizons - 1].T for span in spans])
