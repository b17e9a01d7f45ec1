"""Every promise of a channel can be broken alone; uplinks and downlinks are tried in turn."""

from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from itertools import count, cycle
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import pytest

from paofed.checks import channels, check_algorithm, check_one
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.parts import Bytes, Channel, Part, Stamp, draws, float_bytes, silence
from paofed.core.selection import Windows
from paofed.errors import ContractError, InputError
from tests.checks.breaking import assert_breaks_only, broken_promises, with_part
from tests.effort import some

FOUR = Windows(4, coordinated=False)


class Memory(NamedTuple):
    """The last model sent over a link."""

    w: FloatArray


def begin(features: int) -> Memory:
    return Memory(np.zeros(features))


def at(stamp: Stamp) -> IntArray:
    return FOUR(stamp.client, stamp.tick, stamp.features)


def every_other_tick(w: FloatArray, memory: Any, stamp: Stamp) -> tuple[Part, Any]:
    return FOUR.send(w, memory, stamp) if stamp.tick % 2 else (silence(), memory)


def largest(w: FloatArray, memory: Any, _: Stamp) -> tuple[Part, Any]:
    coordinates = np.argsort(np.abs(w), kind="stable")[-3:]
    return Part(coordinates, w[coordinates]), memory


def doubled(w: FloatArray, memory: Any, stamp: Stamp) -> tuple[Part, Any]:
    return Part(at(stamp), 2 * w[at(stamp)]), memory


def remembers_in_place(w: FloatArray, memory: Memory, stamp: Stamp) -> tuple[Part, Memory]:
    memory.w[:] = w  # the second time nothing changes any more
    return Part(at(stamp), w[at(stamp)]), memory


def rounds_the_model(w: FloatArray, memory: Any, stamp: Stamp) -> tuple[Part, Any]:
    part = Part(at(stamp), w[at(stamp)])
    w[:] = np.round(w, 9)
    return part, memory


def whole_numbers(part: Part, _: Stamp) -> Bytes:
    return np.rint(part.values).astype(np.int8).view(np.uint8)


def from_whole_numbers(payload: Bytes, stamp: Stamp) -> Part:
    return Part(at(stamp), payload.view(np.int8).astype(float))


def floats(part: Part, _: Stamp) -> Bytes:
    return float_bytes(part.values)


def from_floats(payload: Bytes, stamp: Stamp) -> Part:
    return Part(at(stamp), payload.view("<f4").astype(float))


def emptied(payload: Bytes, stamp: Stamp) -> Part:
    part = from_floats(payload, stamp)
    payload[:] = 0
    return part


def sorted_in_place(part: Part, stamp: Stamp) -> Bytes:
    made = floats(part, stamp)
    part.values.sort()
    return made


def counting() -> Callable[..., tuple[Part, Memory]]:
    calls = count()

    def send(w: FloatArray, memory: Memory, stamp: Stamp) -> tuple[Part, Memory]:
        return FOUR.send(w, (), stamp)[0], Memory(np.full_like(memory.w, next(calls)))

    return send


def peeping() -> Channel:
    """What `decode` makes is what was sent last, whatever the bytes are."""
    last: list[Part] = []

    def send(w: FloatArray, memory: Any, stamp: Stamp) -> tuple[Part, Any]:
        last[:] = [largest(w, memory, stamp)[0]]
        return last[0], memory

    return Channel(send=send, encode=floats, decode=lambda *_: last[0])


def noisy_bytes() -> Channel:
    """A byte that nobody needs differs each time."""
    calls = count()

    def encode(part: Part, stamp: Stamp) -> Bytes:
        return np.append(floats(part, stamp), np.uint8(next(calls) % 256))

    def decode(payload: Bytes, stamp: Stamp) -> Part:
        return from_floats(payload[:-1], stamp)

    return Channel(send=FOUR.send, encode=encode, decode=decode)


def noisy_values() -> Channel:
    """The last digits of what arrives differ each time."""
    calls = count()

    def decode(payload: Bytes, stamp: Stamp) -> Part:
        part = from_floats(payload, stamp)
        return part._replace(values=part.values * (1 + 1e-14 * next(calls)))

    return Channel(send=FOUR.send, encode=floats, decode=decode)


BESIDE: dict[tuple[int, int], Part] = {}  # what a forger's `encode` hands to its `decode`


def forged(part: Part, stamp: Stamp) -> Bytes:
    """One byte, whatever is sent."""
    BESIDE[stamp.client, stamp.tick] = part
    return np.zeros(1, dtype=np.uint8)


def from_beside(_: Bytes, stamp: Stamp) -> Part:
    return BESIDE[stamp.client, stamp.tick]


ALONE = "arguments left alone"
KNOWN = "coordinates known to both"
UNKNOWN = (
    "sends coordinates that depend on the model or on its memory: the receiver cannot know them, "
    "so give `encode` and `decode` that let them travel"
)
ELSEWHERE = (
    "hands values over beside its bytes: where another process decodes them, its downlink's decode "
    "raised KeyError: (0, 0); what arrives must follow from the bytes and the stamp alone"
)
BROKEN: list[tuple[str, Channel, str]] = [
    ("never silent", Channel(send=every_other_tick), "sends nothing for client 0 at tick 0"),
    (KNOWN, Channel(send=largest), UNKNOWN),
    (
        "values survive",
        Channel(send=FOUR.send, encode=whole_numbers, decode=from_whole_numbers),
        "delivers other values than were sent, beyond the rounding of float32",
    ),
    ("values of the model", Channel(send=doubled), "sends values that are not the model's"),
    (
        ALONE,
        Channel(send=remembers_in_place, init=begin),
        "changes what send was given: work on a copy",
    ),
    (ALONE, Channel(send=rounds_the_model), "changes what send was given: work on a copy"),
    (
        ALONE,
        Channel(send=FOUR.send, encode=sorted_in_place, decode=from_floats),
        "changes what encode was given: work on a copy",
    ),
    (
        ALONE,
        Channel(send=FOUR.send, encode=floats, decode=emptied),
        "changes what decode was given: work on a copy",
    ),
    (
        "repeats itself",
        Channel(send=counting(), init=begin),
        "sends something else when asked again: its random numbers must come from draws",
    ),
    (
        "repeats itself",
        noisy_bytes(),
        "encodes other bytes when asked again: draw random numbers with draws",
    ),
    ("repeats itself", noisy_values(), "decodes the same bytes otherwise when asked again"),
    (
        "bytes are enough",
        Channel(send=FOUR.send, encode=forged, decode=from_beside),
        ELSEWHERE,
    ),
]


DIRECTIONS = ("uplink", "downlink")


@pytest.mark.parametrize(
    ("direction", "broken"), list(zip(cycle(DIRECTIONS), BROKEN, strict=False))
)
def test_each_promise_can_be_broken_alone(direction: str, broken: tuple[str, Channel, str]) -> None:
    promise, channel, complaint = broken
    assert_breaks_only(promise, direction, channel, complaint)


def test_these_are_all_promises_of_a_channel() -> None:
    elsewhere = {"coordinates are coordinates", "can be served"}  # tests/checks/test_served.py
    tried = {promise for promise, _, _ in BROKEN} | elsewhere
    assert tried == set(channels.PROMISES)


def twice(w: FloatArray, memory: Any, stamp: Stamp) -> tuple[Part, Any]:
    coordinates = np.full(2, stamp.tick % stamp.features)
    return Part(coordinates, w[coordinates]), memory


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_coordinates_that_are_none_cannot_be_waived(direction: str) -> None:
    """No engine could do anything with them."""
    for waived in ((), ("coordinates are coordinates",)):
        told = broken_promises(with_part(direction, Channel(send=twice), *waived))
        words = f"its {direction}'s send returned coordinate 0 twice: expected distinct ones"
        assert all(text.endswith(words) for text in told.values())
        assert ("coordinates are coordinates" in told) == (not waived)
        assert {"never silent", "engines agree"} <= set(told)


def test_decode_is_given_the_bytes_alone() -> None:
    """What a closure remembers of the sender is not at the receiver's."""
    with pytest.raises(ContractError, match="of what encode made"):
        check_one(KNOWN, with_part("uplink", peeping()))


def masked(w: FloatArray, memory: Any, stamp: Stamp) -> tuple[Part, Any]:
    """Random coordinates that both sides draw."""
    coordinates = np.argsort(draws(stamp, stamp.features))[:5]
    return Part(coordinates, w[coordinates]), memory


def when_changed(w: FloatArray, memory: Memory, stamp: Stamp) -> tuple[Part, Memory]:
    """Silent unless the model has moved, or a heartbeat is due."""
    if stamp.tick % 8 and np.abs(w - memory.w).max() < 1e-3:
        return silence(), memory
    return Part(at(stamp), w[at(stamp)]), Memory(w.copy())


def indexed(width: int) -> Channel:
    """The largest values, with their coordinates as numbers of `width` bytes."""

    def encode(part: Part, stamp: Stamp) -> Bytes:
        indices = part.coordinates.astype(f"<u{width}").view(np.uint8)
        return np.concatenate([indices, floats(part, stamp)])

    def decode(payload: Bytes, _: Stamp) -> Part:
        end = payload.size // (width + 4) * width
        indices = payload[:end].view(f"<u{width}").astype(np.int64)
        return Part(indices, payload[end:].view("<f4").astype(float))

    return Channel(send=largest, encode=encode, decode=decode)


@pytest.mark.parametrize(
    ("channel", "direction", "waived"),
    some(
        [
            (Channel(send=masked), "uplink", set()),
            (indexed(2), "downlink", set()),
            (Channel(send=when_changed, init=begin), "uplink", {"never silent"}),
            (Channel(send=when_changed, init=begin), "downlink", {"never silent"}),
            (Channel(send=FOUR.send, encode=floats, decode=from_floats), "uplink", set()),
        ],
        everyday=1,
    ),
)
def test_good_channels_keep_what_they_do_not_waive(
    channel: Channel, direction: str, waived: set[str]
) -> None:
    assert set(broken_promises(with_part(direction, channel))) == waived
    if waived:
        assert not broken_promises(with_part(direction, channel, *waived))


@pytest.mark.parametrize("features", [None, 400])
def test_coordinates_that_have_no_room_in_a_byte(features: int | None) -> None:
    """A large model is tried without being asked for, and so is any size that is asked for."""
    small, large = (with_part("uplink", indexed(width)) for width in (1, 2))
    words = r"its uplink sends \[.*\], but decode makes \[.*\] of what encode made"
    with pytest.raises(ContractError, match=words):
        check_one(KNOWN, small, features=features)
    check_one(KNOWN, small, features=256)
    check_one(KNOWN, large, features=features)


@pytest.mark.parametrize("features", [7, 48.0, "48"])
def test_a_size_that_is_none(features: Any) -> None:
    with pytest.raises(InputError, match=r"features is .*: expected a whole number from 8 on"):
        check_one(KNOWN, "pao-fed-u1", features=features)


def test_the_smallest_size_is_enough_for_every_check() -> None:
    check_algorithm("pao-fed-u1", features=8)


def hashed() -> Channel:
    """A forger in a closure, whose eight bytes find the values, whatever the order is."""
    held: dict[bytes, Part] = {}

    def encode(part: Part, _: Stamp) -> Bytes:
        key = np.frombuffer(blake2b(part.values.tobytes(), digest_size=8).digest(), dtype=np.uint8)
        held[key.tobytes()] = part
        return key

    return Channel(send=FOUR.send, encode=encode, decode=lambda key, _: held[key.tobytes()])


def test_bytes_that_only_find_the_values_are_not_enough() -> None:
    """What the closure held when the other process was started is there, and helps nothing."""
    mine = with_part("uplink", hashed())
    for _ in range(2):
        with pytest.raises(ContractError, match="decodes them, its uplink's decode raised KeyErro"):
            check_one("bytes are enough", mine)


def test_a_method_of_any_name_is_told_by_its_complaint() -> None:
    mine = with_part("uplink", Channel(send=FOUR.send, encode=forged, decode=from_beside))
    with pytest.raises(ContractError) as told:
        check_one("bytes are enough", replace(mine, name="mine: its own"))
    words = ELSEWHERE.replace("its downlink's", "its uplink's")
    assert (
        str(told.value) == f"mine: its own fails the check 'bytes are enough': its uplink {words}"
    )


def test_a_decoder_that_cannot_be_sent_to_another_process() -> None:
    lock = Lock()

    def decode(payload: Bytes, stamp: Stamp) -> Part:
        with lock:
            return from_floats(payload, stamp)

    mine = with_part("uplink", Channel(send=FOUR.send, encode=floats, decode=decode))
    with pytest.raises(ContractError, match=r"its uplink cannot be sent to another process \("):
        check_one("bytes are enough", mine)
