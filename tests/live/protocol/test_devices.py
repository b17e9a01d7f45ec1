"""What the server remembers of each device."""

import inspect
import re
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.live.protocol import coordinator, messages
from paofed.live.protocol.coordinator import TOLERANCE
from paofed.live.protocol.devices import REASONS, Devices

some = st.sampled_from([0, 1, 7, 8, 70])
events = st.one_of(
    st.tuples(st.just("add"), some, st.just(0)),
    st.tuples(st.just("mark"), some, st.integers(-6, 2)),
    st.tuples(st.just("forget"), st.just(0), st.sampled_from([0, 1, 1, 2, 5, 20])),
    st.tuples(st.just("save"), st.just(0), st.just(0)),
)


@given(st.integers(0, 6), st.lists(events, max_size=60))
def test_the_bits_are_a_set_of_device_and_tick(
    max_age: int, history: list[tuple[str, int, int]]
) -> None:
    window = max_age + TOLERANCE + 1
    devices, now = Devices(window), max_age
    known: set[int] = set()
    accepted: set[tuple[int, int]] = set()
    for event, device, number in history:
        match event:
            case "add":
                devices.add(device)
                known.add(device)
            case "mark" if device in known:
                tick = now + max(number, -max_age)
                devices.mark(device, tick)
                accepted.add((device, tick))
            case "forget":
                devices.forget(now + TOLERANCE + 1, now + number + TOLERANCE)
                now += number
            case "save":
                devices = Devices.of(devices.arrays())
        in_time = range(now - max_age, now + TOLERANCE + 1)
        for k in known:
            assert [t for t in in_time if devices.has(k, t)] == [
                t for t in in_time if (k, t) in accepted
            ]
        assert len(devices) == len(known)
        assert [k for k in range(-2, 80) if devices.knows(k)] == sorted(known)


@pytest.mark.parametrize("step", [1, 2, 3, 6, 7, 8, 100])
def test_a_row_is_forgotten_when_its_next_tick_comes_within_reach(step: int) -> None:
    devices, window = Devices(7), 7
    devices.add(0)
    for tick in range(7):
        devices.mark(0, tick)
    devices.forget(7, 6 + step)
    left = [tick for tick in range(step, step + window) if devices.has(0, tick)]
    assert left == list(range(step, 7))


def test_growing_keeps_what_was_known() -> None:
    devices = Devices(5)
    for device in range(100):
        devices.add(device)
        devices.mark(device, device)
        devices.good(device, device)
        devices.quarantined[device] = device % 2 == 0
    for device in range(100):
        assert devices.has(device, device)
        assert devices.last_seen[device] == device
        assert devices.messages[device] == 1
        assert devices.quarantined[device] == (device % 2 == 0)
    assert len(devices) == 100


def test_a_new_device_was_never_seen() -> None:
    devices = Devices(5)
    devices.add(20)
    assert (devices.last_seen[20], devices.refused[20], devices.messages[20]) == (-1, 0, 0)
    assert (devices.heard[20], devices.hellos[20]) == (0, 0)
    assert not devices.quarantined[20]
    assert not any(devices.has(20, tick) for tick in range(5))
    assert not devices.knows(19)
    devices.add(3)
    assert [devices.knows(k) for k in (3, 19, 20)] == [True, False, True]


def test_refusals_count_in_a_row() -> None:
    devices = Devices(5)
    devices.add(1)
    assert [devices.refuse(1, "length", 5) for _ in range(3)] == [1, 2, 3]
    assert (devices.refused_since[1], REASONS[devices.refused_why[1]]) == (5, "length")
    devices.good(1, 9)
    assert devices.refused_since[1] == -1
    assert devices.refuse(1, "too old", 11) == 1
    assert devices.refuse(1, "a word of tomorrow", 12) == 2
    assert (devices.refused_since[1], REASONS[devices.refused_why[1]]) == (11, "")
    assert (devices.messages[1], devices.refusals[1]) == (1, 5)


def test_it_comes_back_from_arrays_and_shares_none() -> None:
    devices = Devices(5)
    for device in (0, 3, 17):
        devices.add(device)
        devices.mark(device, 7 + device)
        devices.good(device, 7)
        devices.refuse(device, "length", 5)
    devices.quarantined[17] = True
    arrays = devices.arrays()
    back = Devices.of(arrays)
    assert arrays["known"].size == 24
    for name, column in back.arrays().items():
        assert column.dtype == arrays[name].dtype
        assert column.tolist() == arrays[name].tolist()
    back.mark(0, 4)
    back.add(40)
    assert not devices.has(0, 4)
    assert back.has(17, 24)
    assert not devices.knows(40)


@pytest.mark.parametrize("one_by_one", [True, False])
def test_a_device_takes_less_than_200_bytes(one_by_one: bool) -> None:
    devices = Devices(60 + TOLERANCE + 1)
    for device in range(10_000) if one_by_one else [*range(0, 10_000, 50), 9_999]:
        devices.add(device)
    held = sum(
        sys.getsizeof(column) for column in vars(devices).values() if isinstance(column, np.ndarray)
    )
    assert held < 200 * 10_000
    saved = sum(column.nbytes for column in devices.arrays().values())
    assert saved < 200 * 10_000


@pytest.mark.parametrize(
    ("count", "other"), [(Devices.hear, "hellos"), (Devices.greet, "heard")], ids=["all", "hellos"]
)
def test_messages_are_counted_device_by_device_until_the_tick_is_over(
    count: Callable[[Devices, int], int], other: str
) -> None:
    devices = Devices(5)
    devices.add(1)
    devices.add(2)
    before = {name: column.tolist() for name, column in devices.arrays().items()}
    assert [count(devices, 1) for _ in range(3)] == [1, 2, 3]
    assert count(devices, 2) == 1
    assert not getattr(devices, other).any()  # a count of its own
    assert {name: column.tolist() for name, column in devices.arrays().items()} == before
    devices.add(90)
    assert (count(devices, 90), count(devices, 1)) == (1, 4)
    devices.new_tick()
    assert [count(devices, k) for k in (1, 2, 90)] == [1, 1, 1]


def test_the_count_of_messages_stops_before_it_would_begin_anew() -> None:
    devices = Devices(5)
    devices.add(1)
    most = np.iinfo(devices.heard.dtype).max
    devices.heard[1] = most - 2
    assert [devices.hear(1) for _ in range(4)] == [most - 1, most, most, most]


def test_what_was_heard_in_a_tick_is_not_kept() -> None:
    devices = Devices(5)
    devices.add(9)
    devices.hear(9)
    devices.greet(9)
    back = Devices.of(devices.arrays())
    assert not {"heard", "hellos"} & set(devices.arrays())
    assert back.heard.size == back.hellos.size == back.known.size
    assert (back.hear(9), back.greet(9)) == (1, 1)


def test_every_reason_has_a_number() -> None:
    for module in (coordinator, messages):
        source = inspect.getsource(module)
        said = re.findall(r'(?:_refuse\(device,|WireError\() ?"([^"]+)"', source)
        assert said
        assert set(said) <= set(REASONS)
    assert len(set(REASONS)) == len(REASONS)
