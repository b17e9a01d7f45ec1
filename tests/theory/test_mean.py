"""The expected recursion against the mean over everything that can happen in tiny fleets.

It is exact, for a fleet of any size, where every message is equally late: then whether a message
arrives now says nothing about the models it meets. tests/theory/test_mean_of_runs.py has the rest.
"""

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from paofed.algorithms.base import Settled
from paofed.algorithms.setup import resolve
from paofed.core.metrics import decibels, mean_squared_error
from paofed.core.parts import Channel, Learner, ServerRule
from paofed.core.rules import LMS, Newest
from paofed.core.selection import Windows
from paofed.core.staleness import Geometric
from paofed.errors import AlgorithmError, InputError
from paofed.simulate.average import average
from paofed.theory.fleet import FleetInTheory
from paofed.theory.mean import Prediction, growth, predict
from paofed.world.realize import realize
from tests.effort import effort, some
from tests.natures import small_scenario
from tests.theory.exact.futures import SETTINGS, Habits, known, over_futures
from tests.theory.fleets import as_means_need, fleet_of

PAO_FED = [f"pao-fed-{version}:shared=2" for version in ("c0", "u0", "c1", "u1", "c2", "u2")]
VARIANTS = [
    "pao-fed-u0:shared=2,divisor=coverage",
    "pao-fed-u1:shared=1,divisor=coverage",
    "pao-fed-c1:shared=2,divisor=coverage",
    "pao-fed-u1:shared=2,exchange=single",
    "pao-fed-c2:shared=2,exchange=single,step_size=0.9",
    "online-fedsgd:exchange=single",
    "pao-fed-u1:shared=2,max_age=0",
]
PICKING = [
    "online-fed:subset=0.5",
    "online-fed:subset=0.5,exchange=single",
    "pso-fed:subset=0.5,shared=2",
    "pso-fed:subset=0.5,shared=2,coordinated=false,exchange=single",
]
LIVE = [f"{name}:shared=2,exchange=live" for name in ("pao-fed-c1", "pao-fed-u1", "pao-fed-u2")]


def assert_exact(fleet: tuple[Habits, ...], text: str, ticks: int) -> None:
    method = resolve(text)
    expected = over_futures(fleet, method, ticks).models
    found = predict(as_means_need(known(fleet)), [method], SETTINGS, np.arange(ticks)).models[0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def late(fleet: tuple[Habits, ...], delay: int) -> tuple[Habits, ...]:
    """The same fleet, each of whose messages is equally late."""
    return tuple(replace(habits, late=(0.0,) * delay + (1.0,)) for habits in fleet)


# One client always has a sample, the other now and then; both are there now and then.
PAIR = (Habits((0,), there=0.4), Habits((1,), data=0.7, there=0.4))
# One client with two samples that differ; when it is there, a server that picks may leave it out.
ALONE = (Habits((0, 1), data=0.8, there=0.8, numbers=(0.2, 0.7)),)
# Both always have a sample, and are there now and then.
BUSY = (Habits((0,), there=0.4), Habits((1,), there=0.7))
# Nothing is left to chance.
CERTAIN = (Habits((0,)), Habits((1,)))


def pair_in_theory(delay: int) -> FleetInTheory:
    return as_means_need(known(late(PAIR, delay)))


@pytest.mark.parametrize("text", some(["online-fedsgd", *PAO_FED, *VARIANTS], everyday=3))
def test_the_mean_of_a_pair_of_clients_is_exact(text: str) -> None:
    assert_exact(PAIR, text, ticks=3)


@pytest.mark.parametrize(
    "text",
    some(
        ["online-fedsgd", "pao-fed-c2:shared=2", "pao-fed-u1:shared=2", *VARIANTS[-4:]], everyday=2
    ),
)
def test_the_mean_is_exact_where_every_message_is_equally_late(text: str) -> None:
    assert_exact(late(PAIR, 1), text, ticks=effort(everyday=3, thorough=4))


@pytest.mark.parametrize("delay", some([2, 0], everyday=1))
@pytest.mark.parametrize("text", some(["pao-fed-u1:shared=2", *PICKING], everyday=1))
def test_the_mean_over_samples_and_picks_is_exact(text: str, delay: int) -> None:
    assert_exact(late(ALONE, delay), text, ticks=4)


@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize(
    "text",
    some(["online-fedsgd", *PAO_FED, *VARIANTS, *LIVE, "online-fedsgd:exchange=live"], everyday=6),
)
def test_nothing_but_means_where_nothing_is_left_to_chance(text: str, delay: int) -> None:
    """What the reference engine computes then is the mean itself."""
    assert_exact(late(CERTAIN, delay), text, ticks=15)


@pytest.mark.parametrize("text", some(LIVE, everyday=1))
def test_live_answers_are_exact_where_clients_always_learn(text: str) -> None:
    assert_exact(BUSY, text, ticks=4)


@pytest.mark.parametrize("text", some([*LIVE, "online-fedsgd:exchange=live"], everyday=1))
def test_live_answers_are_exact_where_messages_are_never_late(text: str) -> None:
    assert_exact(PAIR, text, ticks=3)


def test_several_algorithms_at_once_are_as_if_alone() -> None:
    fleet, points = pair_in_theory(1), np.array([0, 3, 4, 9])
    texts = ["pao-fed-u1:shared=2", "online-fedsgd", "pao-fed-c2:shared=1,exchange=live"]
    methods = [resolve(text) for text in texts]
    together = predict(fleet, methods, SETTINGS, points)
    assert together.names == texts
    for a, method in enumerate(methods):
        alone = predict(fleet, [method], SETTINGS, np.arange(10))
        np.testing.assert_allclose(
            together.models[a], alone.models[0, points], rtol=1e-12, atol=1e-15
        )
        np.testing.assert_allclose(together.mse[a], alone.mse[0, points], rtol=1e-12)
        for point in range(4):
            error = mean_squared_error(together.models[a, point], fleet.z_test, fleet.y_test)
            assert together.mse[a, point] == pytest.approx(error, rel=1e-12)


def test_settings_are_for_what_an_algorithm_leaves_open() -> None:
    fleet, points = pair_in_theory(1), np.arange(5)
    own = resolve("pao-fed-u1:shared=2,step_size=0.2,max_age=3")
    left_open = resolve("pao-fed-u1:shared=2")
    first = predict(fleet, [own], Settled(0.9, 0), points).models
    np.testing.assert_array_equal(
        first, predict(fleet, [left_open], Settled(0.2, 3), points).models
    )
    assert not predict(fleet, [left_open], Settled(0.9, 0), points).models.any()


def prediction(db: list[float]) -> Prediction:
    curve = 10 ** (np.array([db]) / 10)
    return Prediction(["u1"], np.array([9, 19, 29, 39]), np.zeros((1, 4, 2)), curve)


def test_when_the_error_reaches_each_whole_number_of_decibels() -> None:
    reached = prediction([0.5, -1.2, -3.7, -3.9]).ticks_to_each_db("u1")
    assert reached == {0: 19, -1: 19, -2: 29, -3: 29}
    assert prediction([-0.5, -0.7, -0.6, -0.2]).ticks_to_each_db("u1") == {}
    assert prediction([-2.5, -1.0, -3.1, np.nan]).ticks_to_each_db("u1") == {-3: 29}
    assert prediction([1.5, 9.0, np.inf, np.nan]).ticks_to_each_db("u1") == {}
    for db in (np.inf, np.nan):  # an error beyond all numbers
        assert prediction([db] * 4).ticks_to_each_db("u1") == {}


def test_a_mean_beyond_all_numbers_is_no_warning() -> None:
    method = resolve("pao-fed-u1:step_size=1e50")
    found = predict(FleetInTheory.of(small_scenario()), [method], SETTINGS, np.array([9]))
    assert not np.isfinite(found.mse).any()


def test_growth_is_the_size_of_the_slowest_mode() -> None:
    """Full sharing among clients alike that are always there: w <- (I - mu R) w."""
    fleet = fleet_of([np.diag([1.0, 0.25])] * 3)
    methods = [resolve(f"online-fedsgd:step_size={mu}") for mu in (0.4, 1.0, 1.7, 2.5)]
    np.testing.assert_allclose(growth(fleet, methods, SETTINGS), [0.9, 0.75, 0.7, 1.5], rtol=1e-3)


@pytest.mark.parametrize("delay", [1, 3])
def test_growth_per_tick_is_smaller_the_later_messages_are(delay: int) -> None:
    """The model of tick n + 1 is made from that of tick n - l: (1 - mu lambda)^(1 / (l + 1))."""
    fleet = fleet_of([np.diag([1.0, 0.25])] * 3, ages=[delay])
    methods = [resolve(f"online-fedsgd:step_size={mu}") for mu in (0.4, 2.5)]
    expected = np.array([0.9, 1.5]) ** (1 / (delay + 1))
    np.testing.assert_allclose(growth(fleet, methods, SETTINGS), expected, rtol=1e-3)


def test_deviations_that_vanish_at_once_have_no_growth() -> None:
    fleet = fleet_of([np.eye(2)])
    assert growth(fleet, [resolve("online-fedsgd:step_size=1.0")], SETTINGS) == [0.0]


def test_deviations_neither_grow_nor_vanish_where_nothing_happens() -> None:
    fleet = fleet_of([np.eye(2)] * 2, data=0.0, available=0.0)
    methods = [resolve("online-fedsgd"), resolve("pao-fed-u1:shared=1")]
    np.testing.assert_allclose(growth(fleet, methods, SETTINGS), 1.0, rtol=1e-12)


def test_messages_that_are_all_too_late_move_nothing() -> None:
    fleet = fleet_of([np.eye(2)] * 2, [[1.0, 2.0]] * 2, ages=[3, 5], late=[0.5, 0.5])
    method = resolve("pao-fed-u1:shared=1,max_age=2")
    assert not predict(fleet, [method], SETTINGS, np.array([20])).models.any()


OWN_RULES: dict[str, Any] = {
    "learner": Learner(learn=LMS.learn),
    "server": ServerRule(apply=Newest(Geometric(1.0)).apply),
    "uplink": Channel(send=Windows(2).send),
    "downlink": Channel(send=Windows(2).send),
}


@pytest.mark.parametrize("rule", OWN_RULES)
def test_rules_of_one_s_own_are_refused(rule: str) -> None:
    method = replace(resolve("pao-fed-u1:shared=2"), name="mine", **{rule: OWN_RULES[rule]})
    with pytest.raises(AlgorithmError, match=r"^mine has rules of its own"):
        predict(pair_in_theory(0), [method], SETTINGS, np.array([3]))


def test_what_an_engine_refuses_is_refused_here_too() -> None:
    for text, words in (
        ("pao-fed-u1:shared=4", "only 3 features"),
        ("pao-fed-c0:shared=2,exchange=single", "cannot do exchange 'single'"),
        ("online-fed:subset=3", "fixed number of clients"),
    ):
        with pytest.raises(AlgorithmError, match=words):
            growth(pair_in_theory(0), [resolve(text)], SETTINGS)


def test_a_target_that_changes_is_followed_where_its_laws_are_known() -> None:
    """Drifts over 1 and over 40 ticks, against averages over runs in the same world."""
    for drift_ticks in some((40, 0), everyday=1):
        scenario = small_scenario(
            clients=24,
            ticks=120,
            features=20,
            stream={
                "samples": (60, 120),
                "memory": (0.0, 0.0),
                "drifts": (40,),
                "drift_ticks": drift_ticks,
            },
        )
        methods = [resolve(text) for text in ("pao-fed-u1", "online-fedsgd")]
        averaged = average(scenario, methods, runs=100, seed=3, every=20)
        fleet = FleetInTheory.of(scenario, seed=3)
        settings = Settled(scenario.step_size, scenario.max_age)
        predicted = predict(fleet, methods, settings, averaged.ticks)
        z = (averaged.models - predicted.models) / averaged.errors
        # A false alarm would take an rms of 120 z-scores, most of which move together, above 1.5.
        assert (np.sqrt(np.mean(z**2, axis=-1)) < 1.5).all()
        np.testing.assert_allclose(decibels(predicted.mse), decibels(averaged.mse), atol=0.2)


def test_drifts_change_nothing_that_depends_on_inputs_alone() -> None:
    steady, changing = small_scenario(), small_scenario(stream={"drifts": (50, 100)})
    methods = [resolve("pao-fed-u1")]
    one, other = FleetInTheory.of(steady), FleetInTheory.of(changing)
    np.testing.assert_array_equal(other.moments.R, one.moments.R)
    first, second = (growth(fleet, methods, SETTINGS, 40) for fleet in (one, other))
    np.testing.assert_array_equal(first, second)


def test_a_trace_does_not_say_to_what_its_target_drifted() -> None:
    fleet = FleetInTheory.seen(realize(small_scenario(stream={"drifts": (50, 100)})))
    with pytest.raises(InputError, match=r"target of the trace changes \(drifts: 2\).*or simulate"):
        predict(fleet, [resolve("pao-fed-u1")], SETTINGS, np.arange(3))


@pytest.mark.parametrize("exchange", ["paper", "live"])
def test_what_would_arrive_after_the_run_takes_no_memory(exchange: str) -> None:
    """Ages of up to 22,862 ticks; a ring for all of them would take 78 GB."""
    fleet = FleetInTheory.of(small_scenario(delay={"kind": "geometric", "base": 0.999}))
    methods = [resolve(f"pao-fed-u1:exchange={exchange}")]
    tracemalloc.start()
    found = predict(fleet, methods, Settled(0.4, 1_000_000), np.array([29]))
    factors = growth(fleet, methods, Settled(0.4, 1_000_000), 40)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**26
    limited = predict(fleet, methods, Settled(0.4, 29), np.array([29]))
    np.testing.assert_array_equal(found.models, limited.models)
    assert found.models.any()
    np.testing.assert_array_equal(factors, growth(fleet, methods, Settled(0.4, 39), 40))


@pytest.mark.parametrize("exchange", ["paper", "live"])
def test_memory_for_what_is_on_its_way_is_asked_for_first(
    exchange: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []

    def none(needed: float, what: str, advice: str) -> None:
        asked.append(needed)
        raise InputError(f"{what}: {advice}")

    monkeypatch.setattr("paofed.theory.mean.require_memory", none)
    fleet = FleetInTheory.of(small_scenario(delay={"kind": "geometric", "base": 0.999}))
    methods = [resolve(f"pao-fed-u1:exchange={exchange}")] * 2
    with pytest.raises(InputError, match=r"2 algorithms and messages of up to 9999 ticks .* lower"):
        predict(fleet, methods, Settled(0.4, 1_000_000), np.array([9999]))
    clients, features, cells = 12, 24, 10_000 * 10_001 // 2
    answers = 10_000 * clients if exchange == "live" else 0
    assert asked[0] > 2 * 8 * features * (cells + answers)
    assert asked[0] < 2 * 8 * features * (cells + answers) * 1.01
