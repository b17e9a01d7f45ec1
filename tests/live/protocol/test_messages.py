"""The exact bytes of what travels, and what is no message."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paofed.live.protocol.messages import (
    LARGEST,
    LAST_TICK,
    MOST_REPEATS,
    Hello,
    Message,
    Model,
    Read,
    Repeat,
    Reply,
    Reread,
    Update,
    Values,
    WireError,
    age_of,
    decode,
    encode,
    reread,
)
from tests.live.fleets import f32

SHARED, FEATURES = 4, 10

ONE, MINUS_TWO, HALF, ZERO = "0000803f", "000000c0", "0000003f", "00000000"
VALUES = f32(1.0, -2.0, 0.5, 0.0)
ON_THE_WIRE = ONE + MINUS_TWO + HALF + ZERO
WHOLE = f32(*[1.0, -2.0] * 5)


def read(data: bytes) -> Message:
    return decode(data, shared=SHARED, features=FEATURES)


def reason(data: bytes) -> str:
    with pytest.raises(WireError) as refused:
        read(data)
    return refused.value.reason


@pytest.mark.parametrize(
    ("message", "wire", "size"),
    [
        (Update(7, 0x01020304, VALUES), "20 07 04030201 00" + ON_THE_WIRE, 23),
        (Reply(255, 258, 9, VALUES), "21 ff 02010000 09" + ON_THE_WIRE, 23),
        (Hello(7), "22 07 00000000", 6),
        (Model(0, LAST_TICK, WHOLE), "23 00 ffffffff" + (ONE + MINUS_TWO) * 5, 6 + 4 * FEATURES),
        (Reread(200), "24 c8 00000000", 6),
        (Read(7, 200), "25 07 00000000 c8", 7),
        (Update(7, 1, VALUES, level=200), "20 07 01000000 c8" + ON_THE_WIRE, 23),
        (
            Update(7, 300, VALUES, (Repeat(1, VALUES[::-1], 9), Repeat(255, VALUES)), 128),
            f"20 07 2c010000 80 {ON_THE_WIRE} 0109 {ZERO}{HALF}{MINUS_TWO}{ONE} ff00 {ON_THE_WIRE}",
            23 + 2 * 18,
        ),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str | int) else "",
)
def test_every_kind_has_exactly_these_bytes(message: Message, wire: str, size: int) -> None:
    data = bytes.fromhex(wire)
    assert len(data) == size
    assert encode(message) == data
    back = read(data)
    assert type(back) is type(message)
    assert encode(back) == data


epochs = levels = st.integers(0, 255)
ticks = st.integers(0, LAST_TICK)


def values(count: int) -> st.SearchStrategy[Values]:
    number = st.floats(-LARGEST, LARGEST, width=32)
    return st.lists(number, min_size=count, max_size=count).map(lambda v: f32(*v))


@st.composite
def updates(draw: st.DrawFn) -> Update:
    tick = draw(ticks)
    earlier = st.integers(1, max(1, min(255, tick)))
    repeats = st.lists(st.builds(Repeat, earlier, values(SHARED), levels), max_size=MOST_REPEATS)
    kept = () if tick == 0 else tuple(draw(repeats))
    return Update(draw(epochs), tick, draw(values(SHARED)), kept, draw(levels))


messages = st.one_of(
    updates(),
    st.builds(Reply, epochs, ticks, st.integers(0, 255), values(SHARED)),
    st.builds(Hello, epochs),
    st.builds(Model, epochs, ticks, values(FEATURES)),
    st.builds(Reread, epochs),
    st.builds(Read, epochs, levels),
)


@given(messages)
def test_every_message_comes_back(message: Message) -> None:
    data = encode(message)
    back = read(data)
    assert type(back) is type(message)
    assert encode(back) == data


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    data = bytearray(encode(draw(messages)))
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(data) - 1))
        data[place] = draw(st.integers(0, 255))
    cut = draw(st.integers(0, len(data)))
    return draw(st.sampled_from([bytes(data), bytes(data[:cut]), bytes(data + data[cut:])]))


REASONS = ("length", "version", "kind", "tick", "not finite", "too large", "repeat")


@given(st.one_of(st.binary(max_size=100), mutated()))
@example(b"")
def test_any_bytes_are_refused_or_are_the_message_that_is_read(data: bytes) -> None:
    try:
        message = read(data)
    except WireError as error:
        refused = error
    else:
        assert encode(message) == data
        return
    assert refused.reason in REASONS
    assert "\n" not in str(refused)


@pytest.mark.parametrize("message", [Hello(7), Reread(7)])
def test_a_message_without_a_tick_has_zeros_there(message: Message) -> None:
    data = bytearray(encode(message))
    data[2] = 1
    assert reason(bytes(data)) == "tick"


@pytest.mark.parametrize(
    "message",
    [Update(7, 9, VALUES), Reply(7, 9, 0, VALUES), Hello(7), Model(7, 9, WHOLE), Reread(7)],
    ids=lambda message: type(message).__name__,
)
def test_every_length_is_checked_exactly(message: Message) -> None:
    data = encode(message)
    repeat = bytes([1]) + encode(Update(7, 9, VALUES))[6:]
    for length in range(len(data)):
        assert reason(data[:length]) == "length"
    for extra in range(1, 80):
        longer = data + (repeat * 5)[:extra]
        if isinstance(message, Update) and extra in (18, 36, 54):
            assert isinstance(read(longer), Update)
        else:
            assert reason(longer) == "length"


@pytest.mark.parametrize("version", [0, 1, 3, 15])
def test_other_versions(version: int) -> None:
    data = encode(Hello(7))
    assert reason(bytes([version << 4 | 2]) + data[1:]) == "version"


@pytest.mark.parametrize("kind", range(6, 16))
def test_other_kinds(kind: int) -> None:
    data = encode(Hello(7))
    assert reason(bytes([0x20 | kind]) + data[1:]) == "kind"


@pytest.mark.parametrize("bad", [np.nan, -np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", range(SHARED))
def test_numbers_that_are_not_finite(bad: float, place: int) -> None:
    values = VALUES.copy()
    values[place] = bad
    whole = WHOLE.copy()
    whole[place] = bad
    assert reason(encode(Update(7, 9, values))) == "not finite"
    assert reason(encode(Update(7, 9, VALUES, (Repeat(1, values),)))) == "not finite"
    assert reason(encode(Reply(7, 9, 0, values))) == "not finite"
    assert reason(encode(Model(7, 9, whole))) == "not finite"


@pytest.mark.parametrize(
    ("tick", "earlier", "right"),
    [(9, 0, False), (9, 1, True), (9, 9, True), (9, 10, False), (0, 1, False), (300, 255, True)],
)
def test_a_repeat_is_of_an_earlier_tick_from_0_on(tick: int, earlier: int, right: bool) -> None:
    data = encode(Update(7, tick, VALUES, (Repeat(earlier, VALUES),)))
    if right:
        assert encode(read(data)) == data
    else:
        assert reason(data) == "repeat"


def test_no_message_has_more_repeats_than_a_device_keeps() -> None:
    repeats = [Repeat(i + 1, VALUES) for i in range(MOST_REPEATS + 1)]
    assert encode(read(encode(Update(7, 9, VALUES, tuple(repeats[:-1])))))
    assert reason(encode(Update(7, 9, VALUES, tuple(repeats)))) == "length"


@given(st.integers(16, LAST_TICK - 16), st.integers(-16, 239))
def test_the_age_byte_says_which_update_is_answered(tick: int, age: int) -> None:
    reply = Reply(7, tick, age_of(tick, tick - age), VALUES)
    assert reply.answers == tick - age


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", False),
        (bytes.fromhex("2008000000"), False),  # too short for a header
        (bytes.fromhex("100800000000"), False),
        (bytes.fromhex("300800000000"), False),  # of a version to come
        (bytes.fromhex("200700000000"), False),  # of this epoch
        (bytes.fromhex("2f0800000000") + b"any length", True),
    ],
)
def test_who_is_told_to_read_the_manifest_again(data: bytes, *, told: bool) -> None:
    answer = reread(data, epoch=7)
    assert (answer is not None) == told
    if answer is not None:
        assert encode(answer) == bytes.fromhex("240700000000")
