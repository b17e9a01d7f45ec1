"""Cost goes with samples: a table that is nearly all gaps takes no more than its readings do."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from paofed.algorithms import ALGORITHMS, algorithm, options_of
from paofed.simulate.engines.fast import family as fast
from paofed.simulate.engines.fast.nature import traced
from paofed.simulate.montecarlo import run
from paofed.simulate.results.outcome import RunRecord
from paofed.simulate.stopping import ignored
from paofed.world.realize import realize
from paofed.world.realize_samples import realize_samples
from paofed.world.scenario import Scenario
from tests.effort import some
from tests.natures import small_trace
from tests.world.table.tables import fleet, hourly, table, with_gaps, write

LINEUP = [
    *(algorithm(n, subset=0.5 if "subset" in options_of(n) else None) for n in ALGORITHMS),
    algorithm("pao-fed-c2", exchange="live", shared=5),
]


def stretched(folder: Path, name: str, gap: str) -> Scenario:
    """Two devices for two days and, after a gap, one reading more, in ticks of a minute."""
    lines = [*hourly(2, 40), f"d0,{gap},1,1,1"]
    return fleet(table(write(folder / f"{name}.csv", lines), tick="1min"))


def test_a_thousand_million_empty_ticks_take_no_memory(tmp_path: Path) -> None:
    """All of a run: algorithms, baselines and newcomers."""

    def peak(scenario: Scenario) -> int:
        tracemalloc.start()
        try:
            run(scenario, LINEUP, cold_starts=2, workers=1)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    near = stretched(tmp_path, "near", "2024-05-09 00:00")
    far = stretched(tmp_path, "far", "3999-05-01 00:00")
    assert near.ticks < 12_000
    assert far.ticks > 1_000_000_000
    run(near, LINEUP, cold_starts=2)  # so that what is loaded once is no part of it
    assert peak(far) < peak(near) + 10_000_000


@pytest.mark.parametrize("data", [0.01, 0.3, 1.0])
def test_the_kernels_look_at_samples_and_what_follows_from_them(data: float) -> None:
    """Each sample is looked at, then perhaps its message's arrival and the end of its stretch."""
    trace = small_trace(1, ticks=900, clients=6, data=data)
    nature = traced(trace.sparse())
    samples, contacts = int(trace.has_data.sum()), int(trace.available.sum())
    assert samples <= nature.client.size <= 2 * samples + contacts
    assert nature.busy.size <= nature.client.size
    assert np.sort(nature.sample)[-samples:].tolist() == list(range(samples))


@pytest.mark.parametrize("share", some([0.97, 0.2], everyday=1))
def test_threads_change_no_bit_of_a_run_over_a_table(tmp_path: Path, share: float) -> None:
    """A fleet of several blocks."""
    lines = with_gaps(hourly(4500, 16), share)
    scenario = fleet(table(write(tmp_path / "t.csv", lines), tick="1h"))

    def found(pool: fast.ThreadPool | None) -> RunRecord:
        return fast.run(
            scenario, LINEUP, seed=5, world=3, run=1, every=2,
            precision="float64", report=ignored, pool=pool,
        )  # fmt: skip

    alone = found(None)
    for threads in (1, 2, 3):
        with fast.ThreadPool(threads) as pool:
            spread = found(pool)
        for name in RunRecord._fields:
            np.testing.assert_array_equal(getattr(spread, name), getattr(alone, name), name)


def test_a_run_over_a_list_equals_one_over_the_trace(tmp_path: Path) -> None:
    scenario = fleet(table(write(tmp_path / "t.csv", with_gaps(hourly(5, 200), 0.9)), tick="1h"))
    methods = [fast.settle(method, 0.4, 3) for method in LINEUP]
    one, two = (
        fast.Simulation.over(trace, methods, "float64", judged=True)
        for trace in (realize_samples(scenario, 1), realize(scenario, 1).sparse())
    )
    for simulation in (one, two):
        simulation.advance(0, 77)
        simulation.advance(77, scenario.ticks)
    np.testing.assert_array_equal(one.server, two.server)
    np.testing.assert_array_equal(one.errors, two.errors)
