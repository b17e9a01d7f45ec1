"""The compiled engine against its readable twin."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from paofed.algorithms import Algorithm, algorithm
from paofed.core.metrics import curve_ticks, decibels
from paofed.core.rules import Newest
from paofed.core.selection import Windows
from paofed.errors import AlgorithmError, InputError
from paofed.simulate.engines import Precision, reference
from paofed.simulate.engines.fast import family as fast
from paofed.simulate.engines.fast import kernels
from paofed.simulate.engines.fast.engine import replay
from paofed.simulate.engines.fast.nature import ages_of, drawn_nature
from paofed.simulate.engines.reference_run import run_reference
from paofed.simulate.results.outcome import RunRecord
from paofed.world.realize import make_world, realize
from paofed.world.scenario import Scenario
from tests.cases import Case, cases
from tests.effort import effort, some
from tests.methods import IN_WORDS
from tests.natures import BEGINNINGS, small_trace
from tests.natures import small_scenario as scenario


@settings(max_examples=effort(everyday=12, thorough=100))
@given(
    case=cases(7, ("paper", "single", "live")),
    seed=st.integers(0, 10_000),
    inputs=st.integers(1, 9),
    lost=st.sampled_from([0.0, 0.4]),
    beginning=st.sampled_from(BEGINNINGS),
)
def test_equals_the_reference_on_the_same_trace(
    case: Case, seed: int, inputs: int, lost: float, beginning: dict[str, bool]
) -> None:
    assume(case.shared != 7 or not beginning["linear"])  # 7 is the whole model without them alone
    # More ticks than a stretch, so that samples wait across its end.
    trace = small_trace(
        seed, ticks=90, features=7, inputs=inputs, available=0.3, lost=lost, **beginning
    )
    expected = reference.replay(trace, case.product)
    got = replay(trace, case.product)
    np.testing.assert_allclose(got.mse, expected.mse, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(got.server_model, expected.server_model, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(got.traffic, expected.traffic)


@settings(max_examples=effort(everyday=12, thorough=100))
@given(
    case=cases(7, ("paper", "single", "live")),
    seed=st.integers(0, 10_000),
    data=st.sampled_from([0.0, 0.01, 0.05]),
    newcomers=st.booleans(),
)
def test_equals_the_reference_on_a_trace_that_is_nearly_all_gaps(
    case: Case, seed: int, data: float, newcomers: bool
) -> None:
    trace = small_trace(seed, ticks=300, data=data, longest_delay=90, newcomers=newcomers)
    method = replace(case.product, max_age=10 * case.max_age)
    expected, got = reference.replay(trace, method), replay(trace, method)
    np.testing.assert_allclose(got.mse, expected.mse, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(got.traffic, expected.traffic)


LINEUP = [
    algorithm("online-fedsgd"),
    algorithm("online-fed", subset=2),
    algorithm("pso-fed", subset=0.4, exchange="live"),
    algorithm("pao-fed-c0"),
    algorithm("pao-fed-u1", exchange="live"),
    algorithm("pao-fed-c2", exchange="single", shared=5),
    algorithm("pao-fed-u2", divisor="coverage", max_age=3, step_size=0.7),
    Algorithm(
        name="own row: sends more than it receives, weighs by 1 / (1 + age)",
        downlink=Windows(2, coordinated=False),
        uplink=Windows(7, coordinated=True, ahead=1),
        server=Newest(lambda age: 1 / (1 + age)),
        learns_while_away=True,
    ),
]


def compiled(
    scenario: Scenario,
    methods: Sequence[Algorithm] = LINEUP,
    *,
    precision: Precision = "float64",
    threads: int = 0,
    world: int = 3,
) -> RunRecord:
    options: dict[str, Any] = {"seed": 5, "world": world, "run": 1, "every": 7}
    options |= {"precision": precision, "report": lambda _: None}
    if not threads:
        return fast.run(scenario, methods, **options)
    with fast.ThreadPool(threads) as pool:
        return fast.run(scenario, methods, pool=pool, **options)


# The roles of the inputs come round; in one stretch, at its ends, at the first and last tick.
DRIFTS = (1, 30, 63, 64, 90, 100, 149)
HAZARDS: dict[str, Any] = {
    "loss": {"up": (0.3, 0.1), "down": 0.2},
    "outages": {"mean_length": 20.0, "mean_between": 10.0, "share": 0.5},
    "battery": {"capacity": 4, "fill": (0.3, 0.05, 0.1)},
    "contacts": 0.8,
}
FAULTS: list[dict[str, Any]] = [
    {"kind": "stuck", "what": 2},
    {"kind": "scaled", "by": 2.0},
    {"kind": "spikes", "size": 3.0, "probability": 0.1},
    {"kind": "drift", "per_tick": 0.01, "what": 0},
    {"kind": "noise", "deviation": 0.5},
]
LAWS: list[dict[str, Any]] = [
    {},
    {"stream": {"arrivals": "even"}},
    {"availability": {"kind": "bursts", "mean_on": (3.0,), "mean_off": (5.0, 9.0)}},
    {"delay": {"kind": "stepped", "base": 0.6, "step": 4}, "max_age": 9},
    {"delay": {"kind": "none"}},
    {"delay": {"kind": "listed", "chances": (1.0, 0.4, 0.4, 0.0), "step": 2}},
    {"delay": {"kind": "geometric", "base": (0.8, 0.0, 0.3)}},
    {"delay": {"kind": "stepped", "base": (0.6, 0.4), "step": (4, 3)}},
    {"max_age": 0},
    {"newcomers": "whole"},
    {"newcomers": "whole", "loss": {"up": 0.3, "down": 0.4}},
    {"newcomers": "whole", "delay": {"kind": "stepped", "base": 0.8, "step": 7}, "max_age": 3},
    {"loss": {"up": 0.3, "down": 0.0}},
    {"loss": {"up": 0.0, "down": (0.5, 0.1)}},
    {"outages": {"mean_length": 5.0, "mean_between": 10.0, "share": (0.9, 0.2, 0.5)}},
    {"battery": {"capacity": (3, 1), "fill": (0.1, 0.3), "start": (2, 0)}},
    {"battery": {"capacity": 2, "fill": 0.05}, "loss": {"up": 0.5}},
    {"contacts": 0.3},
    HAZARDS,
    {"stream": {"memory": (0.0, 0.0)}},
    {"stream": {"drifts": DRIFTS}},
    {"stream": {"drifts": DRIFTS, "arrivals": "even"}},
    {"stream": {"drifts": (1, 30, 62, 149), "drift_ticks": 29}},
    {"stream": {"drifts": (60, 64, 68, 72, 76), "drift_ticks": 4, "arrivals": "even"}},
    *({"faults": [{"clients": 3, "start": 20, "end": 110, **law}]} for law in FAULTS),
    {"faults": [{"clients": 0.5, **law} for law in FAULTS], "stream": {"drifts": (30,)}},
]


@pytest.mark.parametrize("changes", some(LAWS, everyday=10))
def test_draws_the_events_that_realize_draws_bit_for_bit(changes: dict[str, Any]) -> None:
    world = scenario(**changes)
    made, trace = make_world(world, 5, 3), realize(world, 3, 1, seed=5)
    nature, ages = drawn_nature(world, made, 1), ages_of(world)
    simulation = fast.Simulation(
        [fast.settle(LINEUP[0], 0.4, 10)], nature, ages, made.fourier_map, 12, "float32"
    )
    moment = simulation.moment
    for n in range(trace.ticks):
        simulation._run(n, n + 1, kernels.EVENTS, 0, simulation.blocks)
        np.testing.assert_array_equal(moment.has_data, trace.has_data[n])
        np.testing.assert_array_equal(moment.lottery, trace.lottery[n])
        there = trace.available[n]
        np.testing.assert_array_equal(moment.available, there)
        np.testing.assert_array_equal(moment.delay[there], trace.delay[n, there])
        np.testing.assert_array_equal(moment.lost_up[there], trace.losses.up[n, there])
        np.testing.assert_array_equal(moment.lost_down[there], trace.losses.down[n, there])


@pytest.mark.parametrize("changes", some(LAWS[::-1], everyday=4))
def test_draws_the_world_that_realize_draws(changes: dict[str, Any]) -> None:
    world = scenario(**changes)
    expected = run_reference(world, LINEUP, seed=5, world=3, run=1, every=7)
    got = compiled(world)
    for name in RunRecord._fields:
        np.testing.assert_allclose(
            getattr(got, name), getattr(expected, name), rtol=0, atol=1e-9, err_msg=name
        )


@pytest.mark.parametrize(("method", "takes"), some(product(LINEUP, [30, 0]), everyday=5))
def test_drifts_on_a_trace_equal_those_drawn(method: Algorithm, takes: int) -> None:
    drifts = (3, 40, 100, 149) if takes else DRIFTS
    world = scenario(stream={"drifts": drifts, "drift_ticks": takes})
    trace = realize(world, 3, 1, seed=5)
    expected, got = (run(trace, method).mse for run in (reference.replay, replay))
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9)
    drawn = compiled(world, [method]).mse[0]
    np.testing.assert_allclose(drawn, expected[curve_ticks(150, 7)], rtol=0, atol=1e-9)


@settings(max_examples=effort(everyday=8, thorough=50))
@given(case=cases(7, ("paper", "single", "live")), seed=st.integers(0, 10_000))
def test_test_targets_of_one_s_own_are_those_of_their_tick(case: Case, seed: int) -> None:
    """What is learned does not depend on them, and both engines measure against the same."""
    trace = small_trace(seed, ticks=90, available=0.3)
    own = np.random.default_rng(seed).normal(size=(3, 6))
    drifting = replace(trace, drifts=np.array([1, 50, 89]), y_test_drifted=own)
    got, expected = replay(drifting, case.product), reference.replay(drifting, case.product)
    steady = reference.replay(trace, case.product)
    np.testing.assert_allclose(got.mse, expected.mse, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(expected.server_model, steady.server_model)
    last = own[2] - trace.fourier_map(trace.x_test) @ steady.server_model
    assert expected.mse[89] == pytest.approx(np.mean(last**2), rel=1e-12)
    assert expected.mse[0] == steady.mse[0]
    assert (expected.mse[1:] != steady.mse[1:]).all()


def test_recorded_tables_reach_the_kernels(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.save(tmp_path / "there.npy", (rng.random((150, 12)) < 0.3).astype(int))
    np.save(tmp_path / "late.npy", rng.integers(0, 14, size=(150, 12)))
    world = scenario(
        availability={"kind": "recorded", "file": str(tmp_path / "there.npy")},
        delay={"kind": "recorded", "file": str(tmp_path / "late.npy")},
    )
    expected = run_reference(world, LINEUP, seed=5, world=3, run=1, every=7)
    np.testing.assert_allclose(compiled(world).mse, expected.mse, rtol=0, atol=1e-9)


def test_float32_sees_the_same_events_and_the_same_curve() -> None:
    setting = Scenario.load("setting-1").model_copy(update={"ticks": 2000})
    methods = [algorithm(name) for name in ("online-fedsgd", "pao-fed-c1", "pao-fed-u2")]
    double = compiled(setting, methods)
    single = compiled(setting, methods, precision="float32")
    np.testing.assert_array_equal(single.traffic, double.traffic)
    assert np.abs(decibels(single.mse) - decibels(double.mse)).max() < 0.001


@pytest.mark.parametrize("precision", some(["float32", "float64"], everyday=1))
def test_threads_change_no_bit(precision: Precision) -> None:
    """A fleet of several blocks, in CI spread over 1, 2, 3 and 5 threads."""
    big = scenario(clients=9000, ticks=70, features=8, stream={"samples": (20, 40, 70)}, **HAZARDS)
    alone = compiled(big, precision=precision)
    for threads in some((2, 1, 3, 5), everyday=2):
        spread = compiled(big, precision=precision, threads=threads)
        for name in RunRecord._fields:
            np.testing.assert_array_equal(getattr(spread, name), getattr(alone, name))


def test_several_blocks_equal_the_reference() -> None:
    """A block is of 2,048 clients."""
    big = scenario(clients=2100, ticks=12, features=8, stream={"samples": (4, 8, 12)})
    methods = [algorithm("pao-fed-u1"), algorithm("online-fed", subset=300)]
    expected = run_reference(big, methods, seed=5, world=3, run=1, every=7)
    np.testing.assert_allclose(compiled(big, methods).mse, expected.mse, rtol=0, atol=1e-9)


def test_company_changes_nothing() -> None:
    """An algorithm's numbers do not depend on which others share its world."""
    together = compiled(scenario(), precision="float32")
    for index, method in enumerate(LINEUP):
        alone = compiled(scenario(), [method], precision="float32")
        np.testing.assert_array_equal(alone.mse[0], together.mse[index])


def test_memory_does_not_grow_with_the_horizon() -> None:
    """What a simulation holds is the same for ten times the ticks."""

    def held(ticks: int) -> int:
        world = scenario(ticks=ticks)
        made = make_world(world, 0, 0)
        settled = [replace(m, step_size=0.4, max_age=10) for m in LINEUP]
        nature, ages = drawn_nature(world, made, 0), ages_of(world)
        simulation = fast.Simulation(
            settled, nature, ages, made.fourier_map, world.clients, "float32"
        )
        parts = (*simulation.moment, *simulation.model, *simulation.nature)
        return sum(a.nbytes for a in parts if isinstance(a, np.ndarray))

    assert held(200) == held(2000)


def test_an_algorithm_outside_the_family_is_told_so() -> None:
    own = replace(LINEUP[0], name="mine", learner=IN_WORDS)
    assert not fast.in_family(own)
    with pytest.raises(AlgorithmError, match=r"^mine has rules of its own: the family knows"):
        fast.Simulation.over(small_trace(0).sparse(), [own], "float64")


def test_a_diverging_algorithm_does_not_hurt_its_neighbours() -> None:
    wild = algorithm("online-fedsgd", step_size=50.0)
    good = algorithm("pao-fed-u1")
    together = compiled(scenario(), [wild, good], precision="float32")
    assert not np.isfinite(together.mse[0]).all()
    np.testing.assert_array_equal(
        together.mse[1], compiled(scenario(), [good], precision="float32").mse[0]
    )


def test_an_age_limit_that_cannot_be_kept_is_refused() -> None:
    world = scenario(features=4000, delay={"kind": "geometric", "base": 0.999}, max_age=10_000)
    with pytest.raises(InputError, match="lower max_age"):
        compiled(world)
