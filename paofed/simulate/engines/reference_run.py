"""One run of a scenario on the reference engine: what a worker process does.

This module imports no compiler, so that a worker is ready soon.
"""

from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from paofed.algorithms import Algorithm
from paofed.core.arrays import IntArray
from paofed.core.metrics import curve_ticks
from paofed.core.parts import keys_of
from paofed.simulate.engines import reference
from paofed.simulate.results.outcome import RunRecord
from paofed.simulate.results.places import Places, Tally
from paofed.world.realize import half_width_of, world_key
from paofed.world.realize_samples import realize_samples
from paofed.world.scenario import Scenario
from paofed.world.table.door import read
from paofed.world.table.spec import Table
from paofed.world.trace import SparseTrace, Trace
from paofed.world.worlds import Setting, trace_of


class _Keyed(TypedDict):
    """Seed, world and run of the random numbers that an algorithm draws."""

    seed: int
    world: int
    run: int


def run_reference(
    scenario: Setting, methods: Sequence[Algorithm], *, seed: int, world: int, run: int, every: int
) -> RunRecord:
    """Run algorithms over one run of one world on the reference engine, as `fast.run` does."""
    points, keyed = curve_ticks(scenario.ticks, every), _Keyed(seed=seed, world=world, run=run)
    if isinstance(scenario, Scenario) and isinstance(scenario.stream, Table):
        listed = realize_samples(scenario, world, run, seed=seed)
        records = [_judged(scenario, listed, method, points, keyed) for method in methods]
    else:
        trace = trace_of(scenario, world, run, seed=seed)
        records = [_replayed(scenario, trace, method, points, keyed) for method in methods]
    return RunRecord(*(np.stack(parts) for parts in zip(*records, strict=True)))


def _replayed(
    scenario: Setting, trace: Trace, method: Algorithm, points: IntArray, keyed: _Keyed
) -> RunRecord:
    """Run one algorithm over a trace; the record has no axis for algorithms."""
    outcome = reference.replay(
        trace, method, step_size=scenario.step_size, max_age=scenario.max_age, **keyed
    )
    return RunRecord(
        mse=outcome.mse[points],
        traffic=outcome.traffic[:, points],
        models=outcome.server_model,
        **Tally.nothing(2)._asdict(),
    )


# A step size that is too large overflows; the errors then say so.
@np.errstate(over="ignore", invalid="ignore")
def _judged(
    scenario: Scenario, trace: SparseTrace, method: Algorithm, points: IntArray, keyed: _Keyed
) -> RunRecord:
    """Run one algorithm over a table; it is judged on every sample before it learns from it."""
    found, traffic = [], []
    steps = reference.ticks(
        trace,
        method,
        step_size=scenario.step_size,
        max_age=scenario.max_age,
        keys=keys_of(**keyed),
    )
    for state, info in steps:
        found.append(info.errors)
        traffic.append(info.traffic)
        server = state.server
    world = world_key(keyed["seed"], keyed["world"])
    places = Places.of(read(scenario.table), half_width_of(scenario, world), trace.due_if_late)
    judged = places.judged(np.concatenate(found, axis=1), points)
    return RunRecord(
        mse=places.per_sample(judged.over_time[1], points),
        traffic=np.cumsum(traffic, axis=0).T[:, points],
        models=server,
        **judged._asdict(),
    )
