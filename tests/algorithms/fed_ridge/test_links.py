"""Copies of sums, window by window: what is said when, and as which bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.algorithms.fed_ridge.device import FIRST, HOW_MANY, NUMBER
from paofed.algorithms.fed_ridge.links import (
    coefficients,
    copies,
    decode,
    encode,
)
from paofed.core.arrays import FloatArray
from paofed.core.parts import Bytes, Channel, Part, travelled
from paofed.core.sums import COUNT, SQUARES, size_of
from tests.algorithms.fed_ridge.cases import stamp

NUMBERS = size_of(9)
float32 = st.floats(width=32, allow_nan=False)


@st.composite
def windows(draw: st.DrawFn) -> Part:
    begin = draw(st.integers(1, NUMBERS - 1))
    values = draw(st.lists(float32, min_size=1, max_size=NUMBERS - begin))
    first = draw(st.integers(0, 2**32 - 1))
    coordinates = [0, *range(begin, begin + len(values))]
    return Part(np.array(coordinates), np.array([first, *values], dtype=float))


@given(windows())
def test_a_window_arrives_as_it_was_sent(part: Part) -> None:
    payload = encode(part, stamp(0, 0, NUMBERS))
    assert payload.dtype == np.uint8
    assert payload.size == 4 + 2 + 4 * (part.values.size - 1)
    found = decode(payload, stamp(0, 0, NUMBERS))
    np.testing.assert_array_equal(found.coordinates, part.coordinates)
    np.testing.assert_array_equal(found.values, part.values)


@given(windows(), st.sampled_from([np.nan, -1.0, -np.inf, np.inf, 2.0**40, 3.7]))
def test_a_number_that_cannot_travel_becomes_one_that_can(part: Part, number: float) -> None:
    """As where a broken device sends it."""
    part.values[0] = number
    found = decode(encode(part, stamp(0, 0, NUMBERS)), stamp(0, 0, NUMBERS))
    assert found.values[0] == {np.inf: 2**32 - 1, 2.0**40: 2**32 - 1, 3.7: 3}.get(number, 0)


@given(st.binary(min_size=4 + 2, max_size=4 + 2 + 4 * (NUMBERS - 1)))
def test_bytes_that_nobody_wrote_are_a_window_of_what_is_told(payload: bytes) -> None:
    whole = payload[: len(payload) - (len(payload) - 6) % 4]
    before = np.frombuffer(whole, np.uint8).copy()
    with np.errstate(invalid="ignore"):  # as engines do: bytes may be a NaN that signals
        part = decode(before, stamp(0, 0, NUMBERS))
    assert before.tobytes() == whole  # left alone
    first, window = part.coordinates[0], part.coordinates[1:]
    assert first == 0
    assert part.coordinates.size == part.values.size == 1 + (len(whole) - 6) // 4
    assert (np.diff(window) == 1).all()
    assert ((window >= 1) & (window < NUMBERS)).all()
    assert part.values[0] == int.from_bytes(whole[:4], "little")


def sums(n: float, seed: int = 0) -> FloatArray:
    found = np.random.default_rng(seed).normal(size=NUMBERS)
    found[:2] = 0.0, n
    return found


def told_one_after_the_other(
    channel: Channel, every: list[FloatArray]
) -> list[tuple[list[int], FloatArray]]:
    """The places and the values, the first number apart, of what is sent at one tick after another.

    Nothing where the sender is silent.
    """
    memory, found = channel.init(every[0].size), []
    for tick, numbers in enumerate(every):
        before = numbers.copy()
        part, memory = channel.send(numbers, memory, stamp(0, tick, numbers.size))
        np.testing.assert_array_equal(numbers, before)
        if part.coordinates.size:
            part, _ = travelled(channel, part, stamp(0, tick, numbers.size))
            assert part.coordinates[0] == 0
        found.append((part.coordinates[1:].tolist(), part.values))
    return found


@given(st.integers(1, NUMBERS + 3), st.integers(2, 60))
def test_copies_are_told_whole_of_one_moment_and_in_order(width: int, ticks: int) -> None:
    """A device that has a sample at each tick tells nothing of those that come during a copy."""
    every = [sums(tick + 1.0, seed=tick) for tick in range(ticks)]
    found = told_one_after_the_other(copies(width), every)
    assert all(values.size for _, values in found)  # there is news at every tick
    tick, number, reached = 0, 1, 0
    while tick < ticks:
        length = min(max(reached, width) + COUNT, NUMBERS)  # so long copies are by now
        moment, place = every[tick], int(COUNT)
        means = np.append(moment[: COUNT + 1], moment[SQUARES:] / moment[COUNT])
        while place < length and tick < ticks:
            places, values = found[tick]
            end = min(place + width, length)
            assert places == list(range(place, end))
            assert values[0] == number
            np.testing.assert_array_equal(values[1:], means[place:end].astype(np.float32))
            place, tick, reached = end, tick + 1, reached + width
        number += 1


@given(st.integers(1, 20))
def test_copies_become_longer_until_they_hold_everything(width: int) -> None:
    every = [sums(tick + 1.0) for tick in range(8 * NUMBERS)]
    found = told_one_after_the_other(copies(width), every)
    numbers = [int(values[0]) for _, values in found]
    lengths = [
        sum(len(places) for (places, _), n in zip(found, numbers, strict=True) if n == number)
        for number in range(1, numbers[-1])
    ]
    most = NUMBERS - COUNT
    doubled = [min(width * 2**i, most) for i in range(len(lengths))]
    assert lengths[0] == doubled[0]
    assert lengths[1:] == doubled[: len(lengths) - 1]  # as long as all copies before it together
    assert lengths[-1] == most
    assert all(lengths.count(length) <= 2 for length in lengths if length < most)


def test_nothing_is_said_without_news() -> None:
    quiet, loud = sums(0.0), [sums(n) for n in (1.0, 1.0, 1.0, 2.0, 2.0)]
    found = told_one_after_the_other(copies(NUMBERS), [quiet, quiet, *loud])
    assert [len(places) > 0 for places, _ in found] == [
        False,
        False,
        True,
        False,
        False,
        True,
        False,
    ]
    assert [values[0] for _, values in found if values.size] == [1.0, 2.0]


def shared_model(number: float, count: float, seed: int = 0) -> FloatArray:
    """A shared model of at most ten coefficients, as it is told."""
    shared = np.zeros(FIRST + 10)
    shared[NUMBER], shared[HOW_MANY] = number, count
    end = FIRST + int(min(max(count, 1), 10))
    shared[FIRST:end] = np.random.default_rng(seed).normal(size=end - FIRST)
    return shared


@given(st.integers(1, 12), st.integers(1, 60), st.data())
def test_shared_models_come_down_whole_of_one_moment(
    width: int, ticks: int, data: st.DataObject
) -> None:
    """Again and again, since messages are lost; what is fitted meanwhile waits for its turn."""
    counts = data.draw(st.lists(st.integers(1, 10), min_size=ticks, max_size=ticks))
    every = [shared_model(n // 3, counts[n // 3], seed=n // 3) for n in range(ticks)]
    found = told_one_after_the_other(coefficients(width), every)
    tick = 0
    while tick < ticks:
        moment, place = every[tick], HOW_MANY
        length = FIRST + int(moment[HOW_MANY])
        while place < length and tick < ticks:
            places, values = found[tick]
            end = min(place + width, length)
            assert places == list(range(place, end))
            assert values[0] == moment[NUMBER]
            np.testing.assert_array_equal(values[1:], moment[place:end].astype(np.float32))
            place, tick = end, tick + 1


@pytest.mark.parametrize(("count", "expected"), [(-3.0, 1), (0.0, 1), (2.7, 2), (1e9, 10)])
def test_a_count_of_coefficients_that_cannot_be_is_one_that_can(
    count: float, expected: int
) -> None:
    """Whatever is told, the window is of coefficients that there are."""
    told = [shared_model(1.0, count)] * 2
    (places, _), (again, _) = told_one_after_the_other(coefficients(99), told)
    assert places == again == list(range(HOW_MANY, FIRST + expected))


def test_bytes_are_few() -> None:
    """With sixteen numbers in a window: 70."""
    found: list[Bytes] = []
    channel = copies(16)
    memory = channel.init(NUMBERS)
    for tick in range(9):
        here = stamp(0, tick, NUMBERS)
        part, memory = channel.send(sums(tick + 1.0), memory, here)
        assert channel.encode is not None
        found.append(channel.encode(part, here))
    assert max(payload.size for payload in found) == 70
