"""One run on the reference engine: what a worker process does.

It imports no compiler, so that a worker is ready soon.
"""

from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from paofed.algorithms import Algorithm
from paofed.core.arrays import FloatArray
from paofed.simulate.engines import reference
from paofed.simulate.results.progressive import per_sample, tally
from paofed.simulate.results.result import RunRecord, curve_ticks
from paofed.world.table.spec import Table
from paofed.world.trace import Trace
from paofed.world.worlds import Setting, trace_of


class _Keyed(TypedDict):
    """Whose random numbers an algorithm draws."""

    seed: int
    world: int
    run: int


def run_reference(
    scenario: Setting, methods: Sequence[Algorithm], *, seed: int, world: int, run: int, every: int
) -> RunRecord:
    """Run algorithms over one run of one world on the reference engine, as `fast.run` does."""
    trace = trace_of(scenario, world, run, seed=seed)
    keyed: _Keyed = {"seed": seed, "world": world, "run": run}
    records = [_replayed(scenario, trace, method, every, keyed) for method in methods]
    return RunRecord(*(np.stack(parts) for parts in zip(*records, strict=True)))


def _replayed(
    scenario: Setting, trace: Trace, method: Algorithm, every: int, keyed: _Keyed
) -> RunRecord:
    """One algorithm over a trace, without the axis of the algorithms."""
    points = curve_ticks(scenario.ticks, every)
    squared: list[FloatArray] = []
    outcome = reference.replay(
        trace,
        method,
        step_size=scenario.step_size,
        max_age=scenario.max_age,
        **keyed,
        watch=lambda info: squared.append(info.squared),
    )
    errors = device_errors = np.zeros((2, 0))
    mse = outcome.mse[points]
    if isinstance(scenario.stream, Table):
        scored = scenario.stream.read().scored
        judged = [tally(e, trace.has_data, points, scored) for e in np.stack(squared, 1)]
        errors, device_errors = (np.stack(parts) for parts in zip(*judged, strict=True))
        mse = per_sample(errors[1], trace.has_data, points)
    return RunRecord(
        mse=mse,
        traffic=outcome.traffic[:, points],
        models=outcome.server_model,
        errors=errors,
        device_errors=device_errors,
    )
