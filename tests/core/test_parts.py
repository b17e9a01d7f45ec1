"""What a method is made of: its random numbers, what travels, and what a device takes over."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.arrays import FloatArray
from paofed.core.parts import (
    SERVER,
    Bytes,
    Channel,
    Part,
    Stamp,
    Weights,
    draws,
    float_bytes,
    keys_of,
    overwrite,
    rule_and_numbers,
    silence,
    travelled,
)
from paofed.core.random import child, key_of, philox
from paofed.core.selection import Windows
from paofed.world.realize import run_key, world_key
from tests.effort import effort

KEYS = keys_of(7)
STAMP = Stamp(client=3, tick=11, features=8, key=KEYS.up)

stamps = st.builds(
    Stamp,
    client=st.integers(SERVER, 2**31),
    tick=st.integers(0, 2**31),
    features=st.integers(1, 500),
    key=st.sampled_from(KEYS),
)


@given(stamp=stamps, count=st.integers(0, 30))
def test_draws_are_the_words_of_the_stamp_s_counter(stamp: Stamp, count: int) -> None:
    """Number i is word i mod 4 of block i div 4; the server is the client of all ones."""
    client = 2**32 - 1 if stamp.client == SERVER else stamp.client
    words = [int(philox(stamp.key, i // 4, client, stamp.tick, 0)[i % 4]) for i in range(count)]
    assert draws(stamp, count).tolist() == [word / 2**32 for word in words]


def test_draws_are_uniform_and_independent_of_their_neighbours() -> None:
    """7 bounds of 6 standard errors and a chi-squared of 63: false-alarm rate 2e-8 over seeds.

    Neighbours are the numbers of one stamp, of successive ticks, of successive clients.
    """
    some = range(effort(everyday=30, thorough=60))
    u = np.array([[draws(Stamp(k, n, 8, KEYS.up), 9) for n in some] for k in some])
    assert u.min() >= 0.0
    assert u.max() < 1.0
    for power in (1, 2, 3, 4):
        variance = 1 / (2 * power + 1) - 1 / (power + 1) ** 2
        assert abs((u**power).mean() - 1 / (power + 1)) < 6 * np.sqrt(variance / u.size)
    bins = np.bincount((u.ravel() * 64).astype(int), minlength=64)
    expected = u.size / 64
    chi_squared = ((bins - expected) ** 2 / expected).sum()
    assert chi_squared < 150
    centred = u - 0.5
    for axis in range(3):
        here, there = (np.moveaxis(centred, axis, 0)[cut] for cut in (slice(1, None), slice(-1)))
        assert abs((here * there).mean()) < 6 / 12 / np.sqrt(here.size)


@pytest.mark.parametrize(("seed", "world", "run"), [(0, 0, 0), (7, 2, 5), (2**64 - 1, 9, 9)])
def test_keys_are_a_branch_of_the_run_beside_nature_s(seed: int, world: int, run: int) -> None:
    keys = keys_of(seed, world, run)
    mine = child(child(key_of(seed), world), run, 3)
    assert list(keys) == [child(mine, purpose) for purpose in range(3)]
    the_world = world_key(seed, world)
    assert not {mine, *keys} & {the_world, run_key(the_world, run), child(the_world, 0, 1)}


@given(
    data=st.data(),
    size=st.integers(1, 40),
    coordinated=st.booleans(),
    ahead=st.integers(0, 1),
    client=st.integers(0, 300),
    tick=st.integers(0, 3000),
)
def test_windows_send_values_of_the_model_on_distinct_coordinates(
    data: st.DataObject, size: int, coordinated: bool, ahead: int, client: int, tick: int
) -> None:
    width = data.draw(st.none() | st.integers(1, size))
    windows, stamp = Windows(width, coordinated, ahead), Stamp(client, tick, size, KEYS.up)
    w = np.random.default_rng(0).normal(size=size)
    part, memory = windows.send(w, windows.init(size), stamp)
    assert len(set(part.coordinates.tolist())) == part.coordinates.size == (width or size)
    assert set(part.coordinates.tolist()) <= set(range(size))
    assert part.values.tolist() == [w[j] for j in part.coordinates.tolist()]
    assert part.coordinates.tolist() == windows(client, tick, size).tolist()
    assert memory == ()
    assert travelled(windows, part, stamp) == (part, 4 * part.coordinates.size)


def rounded(part: Part, stamp: Stamp) -> Bytes:
    """Values as whole numbers of one byte each, behind one byte for the client."""
    return np.array([stamp.client, *np.rint(part.values)], dtype=np.int8).view(np.uint8)


def restored(payload: Bytes, stamp: Stamp) -> Part:
    assert payload[0] == stamp.client
    return Part(Windows(3)(0, stamp.tick, stamp.features), payload[1:].view(np.int8).astype(float))


def sent(w: FloatArray, memory: Any, stamp: Stamp) -> tuple[Part, Any]:
    coordinates = Windows(3)(0, stamp.tick, stamp.features)
    return Part(coordinates, w[coordinates]), memory


def test_what_arrives_is_what_was_decoded_and_its_bytes_are_counted() -> None:
    channel = Channel(send=sent, encode=rounded, decode=restored)
    part, _ = channel.send(np.linspace(-9.6, 8.0, 8), (), STAMP)
    arrived, payload = travelled(channel, part, STAMP)
    assert arrived.coordinates.tolist() == part.coordinates.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(arrived.values, np.rint(part.values))
    assert payload == len(rounded(part, STAMP).tobytes()) == 4


def test_plain_values_keep_all_digits_and_count_as_float32() -> None:
    part, _ = sent(np.linspace(-9.6, 8.0, 8), (), STAMP)
    arrived, payload = travelled(Channel(send=sent), part, STAMP)
    assert arrived is part
    made = float_bytes(part.values)
    assert payload == made.size == 12
    assert made.dtype == np.uint8
    assert np.frombuffer(made.tobytes(), "<f4").tolist() == part.values.astype("<f4").tolist()


class Remembering(NamedTuple):
    """A state that holds more than a model."""

    heard: FloatArray
    w: FloatArray


@given(held=st.sets(st.integers(0, 7)), seed=st.integers(0, 99))
def test_overwrite_takes_over_the_part_and_nothing_else(held: set[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    before, heard = rng.normal(size=8), rng.normal(size=2)
    kept = before.copy()
    coordinates = rng.permutation(np.array(sorted(held), dtype=np.int64))
    part = Part(coordinates, rng.normal(size=coordinates.size))
    after = overwrite(Remembering(heard, before), part)
    said = dict(zip(part.coordinates.tolist(), part.values.tolist(), strict=True))
    assert after.w.tolist() == [said.get(j, before[j]) for j in range(8)]
    assert isinstance(after, Remembering)
    assert after.heard is heard
    assert before.tolist() == kept.tolist()


def test_silence_holds_nothing_and_changes_nothing() -> None:
    part = silence()
    assert (part.coordinates.size, part.values.size) == (0, 0)
    assert part.coordinates.dtype == np.int64
    w = np.arange(8.0)
    assert overwrite(Weights(w), part).w.tolist() == w.tolist()


def rule(*given: object) -> int:
    return len(given)


@pytest.mark.parametrize(
    "numbers",
    [
        (),
        (1,),
        (0.5, True, np.float32(2), np.bool_(1)),
        ((1, (2.5, 3)), 4),
        (np.arange(3), np.zeros((2, 2))),
    ],
)
def test_numbers_are_taken_from_a_rule(numbers: tuple[object, ...]) -> None:
    function, given = rule_and_numbers(partial(rule, *numbers))
    assert function is rule
    assert given == numbers or all(a is b for a, b in zip(given, numbers, strict=True))


@pytest.mark.parametrize(
    "whole",
    [
        rule,
        partial(rule, rule),
        partial(rule, 1, "word"),
        partial(rule, np.array(["word"])),
        partial(rule, np.zeros((3, 3)).T[::2]),
        partial(sorted, key=len),
    ],
)
def test_what_is_no_number_stays_with_its_rule(whole: object) -> None:
    assert rule_and_numbers(whole) == (whole, ())
