"""What says that it is served in a live fleet can be."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from paofed.algorithms import algorithm
from paofed.algorithms.setup import resolve
from paofed.checks import check_one
from paofed.core.arrays import FloatArray
from paofed.core.parts import (
    Bytes,
    Channel,
    Learner,
    Message,
    Part,
    ServerRule,
    Stamp,
    Weights,
    float_bytes,
    silence,
)
from paofed.errors import ContractError
from tests.effort import some

U1 = algorithm("pao-fed-u1")


def by_client(features: int, clients: int) -> Weights:
    return Weights(np.full(features, float(clients)))


def ages(state: Weights, _: Sequence[Message], __: Stamp) -> Weights:
    return Weights(state.w + 1)


class Pair(NamedTuple):
    model: FloatArray
    more: FloatArray


def steps_by_tick(state: Weights, z: FloatArray, y: float, mu: float, tick: int) -> Weights:
    return Weights(state.w + mu / (1 + tick) * (y - state.w @ z) * z)


def pair(features: int) -> Pair:
    return Pair(np.zeros(features), np.zeros(1))


def of_pair(state: Pair) -> FloatArray:
    return state.model


SERVER = ServerRule(apply=lambda state, *_: state, served=True)
LEARNER = Learner(learn=lambda state, *_: state, served=True)


def send(w: FloatArray, memory: Any, stamp: Stamp) -> tuple[Part, Any]:
    where = np.arange(2) + 2 * (stamp.tick % 3)
    return Part(where, w[where]), memory


def send_largest(w: FloatArray, memory: Any, _: Stamp) -> tuple[Part, Any]:
    where = np.argsort(w)[-2:]
    return Part(where, w[where]), memory


def send_rarely(w: FloatArray, memory: Any, stamp: Stamp) -> tuple[Part, Any]:
    return send(w, memory, stamp) if w[0] > 0 else (silence(), memory)


def encode(part: Part, _: Stamp) -> Bytes:
    return float_bytes(part.values)


def encode_short(part: Part, _: Stamp) -> Bytes:
    return float_bytes(part.values[part.values > 0])


def decode(payload: Bytes, stamp: Stamp) -> Part:
    where = np.arange(2) + 2 * (stamp.tick % 3)
    return Part(where, payload[:8].view(np.float32).astype(float))


def decode_by_tick(payload: Bytes, stamp: Stamp) -> Part:
    where, values = decode(payload, stamp)
    return Part(where, values + stamp.tick)


CHANNEL = Channel(send=send, encode=encode, decode=decode, served=True)
DEPENDS = "the values of its bytes depend on the stamp"


@pytest.mark.parametrize(
    ("part", "record", "complaint"),
    [
        ("uplink", replace(CHANNEL, init=lambda _: Weights(np.zeros(1))), "remembers something"),
        ("uplink", replace(CHANNEL, send=send_largest), "do not follow from the stamp"),
        ("downlink", replace(CHANNEL, send=send_rarely), "do not follow from the stamp"),
        ("uplink", replace(CHANNEL, encode=encode_short), "its messages differ in length"),
        ("downlink", replace(CHANNEL, decode=decode_by_tick), DEPENDS),
        ("server", replace(SERVER, init=by_client), "begins otherwise for another number"),
        ("server", replace(SERVER, apply=ages), "does not rest when no message arrives"),
        ("learner", replace(LEARNER, init=pair, model=of_pair), "keeps no model as the field w"),
        ("learner", replace(LEARNER, model=lambda s: 2 * s.w + 1), "keeps no model as the field w"),
        ("learner", replace(LEARNER, learn=steps_by_tick), "its step depends on the tick"),
    ],
)
def test_what_says_that_it_is_served_can_be(part: str, record: Any, complaint: str) -> None:
    with pytest.raises(
        ContractError, match=f"its {part} says that it is served, but .*{complaint}"
    ):
        check_one("can be served", replace(U1, **{part: record}))
    check_one("can be served", replace(U1, **{part: replace(record, served=False)}))


@pytest.mark.parametrize(
    "channel", [CHANNEL, replace(CHANNEL, encode=None, decode=None)], ids=["coded", "plain"]
)
def test_a_channel_that_can_be_served_may_say_so(channel: Channel) -> None:
    check_one("can be served", replace(U1, uplink=channel, downlink=channel))


@pytest.mark.parametrize("bits", some([5, 2, 8, 16], everyday=1))
def test_windows_of_few_bits_can_be_served(bits: int) -> None:
    row = resolve(f"quantised:bits={bits},down_bits={bits}")
    assert row.uplink.served
    assert row.downlink.served
    check_one("can be served", row)
