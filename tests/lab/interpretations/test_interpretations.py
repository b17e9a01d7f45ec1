"""Each interpretation changes what it says and nothing else."""

from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from lab.interpretations.interpretations import (
    ALL_LATE,
    AS_U1,
    BRACKET,
    DEFAULT,
    EVEN,
    INDICES,
    INTERPRETATIONS,
    LATER_THAN,
    PLAIN_MEAN,
    TEST_SET,
    WEIGHED_STEPS,
    WIDER,
    late_by_more,
    other_target,
    with_other_target,
)
from lab.interpretations.study import LINEUPS
from paofed.algorithms import Algorithm
from paofed.algorithms.setup import resolve
from paofed.core.parts import SERVER, Message, Stamp, keys_of
from paofed.core.selection import Windows
from paofed.errors import ScenarioError
from paofed.world.delays import ListedDelay
from paofed.world.realize import realize
from paofed.world.recorded import Recorded
from paofed.world.scenario import Scenario
from paofed.world.streams import target
from paofed.world.trace import Trace
from paofed.world.value import CERTAIN
from tests.natures import small_scenario

UNCOORDINATED = {"pao-fed-u0", "pao-fed-u1", "pao-fed-u1:shared=1", "pao-fed-u1:shared=32"}
COORDINATED = {"pao-fed-c0", "pao-fed-c1", "pao-fed-c2"}
WHOLE = {"online-fedsgd", "online-fed:subset=0.1", "online-fed:subset=0.5"}
PAO_FED = UNCOORDINATED | COORDINATED
ZERO = {"pao-fed-c0", "pao-fed-u0"}

# What an interpretation changes: keys of a scenario, the field of a method, and whose.
CHANGES: dict[str, tuple[set[str], str, set[str]]] = {
    "default": (set(), "", set()),
    "coverage": (set(), "server", PAO_FED),
    "plain-mean": (set(), "server", WHOLE),
    "newest-first": (set(), "server", UNCOORDINATED),
    "later-than": ({"delay"}, "", set()),
    "all-late": ({"delay"}, "", set()),
    "even": ({"stream.arrivals"}, "", set()),
    "bracket": (set(), "", set()),
    "test-set": ({"test_samples"}, "", set()),
    "one-world": (set(), "", set()),
    "weighed-steps": (set(), "server", {"pao-fed-c2"}),
    "resting": (set(), "learns_while_away", ZERO),
    "indices": (set(), "uplink", PAO_FED),
    "longer": ({"ticks", "stream.samples"}, "", set()),
    "start-as-u1": (set(), "", set()),
    "slow-start": (set(), "", set()),
    "start-as-fedsgd": (set(), "", set()),
    "best-steps": (set(), "", set()),
    "send-first": (set(), "exchange", (PAO_FED | WHOLE) - ZERO),
}
ALONE = [interpretation for interpretation in INTERPRETATIONS if "+" not in interpretation.key]
TOGETHER = [interpretation for interpretation in INTERPRETATIONS if "+" in interpretation.key]
BY_KEY = {interpretation.key: interpretation for interpretation in (*INTERPRETATIONS, WIDER)}


def flat(scenario: Scenario) -> dict[str, Any]:
    told = scenario.model_dump()
    stream = told.pop("stream")
    return {**told, **{f"stream.{key}": value for key, value in stream.items()}}


def changed_fields(old: Algorithm, new: Algorithm) -> list[str]:
    return [f.name for f in fields(old) if getattr(old, f.name) != getattr(new, f.name)]


def test_every_reading_is_told_once() -> None:
    assert list(CHANGES) == [interpretation.key for interpretation in ALONE]
    assert INTERPRETATIONS[0] == DEFAULT
    assert len({interpretation.key for interpretation in INTERPRETATIONS}) == len(INTERPRETATIONS)
    assert {name for names in LINEUPS.values() for name in names} == PAO_FED | WHOLE


@pytest.mark.parametrize("interpretation", ALONE, ids=lambda interpretation: interpretation.key)
def test_an_interpretation_changes_what_it_says_and_nothing_else(interpretation: Any) -> None:
    keys, field, whose = CHANGES[interpretation.key]
    for setting, names in LINEUPS.items():
        scenario = Scenario.load(setting)
        old, new = flat(scenario), flat(interpretation.scenario(scenario))
        assert {key for key in old if old[key] != new[key]} == keys
        for name in names:
            method = resolve(name)
            read = interpretation.method(method, scenario)
            weighed = interpretation == WEIGHED_STEPS and setting == "setting-1"
            expected = [field] if name in whose and not weighed else []
            assert changed_fields(method, read) == expected, (setting, name)
    stepped = ("start-as-u1", "slow-start", "start-as-fedsgd", "best-steps")
    assert (interpretation.steps is not None) == (interpretation.key in stepped)
    assert bool(interpretation.of_trace) == (interpretation.key == "bracket")
    assert interpretation.same_world == (interpretation.key == "one-world")
    dear = ("plain-mean", "newest-first", "bracket", "test-set", "longer")
    assert (interpretation.share < 1) == (interpretation.key in dear)


@pytest.mark.parametrize("interpretation", TOGETHER, ids=lambda interpretation: interpretation.key)
def test_interpretations_together_are_one_after_the_other(interpretation: Any) -> None:
    parts = [BY_KEY[key] for key in interpretation.key.split("+")]
    scenario = read = Scenario.load("setting-2")
    for part in parts:
        read = part.scenario(read)
    assert interpretation.scenario(scenario) == read
    for name in LINEUPS["setting-2"]:
        method = expected = resolve(name)
        for part in parts:
            expected = part.method(expected, scenario)
        assert interpretation.method(method, scenario) == expected
    assert interpretation.steps == parts[-1].steps
    assert interpretation.share == min(0.5, *(part.share for part in parts))


def test_adding_keeps_what_either_says() -> None:
    both = BRACKET + WEIGHED_STEPS + BY_KEY["one-world"] + AS_U1
    assert (both.of_trace, both.weighs_steps, both.same_world) == (BRACKET.of_trace, True, True)
    assert both.steps == AS_U1.steps
    assert (AS_U1 + PLAIN_MEAN).steps == AS_U1.steps


def test_a_wider_kernel_is_only_read_together_with_something() -> None:
    """Alone it is on the grid of the reproduction."""
    scenario = Scenario.load("setting-1")
    old, new = flat(scenario), flat(WIDER.scenario(scenario))
    assert {key: new[key] for key in old if old[key] != new[key]} == {"kernel_width": 2.0}
    assert WIDER not in INTERPRETATIONS


# Delays.


@pytest.mark.parametrize(
    ("setting", "base", "step"), [("setting-1", 0.2, 1), ("setting-2", 0.4, 10)]
)
def test_the_law_of_more_than_from_its_thresholds(setting: str, base: float, step: int) -> None:
    """P(delay > l) = base^l, to the last of 2^32 words: from l = 0 on, and from one step on."""
    scenario = Scenario.load(setting)
    for interpretation, on_time in ((ALL_LATE, 0.0), (LATER_THAN, 1 - base)):
        law = interpretation.scenario(scenario).delay
        assert isinstance(law, ListedDelay)
        ages, (chances,) = law.ladder().chances()
        assert np.all(ages % step == 0)
        for i in range(1 if on_time else 0, 10):
            beyond = chances[ages > step * i].sum()
            assert abs(beyond - base**i) < 1 / CERTAIN, (interpretation.key, i)
        assert abs(chances[ages == 0].sum() - on_time) < 1 / CERTAIN


@pytest.mark.parametrize(
    "law", [{"kind": "geometric", "base": 0.6}, {"kind": "stepped", "base": 0.4, "step": 3}]
)
def test_the_same_messages_are_later_by_one_step(law: dict[str, Any]) -> None:
    scenario, step = small_scenario(delay=law), law.get("step", 1)
    usual = realize(scenario, seed=4).delay
    np.testing.assert_array_equal(realize(ALL_LATE.scenario(scenario), seed=4).delay, usual + step)
    later = realize(LATER_THAN.scenario(scenario), seed=4).delay
    np.testing.assert_array_equal(later, np.where(usual > 0, usual + step, 0))


def test_recorded_delays_cannot_be_read_otherwise() -> None:
    recorded = Recorded.model_construct(kind="recorded", file="table.csv")
    scenario = small_scenario().model_copy(update={"delay": recorded})
    with pytest.raises(ScenarioError, match="has recorded delays: expected a law"):
        late_by_more(None, scenario)


# The target.


def test_the_other_bracket_by_hand() -> None:
    x = np.array([0.6, 0.0, -2.0, 0.5])
    root = np.sqrt(0.36 + 1.0)
    np.testing.assert_allclose(target(x), root + (0.8 - 0.5) * -2.0, atol=1e-12)
    np.testing.assert_allclose(other_target(x), root + (0.8 - 0.5 * -2.0), atol=1e-12)


@cache
def small() -> Trace:
    return realize(small_scenario(), seed=2)


def test_the_other_bracket_keeps_inputs_events_and_noise() -> None:
    here, there = small(), with_other_target(small())
    seen = here.has_data
    noise = here.y[seen] - target(here.x[seen])
    np.testing.assert_allclose(there.y[seen] - other_target(here.x[seen]), noise, atol=1e-12)
    noise = here.y_test - target(here.x_test)
    np.testing.assert_allclose(there.y_test - other_target(here.x_test), noise, atol=1e-12)
    assert not np.allclose(here.y_test, there.y_test)
    for field in fields(Trace):
        if field.name not in ("y", "y_test"):
            np.testing.assert_array_equal(getattr(here, field.name), getattr(there, field.name))


# The rest.


def test_exactly_so_many_samples_arrive() -> None:
    scenario = small_scenario()
    seen = realize(EVEN.scenario(scenario)).has_data.sum(axis=0)
    np.testing.assert_array_equal(seen, scenario.synthetic.samples_of(scenario.clients))


def test_a_larger_test_set_begins_with_the_smaller_one() -> None:
    larger = realize(TEST_SET.scenario(small_scenario()), seed=2)
    np.testing.assert_array_equal(larger.x_test[: len(small().x_test)], small().x_test)
    assert len(larger.x_test) == 10 * len(small().x_test)


@pytest.mark.parametrize("name", sorted(PAO_FED))
def test_the_index_as_written_is_the_window_of_the_next_tick(name: str) -> None:
    method, scenario = resolve(name), Scenario.load("setting-1")
    read = INDICES.method(method, scenario)
    assert isinstance(method.uplink, Windows)
    assert isinstance(read.uplink, Windows)
    for client, tick in ((0, 0), (7, 3), (255, 1999)):
        now = Stamp(client, tick, 200, keys_of(0).up)
        np.testing.assert_array_equal(
            read.uplink.at(now), method.uplink.at(now._replace(tick=tick + 1))
        )


@pytest.mark.parametrize(("setting", "step"), [("setting-1", 1), ("setting-2", 10)])
def test_weights_by_steps(setting: str, step: int) -> None:
    read: Any = WEIGHED_STEPS.method(resolve("pao-fed-c2"), Scenario.load(setting))
    weights = [read.server.staleness(step * i) for i in range(7)]
    np.testing.assert_allclose(weights, [0.2**i for i in range(7)], rtol=1e-9)


def test_fedsgd_is_read_as_the_mean_with_its_windows_as_they_were() -> None:
    """The rule itself is tested beside its transcription; here: that it is the one in use."""
    read: Any = PLAIN_MEAN.method(resolve("online-fedsgd"), Scenario.load("setting-1"))
    stamp = Stamp(SERVER, 9, 4, keys_of(0).server)
    sent = [Message(k, 9 - k, np.arange(4), np.full(4, float(k))) for k in range(3)]
    state = read.server.apply(read.server.init(4, 3), sent, stamp)
    assert read.server.model(state).tolist() == [1.0] * 4
    assert replace(read, server=resolve("online-fedsgd").server) == resolve("online-fedsgd")
