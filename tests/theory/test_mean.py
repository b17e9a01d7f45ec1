"""The expected recursion against the mean over everything that can happen in tiny fleets.

It is exact, for a fleet of any size, where every message is equally late: then whether a message
arrives now says nothing about the models it meets. tests/theory/test_mean_of_runs.py has the rest.
"""

import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
import pytest

from paofed.algorithms import Algorithm
from paofed.algorithms.base import Settled
from paofed.algorithms.spec import from_text
from paofed.core.arrays import FloatArray
from paofed.core.features import FourierMap
from paofed.core.metrics import decibels, mean_squared_error
from paofed.core.parts import Channel, Learner, ServerRule
from paofed.core.rules import LMS, Newest
from paofed.core.selection import Windows
from paofed.core.staleness import Geometric
from paofed.errors import AlgorithmError, InputError
from paofed.simulate.average import average
from paofed.simulate.engines import reference
from paofed.theory.fleet import FleetInTheory
from paofed.theory.mean import Prediction, growth, predict
from paofed.world.realize import realize
from paofed.world.trace import Trace
from tests.effort import effort, some
from tests.natures import small_scenario
from tests.theory.fleets import fleet_of

SETTINGS = Settled(step_size=0.4, max_age=10)
FEATURES = 3  # with two shared, windows wrap, and begin again after three ticks

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

_RNG = np.random.default_rng(3)
POINTS, TARGETS = _RNG.normal(size=(2, 2)), _RNG.normal(size=2)
MAP = FourierMap(_RNG.normal(size=(2, FEATURES)), _RNG.uniform(0, 6, size=FEATURES))


class State(NamedTuple):
    """What may happen to a client at a tick: a sample or none, a contact or none, a number."""

    probability: float
    sample: int | None
    there: bool = False
    lottery: float = 0.0


class Nature(NamedTuple):
    """A fleet so small that every future of it can be run."""

    samples: list[list[int]]  # by client: the points it may see, all equally likely
    states: list[list[State]]  # by client

    def futures(self, ticks: int, delay: int) -> Iterator[tuple[float, Trace]]:
        """All of them, with their probabilities."""
        shape = (ticks, len(self.states))
        for states in product(*(self.states * ticks)):
            point = np.array([s.sample or 0 for s in states]).reshape(shape)
            trace = Trace(
                x=POINTS[point],
                y=TARGETS[point],
                has_data=np.array([s.sample is not None for s in states]).reshape(shape),
                available=np.array([s.there for s in states]).reshape(shape),
                delay=np.full(shape, delay),
                lottery=np.array([s.lottery for s in states]).reshape(shape),
                frequencies=MAP.frequencies,
                phases=MAP.phases,
                x_test=POINTS,
                y_test=TARGETS,
            )
            yield prod(s.probability for s in states), trace

    def fleet(self, delay: int) -> FleetInTheory:
        """What theory is told of it."""
        z = MAP(POINTS)
        return fleet_of(
            [np.mean([np.outer(z[i], z[i]) for i in seen], axis=0) for seen in self.samples],
            [np.mean([TARGETS[i] * z[i] for i in seen], axis=0) for seen in self.samples],
            data=[sum(s.probability for s in own if s.sample is not None) for own in self.states],
            available=[sum(s.probability for s in own if s.there) for own in self.states],
            ages=[delay],
        )


def mean_over_futures(nature: Nature, method: Algorithm, ticks: int, delay: int) -> FloatArray:
    """The mean of the server's model after every tick, (N, D)."""
    total, mean = 0.0, np.zeros((ticks, FEATURES))
    for probability, trace in nature.futures(ticks, delay):
        states = reference.ticks(trace, method, **SETTINGS._asdict())
        mean += probability * np.array([state.server for state, _ in states])
        total += probability
    assert total == pytest.approx(1.0, abs=1e-12)
    return mean


def assert_exact(nature: Nature, text: str, ticks: int, delay: int) -> None:
    method = from_text(text)
    expected = mean_over_futures(nature, method, ticks, delay)
    found = predict(nature.fleet(delay), [method], SETTINGS, np.arange(ticks)).models[0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


# One client always has a sample, the other now and then; both are there now and then.
PAIR = Nature(
    samples=[[0], [1]],
    states=[
        [State(0.6, 0), State(0.4, 0, there=True)],
        [State(0.3, None), State(0.3, 1), State(0.4, 1, there=True)],
    ],
)
# One client with two samples that differ; when it is there, a server that picks may leave it out.
ALONE = Nature(
    samples=[[0, 1]],
    states=[
        [
            State(0.2, None),
            *(State(0.2, i, there=True, lottery=number) for i in (0, 1) for number in (0.2, 0.7)),
        ]
    ],
)
# Both always have a sample, and are there now and then.
BUSY = Nature(
    samples=[[0], [1]],
    states=[
        [State(0.6, 0), State(0.4, 0, there=True)],
        [State(0.3, 1), State(0.7, 1, there=True)],
    ],
)
# Nothing is left to chance.
CERTAIN = Nature(
    samples=[[0], [1]], states=[[State(1.0, 0, there=True)], [State(1.0, 1, there=True)]]
)


@pytest.mark.parametrize("text", some(["online-fedsgd", *PAO_FED, *VARIANTS], everyday=3))
def test_the_mean_of_a_pair_of_clients_is_exact(text: str) -> None:
    assert_exact(PAIR, text, ticks=3, delay=0)


@pytest.mark.parametrize(
    "text",
    some(
        ["online-fedsgd", "pao-fed-c2:shared=2", "pao-fed-u1:shared=2", *VARIANTS[-4:]], everyday=2
    ),
)
def test_the_mean_is_exact_where_every_message_is_equally_late(text: str) -> None:
    assert_exact(PAIR, text, ticks=effort(everyday=3, thorough=4), delay=1)


@pytest.mark.parametrize("delay", some([2, 0], everyday=1))
@pytest.mark.parametrize("text", some(["pao-fed-u1:shared=2", *PICKING], everyday=1))
def test_the_mean_over_samples_and_picks_is_exact(text: str, delay: int) -> None:
    assert_exact(ALONE, text, ticks=4, delay=delay)


@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize(
    "text", ["online-fedsgd", *PAO_FED, *VARIANTS, *LIVE, "online-fedsgd:exchange=live"]
)
def test_nothing_but_means_where_nothing_is_left_to_chance(text: str, delay: int) -> None:
    """What the reference engine computes then is the mean itself."""
    assert_exact(CERTAIN, text, ticks=15, delay=delay)


@pytest.mark.parametrize("text", some(LIVE, everyday=1))
def test_live_answers_are_exact_where_clients_always_learn(text: str) -> None:
    assert_exact(BUSY, text, ticks=4, delay=0)


@pytest.mark.parametrize("text", some([*LIVE, "online-fedsgd:exchange=live"], everyday=1))
def test_live_answers_are_exact_where_messages_are_never_late(text: str) -> None:
    assert_exact(PAIR, text, ticks=3, delay=0)


def test_several_algorithms_at_once_are_as_if_alone() -> None:
    fleet, points = PAIR.fleet(1), np.array([0, 3, 4, 9])
    texts = ["pao-fed-u1:shared=2", "online-fedsgd", "pao-fed-c2:shared=1,exchange=live"]
    methods = [from_text(text) for text in texts]
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
    fleet, points = PAIR.fleet(1), np.arange(5)
    own = from_text("pao-fed-u1:shared=2,step_size=0.2,max_age=3")
    left_open = from_text("pao-fed-u1:shared=2")
    first = predict(fleet, [own], Settled(0.9, 0), points).models
    np.testing.assert_array_equal(
        first, predict(fleet, [left_open], Settled(0.2, 3), points).models
    )
    assert not predict(fleet, [left_open], Settled(0.9, 0), points).models.any()


def test_progress_rises_to_one() -> None:
    heard: list[float] = []
    method = from_text("pao-fed-u1:shared=2")
    predict(PAIR.fleet(0), [method], SETTINGS, np.array([0, 4, 9]), heard.append)
    assert heard == [0.1, 0.5, 1.0]
    heard.clear()
    growth(PAIR.fleet(0), [method], SETTINGS, 50, heard.append)
    assert heard == [0.4, 0.8, 1.0]


def prediction(db: list[float]) -> Prediction:
    curve = 10 ** (np.array([db]) / 10)
    return Prediction(["u1"], np.array([9, 19, 29, 39]), np.zeros((1, 4, 2)), curve)


def test_when_the_error_reaches_each_whole_number_of_decibels() -> None:
    reached = prediction([0.5, -1.2, -3.7, -3.9]).ticks_to_each_db("u1")
    assert reached == {0: 19, -1: 19, -2: 29, -3: 29}
    assert prediction([-0.5, -0.7, -0.6, -0.2]).ticks_to_each_db("u1") == {}
    assert prediction([-2.5, -1.0, -3.1, np.nan]).ticks_to_each_db("u1") == {-3: 29}
    assert prediction([1.5, 9.0, np.inf, np.nan]).ticks_to_each_db("u1") == {}


@pytest.mark.parametrize("db", [np.inf, np.nan])
def test_an_error_beyond_all_numbers_reaches_nothing(db: float) -> None:
    assert prediction([db] * 4).ticks_to_each_db("u1") == {}


def test_a_mean_beyond_all_numbers_is_no_warning() -> None:
    method = from_text("pao-fed-u1:step_size=1e50")
    found = predict(FleetInTheory.of(small_scenario()), [method], SETTINGS, np.array([9]))
    assert not np.isfinite(found.mse).any()


def test_growth_is_the_size_of_the_slowest_mode() -> None:
    """Full sharing among clients alike that are always there: w <- (I - mu R) w."""
    fleet = fleet_of([np.diag([1.0, 0.25])] * 3)
    methods = [from_text(f"online-fedsgd:step_size={mu}") for mu in (0.4, 1.0, 1.7, 2.5)]
    np.testing.assert_allclose(growth(fleet, methods, SETTINGS), [0.9, 0.75, 0.7, 1.5], rtol=1e-3)


@pytest.mark.parametrize("delay", [1, 3])
def test_growth_per_tick_is_smaller_the_later_messages_are(delay: int) -> None:
    """The model of tick n + 1 is made from that of tick n - l: (1 - mu lambda)^(1 / (l + 1))."""
    fleet = fleet_of([np.diag([1.0, 0.25])] * 3, ages=[delay])
    methods = [from_text(f"online-fedsgd:step_size={mu}") for mu in (0.4, 2.5)]
    expected = np.array([0.9, 1.5]) ** (1 / (delay + 1))
    np.testing.assert_allclose(growth(fleet, methods, SETTINGS), expected, rtol=1e-3)


def test_deviations_that_vanish_at_once_have_no_growth() -> None:
    fleet = fleet_of([np.eye(2)])
    assert growth(fleet, [from_text("online-fedsgd:step_size=1.0")], SETTINGS) == [0.0]


def test_deviations_neither_grow_nor_vanish_where_nothing_happens() -> None:
    fleet = fleet_of([np.eye(2)] * 2, data=0.0, available=0.0)
    methods = [from_text("online-fedsgd"), from_text("pao-fed-u1:shared=1")]
    np.testing.assert_allclose(growth(fleet, methods, SETTINGS), 1.0, rtol=1e-12)


def test_messages_that_are_all_too_late_move_nothing() -> None:
    fleet = fleet_of([np.eye(2)] * 2, [[1.0, 2.0]] * 2, ages=[3, 5], late=[0.5, 0.5])
    method = from_text("pao-fed-u1:shared=1,max_age=2")
    assert not predict(fleet, [method], SETTINGS, np.array([20])).models.any()


OWN_RULES: dict[str, Any] = {
    "learner": Learner(learn=LMS.learn),
    "server": ServerRule(apply=Newest(Geometric(1.0)).apply),
    "uplink": Channel(send=Windows(2).send),
    "downlink": Channel(send=Windows(2).send),
}


@pytest.mark.parametrize("rule", OWN_RULES)
def test_rules_of_one_s_own_are_refused(rule: str) -> None:
    method = replace(from_text("pao-fed-u1:shared=2"), name="mine", **{rule: OWN_RULES[rule]})
    with pytest.raises(AlgorithmError, match=r"^mine has rules of its own"):
        predict(PAIR.fleet(0), [method], SETTINGS, np.array([3]))


def test_what_an_engine_refuses_is_refused_here_too() -> None:
    for text, words in (
        ("pao-fed-u1:shared=4", "only 3 features"),
        ("pao-fed-c0:shared=2,exchange=single", "cannot do exchange 'single'"),
        ("online-fed:subset=3", "fixed number of clients"),
    ):
        with pytest.raises(AlgorithmError, match=words):
            growth(PAIR.fleet(0), [from_text(text)], SETTINGS)


def test_a_target_that_changes_is_followed_where_its_laws_are_known() -> None:
    """Drifts over 1 and over 40 ticks, against averages over runs in the same world."""
    for drift_ticks in (0, 40):
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
        methods = [from_text(text) for text in ("pao-fed-u1", "online-fedsgd")]
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
    methods = [from_text("pao-fed-u1")]
    one, other = FleetInTheory.of(steady), FleetInTheory.of(changing)
    np.testing.assert_array_equal(other.moments.R, one.moments.R)
    first, second = (growth(fleet, methods, SETTINGS, 40) for fleet in (one, other))
    np.testing.assert_array_equal(first, second)


def test_a_trace_does_not_say_to_what_its_target_drifted() -> None:
    fleet = FleetInTheory.seen(realize(small_scenario(stream={"drifts": (50, 100)})))
    with pytest.raises(InputError, match=r"target of the trace changes \(drifts: 2\).*or simulate"):
        predict(fleet, [from_text("pao-fed-u1")], SETTINGS, np.arange(3))


@pytest.mark.parametrize("exchange", ["paper", "live"])
def test_what_would_arrive_after_the_run_takes_no_memory(exchange: str) -> None:
    """Ages of up to 22,862 ticks; a ring for all of them would take 78 GB."""
    fleet = FleetInTheory.of(small_scenario(delay={"kind": "geometric", "base": 0.999}))
    methods = [from_text(f"pao-fed-u1:exchange={exchange}")]
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
    methods = [from_text(f"pao-fed-u1:exchange={exchange}")] * 2
    with pytest.raises(InputError, match=r"2 algorithms and messages of up to 9999 ticks .* lower"):
        predict(fleet, methods, Settled(0.4, 1_000_000), np.array([9999]))
    clients, features, cells = 12, 24, 10_000 * 10_001 // 2
    answers = 10_000 * clients if exchange == "live" else 0
    assert asked[0] > 2 * 8 * features * (cells + answers)
    assert asked[0] < 2 * 8 * features * (cells + answers) * 1.01
