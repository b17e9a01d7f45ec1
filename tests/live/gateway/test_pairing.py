"""Pairing as a state machine: what makes a sample, for any order of any messages."""

from collections.abc import Mapping
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from paofed.live.gateway.pairing import Held, HeldReadings, Paired, Rule, take

RULE = Rule(("a", "b"), "y", 10.0)


def after(*messages: tuple[Mapping[str, float], float]) -> tuple[HeldReadings, list[Paired | None]]:
    readings, found = HeldReadings(), []
    for told, at in messages:
        readings, paired, _ = take(readings, told, at, RULE)
        found.append(paired)
    return readings, found


def test_one_message_with_everything_is_a_sample() -> None:
    readings, found = after(({"a": 1.0, "b": 2.0, "y": 3.0}, 5.0))
    assert found == [Paired({"a": 1.0, "b": 2.0}, 3.0, 5.0)]
    assert readings == HeldReadings({}, {"a": 5.0, "b": 5.0, "y": 5.0})


def test_inputs_alone_are_there_to_predict_from_and_the_target_may_come_later() -> None:
    _, found = after(({"a": 1.0}, 0.0), ({"b": 2.0}, 4.0), ({"y": 3.0}, 9.9))
    assert found == [None, Paired({"a": 1.0, "b": 2.0}, None, 4.0), Paired(*SAMPLE, 4.0)]


SAMPLE = ({"a": 1.0, "b": 2.0}, 3.0)


def test_the_target_may_come_first() -> None:
    _, found = after(({"y": 3.0}, 0.0), ({"a": 1.0}, 1.0), ({"b": 2.0}, 2.0))
    assert found == [None, None, Paired(*SAMPLE, 2.0)]


def test_readings_a_window_apart_are_no_sample() -> None:
    readings, found = after(({"a": 1.0}, 0.0), ({"b": 2.0, "y": 3.0}, 10.0))
    assert found == [None, None]
    assert readings.held == {"b": Held(2.0, 10.0), "y": Held(3.0, 10.0)}


def test_a_newer_reading_takes_the_place_of_one_that_was_not_used() -> None:
    _, found = after(({"a": 0.0}, 0.0), ({"a": 1.0}, 1.0), ({"b": 2.0, "y": 3.0}, 2.0))
    assert found[-1] == Paired(*SAMPLE, 2.0)


def test_what_comes_late_or_twice_is_passed_over_and_counted() -> None:
    readings, _, late = take(HeldReadings({"a": Held(1.0, 5.0)}, {"y": 6.0}), {"a": 9.0}, 4.0, RULE)
    assert (readings.held, late) == ({"a": Held(1.0, 5.0)}, 1)
    assert take(readings, {"y": 3.0, "b": 2.0}, 6.0, RULE).late == 1  # that y is in a sample
    stale = take(HeldReadings({"a": Held(1.0, 50.0)}), {"b": 2.0}, 4.0, RULE)
    assert (stale.readings.held, stale.late) == ({"a": Held(1.0, 50.0)}, 1)


class Message(NamedTuple):
    told: dict[str, float]
    at: float


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Messages in which every value is another, so that one can see which are used."""
    found, number = [], 0.0
    for _ in range(draw(st.integers(0, 40))):
        names = draw(st.sets(st.sampled_from("aby"), min_size=1))
        told = {}
        for name in sorted(names):
            number += 1.0
            told[name] = number
        found.append(Message(told, float(draw(st.integers(0, 60)))))
    return found


@given(histories(), st.booleans())
def test_every_sample_is_of_readings_close_together_and_no_reading_is_in_two(
    messages: list[Message], sort: bool
) -> None:
    readings, when = HeldReadings(), {}
    used: set[float] = set()
    for told, at in sorted(messages, key=lambda message: message.at) if sort else messages:
        when.update(dict.fromkeys(told.values(), at))
        before = readings
        readings, paired, late = take(readings, told, at, RULE)
        assert 0 <= late <= len(told)
        assert set(readings.held) | set(readings.used) >= set(before.used)
        if paired is None:
            continue
        values = [*paired.inputs.values(), *(() if paired.target is None else (paired.target,))]
        times = [when[value] for value in values]
        assert max(times) - min(times) < RULE.window
        assert paired.at == max(when[value] for value in paired.inputs.values())
        assert set(told.values()) & set(values)  # there is something new in it
        assert not used & set(values)
        if paired.target is not None:
            used |= set(values)
            assert not readings.held


@given(histories())
def test_no_sample_is_missed_where_time_goes_on(messages: list[Message]) -> None:
    """Against another way to say the same: look at the last unused reading of every name."""
    readings: HeldReadings = HeldReadings()
    last: dict[str, Held] = {}
    for second, (told, _) in enumerate(messages):
        at = 3.0 * second
        readings, paired, late = take(readings, told, at, RULE)
        assert late == 0
        last |= {name: Held(value, at) for name, value in told.items()}
        fresh = {name: held.value for name, held in last.items() if at - held.at < RULE.window}
        whole = set(fresh) == {"a", "b", "y"}
        assert (paired is not None and paired.target is not None) == whole
        if whole:
            assert paired is not None
            assert {**paired.inputs, "y": paired.target} == fresh
            last.clear()
