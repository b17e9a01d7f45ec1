"""Blocks: the values of a window as they travel, plain and of few bits."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray
from paofed.live.protocol.blocks import Blocks
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.messages import LARGEST, Repeat, Reply, Update, WireError, encode
from tests.live.fleets import manifest

SHARED, FEATURES = 5, 12
ALL_BITS = [*range(2, 17)]
numbers = st.floats(-LARGEST, LARGEST)
models = st.lists(numbers, min_size=FEATURES, max_size=FEATURES).map(np.array)
bits = st.sampled_from(ALL_BITS)


def agreed(up: int, down: int = 32, **changes: Any) -> Manifest:
    sizes = {"features": FEATURES, "shared": SHARED, "seed": 77}
    options = {"bits": up, "down_bits": down}
    return manifest(**{"algorithm": "quantised", **sizes, "options": options, **changes})


def refusal(blocks: Blocks, data: bytes) -> str:
    with pytest.raises(WireError) as refused:
        blocks.checked(data)
    assert not blocks.can_travel(np.frombuffer(data, np.uint8))
    assert "\n" not in str(refused.value)
    return refused.value.reason


def with_scale(block: NDArray[Any], scale: float) -> bytes:
    return np.float32(scale).tobytes() + block.tobytes()[4:]


@given(models, bits, st.integers(0, 9_999), st.integers(0, 2**32 - 1))
def test_what_arrives_is_the_window_within_a_level(
    w: FloatArray, width: int, device: int, tick: int
) -> None:
    up = agreed(width).up
    block = up.written(w, device, tick)
    assert block.nbytes == up.length == 4 + -(-SHARED * width // 8)
    part = up.read(up.checked(block.tobytes()), device, tick)
    np.testing.assert_array_equal(part.coordinates, up.coordinates(device, tick))
    sent = w[part.coordinates]
    level = np.abs(sent).max() / (2 ** (width - 1) - 1)
    np.testing.assert_allclose(part.values, sent, rtol=1e-6, atol=level * (1 + 1e-6))
    assert np.abs(part.values).max() <= LARGEST
    assert up.can_travel(block)


def test_rounding_is_drawn_by_seed_device_tick_and_direction() -> None:
    w, made = np.linspace(-1.0, 1.0, FEATURES), agreed(3, 3)
    whole = {"shared": FEATURES, "algorithm": "quantised"}
    one, other = agreed(3, 3, **whole), agreed(3, 3, **whole, seed=78)
    found = [one.up.block(w, 1, 12), one.up.block(w, 2, 12), one.up.block(w, 1, 24)]
    found += [one.down.block(w, 1, 12), other.up.block(w, 1, 12)]
    assert len({block.tobytes() for block in found}) == len(found)
    assert made.up.key != made.down.key


@given(bits, st.binary(min_size=40, max_size=40))
def test_any_bytes_are_refused_or_hold_numbers_within_their_scale(width: int, data: bytes) -> None:
    up = agreed(width).up
    data = data[: up.length]
    if not up.can_travel(np.frombuffer(data, np.uint8)):
        assert refusal(up, data) in ("not finite", "too large")
        return
    block, scale = up.checked(data), float(np.frombuffer(data[:4], "<f4")[0])
    assert block.tobytes() == data
    assert scale >= 0
    assert np.abs(up.read(block, 0, 0).values).max() <= scale


@given(bits, models)
def test_a_scale_that_cannot_be_is_refused_in_words(width: int, w: FloatArray) -> None:
    up = agreed(width).up
    block = up.block(np.ones(SHARED))
    for scale in (np.nan, np.inf, -np.inf, -1.0):
        assert refusal(up, with_scale(block, scale)) == "not finite"
    for scale in (3.4e38, 1.01 * LARGEST):
        assert refusal(up, with_scale(block, scale)) == "too large"
    assert up.checked(with_scale(up.written(w, 0, 0), 1.0)).size == up.length


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("width", [2, 8, 16])
def test_a_model_that_is_none_is_refused(bad: float, width: int) -> None:
    up, w = agreed(width).up, np.ones(FEATURES)
    w[up.coordinates(1, 9)[2]] = bad
    assert refusal(up, up.written(w, 1, 9).tobytes()) == "not finite"


@pytest.mark.parametrize("width", ALL_BITS)
def test_what_no_encoder_writes_is_refused(width: int) -> None:
    """The level beyond the last one, and anything behind the last level."""
    up = agreed(width).up
    block = up.block(np.zeros(SHARED))
    scaled = np.float32(1.0).tobytes()
    assert refusal(up, scaled + b"\xff" * (up.length - 4)) == "not finite"
    if SHARED * width % 8:
        last = bytes([block[-1] | 1])
        assert refusal(up, scaled + block.tobytes()[4:-1] + last) == "not finite"


@pytest.mark.parametrize("width", ALL_BITS)
def test_zeros_and_the_largest_arrive(width: int) -> None:
    up = agreed(width).up
    zeros = up.block(np.zeros(SHARED))
    assert not up.read(up.checked(zeros.tobytes()), 0, 0).values.any()
    largest = np.array([LARGEST, -LARGEST, 0.0, LARGEST, -LARGEST])
    for tick in range(20):
        block = up.block(largest, 1, tick)
        found = up.read(up.checked(block.tobytes()), 1, tick).values
        assert np.abs(found).max() <= LARGEST
    assert refusal(up, up.block(1.01 * largest).tobytes()) == "too large"


@pytest.mark.parametrize("width", [2, 7, 8, 16, 32])
def test_every_length_is_checked_exactly(width: int) -> None:
    fleet = agreed(width, width)
    up, down = fleet.up.block(np.ones(SHARED)), fleet.down.block(np.ones(SHARED))
    update = encode(Update(3, 9, up, (Repeat(1, up, 7), Repeat(2, up)), 200))
    reply = encode(Reply(3, 9, 0, down))
    assert len(update) == 7 + up.nbytes + 2 * (2 + up.nbytes)
    assert len(reply) == 7 + down.nbytes
    right = {7 + up.nbytes + repeats * (2 + up.nbytes) for repeats in range(3)}
    for message, lengths in ((update, right), (reply, {len(reply)})):
        assert encode(fleet.read(message)) == message
        for length in {*range(len(message)), len(message) + 1} - lengths:
            with pytest.raises(WireError) as refused:
                fleet.read((message + b"\0")[:length])
            assert refused.value.reason == "length"


def test_other_fleets_have_the_bytes_that_they_had() -> None:
    """Plain windows, and 32 bits, are float32 and nothing else."""
    w = np.linspace(-3.0, 4.0, FEATURES)
    for fleet in (agreed(32), agreed(8, algorithm="pao-fed-u1", options=None)):
        window = (SHARED * (9 + 1 + 2) + np.arange(SHARED)) % FEATURES
        assert fleet.up.written(w, 2, 9).tobytes() == w[window].astype("<f4").tobytes()
        window = (SHARED * (9 + 2) + np.arange(SHARED)) % FEATURES
        assert fleet.down.written(w, 2, 9).tobytes() == w[window].astype("<f4").tobytes()
        assert (fleet.up.length, fleet.down.length) == (4 * SHARED, 4 * SHARED)


def test_a_block_by_hand() -> None:
    """Values at the ends and in the middle need no chance: the levels of 8 bits are -127 to 127."""
    up = agreed(8).up
    block = up.block(np.array([1.0, -1.0, 0.0, 0.0, 1.0]), 1, 2)
    scale = np.nextafter(np.float32(1), np.float32(2))
    assert block.tobytes() == scale.tobytes() + bytes([254, 0, 127, 127, 254])
