"""Pairing as a state machine: what makes a sample, for any order of any messages."""

from collections.abc import Mapping
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paofed.live.gateway.pairing import Held, HeldReadings, Paired, Rule, Taken, take

RULE = Rule(("a", "b"), "y", 10.0)


def only(taken: Taken) -> Paired | None:
    """What came of a message: one thing at most, where readings do not say their time."""
    assert len(taken.paired) <= 1
    return taken.paired[0] if taken.paired else None


def after(*messages: tuple[Mapping[str, float], float]) -> tuple[HeldReadings, list[Paired | None]]:
    readings, found = HeldReadings(), []
    for told, at in messages:
        taken = take(readings, told, at, RULE)
        readings = taken.readings
        found.append(only(taken))
    return readings, found


SAMPLE = ({"a": 1.0, "b": 2.0}, 3.0)
A, B, Y = {"a": 1.0}, {"b": 2.0}, {"y": 3.0}


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([({**A, **B, **Y}, 5.0)], [Paired(*SAMPLE, 5.0)]),
        # Inputs alone are there to predict from, and the target may come later, or first.
        (
            [(A, 0.0), (B, 4.0), (Y, 9.9)],
            [None, Paired(SAMPLE[0], None, 4.0), Paired(*SAMPLE, 4.0)],
        ),
        ([(Y, 0.0), (A, 1.0), (B, 2.0)], [None, None, Paired(*SAMPLE, 2.0)]),
        # A newer reading takes the place of one that was not used.
        ([({"a": 0.0}, 0.0), (A, 1.0), ({**B, **Y}, 2.0)], [None, None, Paired(*SAMPLE, 2.0)]),
        ([(A, 0.0), ({**B, **Y}, 10.0)], [None, None]),  # a window apart
    ],
)
def test_what_makes_a_sample(
    messages: list[tuple[Mapping[str, float], float]], expected: list[Paired | None]
) -> None:
    readings, found = after(*messages)
    assert found == expected
    if expected[-1] is None:
        assert readings.held == {"b": (Held(2.0, 10.0),), "y": (Held(3.0, 10.0),)}
    elif expected[-1].target is not None:
        assert not readings.held


def test_what_comes_late_or_twice_is_passed_over_and_counted() -> None:
    one = (Held(1.0, 5.0),)
    readings, _, late, _ = take(HeldReadings({"a": one}, {"y": 6.0}), {"a": 9.0}, 4.0, RULE)
    assert (readings.held, late) == ({"a": one}, 1)
    assert take(readings, {"y": 3.0, "b": 2.0}, 6.0, RULE).late == 1  # that y is in a sample
    newer = {"a": (Held(1.0, 50.0),)}
    stale = take(HeldReadings(newer), {"b": 2.0}, 4.0, RULE)
    assert (stale.readings.held, stale.late) == (newer, 1)


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


# Inputs on either side of the target, each close to it and not to each other.
@example(
    messages=[Message({"y": 1.0}, 1.0), Message({"a": 2.0}, 10.0), Message({"b": 4.0}, 0.0)],
    sort=False,
)
@given(histories(), st.booleans())
def test_every_sample_is_of_readings_close_together_and_no_reading_is_in_two(
    messages: list[Message], sort: bool
) -> None:
    readings, when = HeldReadings(), {}
    used: set[float] = set()
    for told, at in sorted(messages, key=lambda message: message.at) if sort else messages:
        when.update(dict.fromkeys(told.values(), at))
        before = readings
        taken = take(readings, told, at, RULE)
        readings, paired, late = taken.readings, only(taken), taken.late
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


@example([Message({name: float(n)}, 0.0) for n, name in enumerate("ayyyb")])
@given(histories())
def test_no_sample_is_missed_where_time_goes_on(messages: list[Message]) -> None:
    """Against another way to say the same: look at the last unused reading of every name."""
    readings: HeldReadings = HeldReadings()
    last: dict[str, Held] = {}
    for second, (told, _) in enumerate(messages):
        at = 3.0 * second
        taken = take(readings, told, at, RULE)
        readings, paired = taken.readings, only(taken)
        assert taken.late == 0
        last |= {name: Held(value, at) for name, value in told.items()}
        fresh = {name: held.value for name, held in last.items() if at - held.at < RULE.window}
        whole = set(fresh) == {"a", "b", "y"}
        assert (paired is not None and paired.target is not None) == whole
        if whole:
            assert paired is not None
            assert {**paired.inputs, "y": paired.target} == fresh
            last.clear()


TIMED = RULE._replace(timed=True)


def samples_of(messages: list[Message], rule: Rule = TIMED) -> tuple[list[Paired], int]:
    """All samples of some messages, and how many targets were given up."""
    readings, found, alone = HeldReadings(), [], 0
    for told, at in messages:
        taken = take(readings, told, at, rule)
        readings, alone = taken.readings, alone + taken.alone
        found += [paired for paired in taken.paired if paired.target is not None]
    return found, alone


def test_a_late_target_belongs_to_the_inputs_of_its_own_time() -> None:
    """A laboratory's value of each reading comes after the reading that follows it."""
    messages = []
    for n in range(40):
        messages.append(Message({"a": float(n), "b": -float(n)}, 4.0 * n))
        if n:
            messages.append(Message({"y": 10.0 * (n - 1)}, 4.0 * (n - 1)))
    found, alone = samples_of(messages)
    assert found == [Paired({"a": n, "b": -n}, 10.0 * n, 4.0 * n) for n in range(39)]
    assert alone == 0
    wrong, _ = samples_of(messages, RULE)
    assert all(paired.target != 10.0 * paired.inputs["a"] for paired in wrong)


def test_where_targets_come_more_often_the_nearest_counts_and_the_others_are_told() -> None:
    """Inputs at 0, 6 and 12, a target every two seconds."""
    messages = []
    for second in range(0, 14, 2):
        messages += [Message({"a": 1.0, "b": 2.0}, second)] if second % 6 == 0 else []
        messages.append(Message({"y": float(second)}, second))
    found, alone = samples_of(messages)
    assert [paired.target for paired in found] == [0.0, 6.0, 12.0]
    assert alone == 4


def test_a_target_after_which_nothing_is_read_for_long_is_not_lost() -> None:
    """Inputs at 0, their target stamped a second later, the next inputs after the window."""
    found, alone = samples_of(
        [Message({"a": 1.0, "b": 2.0}, 0.0), Message({"y": 3.0}, 1.0), Message({"a": 4.0}, 50.0)]
    )
    assert (found, alone) == ([Paired(*SAMPLE, 0.0)], 0)


def test_a_target_that_no_inputs_are_near_to_is_told() -> None:
    far = [Message({"a": 1.0, "b": 2.0}, 0.0), Message({"y": 3.0}, 15.0), Message({"a": 1.0}, 30.0)]
    for rule in (RULE, TIMED):
        assert samples_of(far, rule) == ([], 1)


def test_what_all_sources_share_is_not_used_up() -> None:
    shared = RULE._replace(shared=frozenset("b"))
    found, _ = samples_of([
        Message({"b": 2.0}, 0.0), Message({"a": 1.0, "y": 3.0}, 1.0),
        Message({"a": 1.0, "y": 3.0}, 9.0), Message({"a": 1.0, "y": 3.0}, 10.0),
    ], shared)  # fmt: skip
    assert found == [Paired(*SAMPLE, 1.0), Paired(*SAMPLE, 9.0)]  # and then b is too old


@given(histories())
def test_by_their_times_no_reading_that_came_is_nearer_to_a_target(messages: list[Message]) -> None:
    """Of the readings that are neither stale, nor used, nor older than one that was used."""
    readings, when = HeldReadings(), dict[float, float]()
    came: dict[str, set[float]] = {"a": set(), "b": set(), "y": set()}
    used: set[float] = set()
    for told, at in messages:
        for name, value in told.items():
            when[value] = at
            came[name].add(value)
        before, newest = readings.used, max(when.values())
        taken = take(readings, told, at, TIMED)
        readings = taken.readings
        for paired in taken.paired:
            if paired.target is None:
                continue
            for name, value in paired.inputs.items():
                away = abs(when[value] - when[paired.target])
                assert away < TIMED.window
                since = max(before.get(name, -1.0), newest - TIMED.window)
                others = {when[other] for other in came[name] - used if when[other] > since}
                assert all(away <= abs(other - when[paired.target]) for other in others)
            values = {*paired.inputs.values(), paired.target}
            assert not used & values
            used |= values
            before = {**before, **{name: when[paired.inputs[name]] for name in paired.inputs}}


def test_a_source_that_never_makes_a_sample_holds_little() -> None:
    """One input never comes: however much is told, a bounded part of it is kept."""
    readings: HeldReadings = HeldReadings()
    for n in range(300):
        readings = take(readings, {"a": 1.0, "y": 2.0}, 0.01 * n, TIMED).readings
    assert max(map(len, readings.held.values())) == 256
