"""Sparse ternary compression: the largest changes as signs of one magnitude, positions as code.

F. Sattler, S. Wiedemann, K.-R. Mueller, W. Samek, "Robust and communication-efficient federated
learning from non-i.i.d. data", IEEE TNNLS 2020, arXiv:1903.02891. Positions are Golomb's
code of the gaps between them.

A change is that of the device's model, by learning and by what it heard. The published server adds
the mean of what arrives to a model that all clients have. Here each device has its own, so the
server keeps the sum of what each sent, and takes it for the device's values on the coordinates that
a message holds: the newest, divided by class. A coordinate of the k largest that has not moved at
all counts as +.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.algorithms.pao_fed import pao_fed
from paofed.algorithms.rivals.channels.encoding import (
    FLOAT,
    bits_of,
    bytes_as_floats,
    bytes_of,
    floats_as_bytes,
    largest,
)
from paofed.algorithms.rivals.channels.top_k import Told, begin
from paofed.algorithms.rivals.options import FOR_EACH, OF_A_LINK, count
from paofed.algorithms.rivals.steps import newest_steps
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.parts import Bytes, Channel, Message, Part, ServerRule, Stamp

_PHI = (1.0 + 5.0**0.5) / 2.0  # the golden ratio


def remainder_bits(count: int, features: int) -> int:
    """Return b* = 1 + floor(log2(log(phi - 1) / log(1 - p))), the best b for the density p.

    The density is p = count / features. The loop finds the smallest b from 0 on with (1 - p)^(2^b)
    < phi - 1: the same number, but defined for p = 1 as well.

    >>> remainder_bits(4, 200)
    5
    """
    kept, b = 1.0 - count / features, 0
    while kept ** (1 << b) >= _PHI - 1.0:
        b += 1
    return b


def length_of(positions: IntArray, b: int) -> int:
    """Return how many bits `written` takes."""
    length, before = 0, -1
    for position in positions:
        length += ((position - before - 1) >> b) + 1 + b
        before = position
    return length


def written(positions: IntArray, b: int) -> Bytes:
    """Write ascending positions as Golomb's code of the gaps between them.

    A gap counts the positions left out since the one before. It is written as a 1 for every whole
    2^b in it, a 0, and its remainder in b bits: with b = 2, a gap of 6 is 1 0 10.
    """
    bits = np.zeros(length_of(positions, b), dtype=np.uint8)
    place, before = 0, -1
    for position in positions:
        gap = position - before - 1
        for _ in range(gap >> b):
            bits[place] = 1
            place += 1
        place += 1
        for i in range(b):
            bits[place] = (gap >> (b - 1 - i)) & 1
            place += 1
        before = position
    return bits


def read(bits: Bytes, b: int, count: int) -> IntArray:
    """Read `count` positions from the bits that `written` made with the same b."""
    positions = np.empty(count, dtype=np.int64)
    place, before = 0, -1
    for j in range(count):
        gap = 0
        while bits[place]:
            gap += 1
            place += 1
        place += 1
        for _ in range(b):
            gap = 2 * gap + int(bits[place])
            place += 1
        before += gap + 1
        positions[j] = before
    return positions


def send(
    k: int,
    w: FloatArray,
    memory: Told,
    stamp: Stamp,  # noqa: ARG001 (the interface of a `send`)
) -> tuple[Part, Told]:
    """Send the k largest changes as signs of their mean size; the rest is sent later.

    The model less what was told so far is the new change and the residual of earlier messages in
    one.
    """
    missing = w - memory.values
    chosen = largest(np.abs(missing), k)
    size = float(np.float32(np.mean(np.abs(missing[chosen]))))
    values = np.where(missing[chosen] < 0.0, -size, size)
    told = memory.values.copy()
    for i, c in enumerate(chosen):
        told[c] += values[i]
    return Part(chosen, values), Told(told)


def encode(part: Part, stamp: Stamp) -> Bytes:
    """Write the magnitude as float32, then the code of the positions, then a bit for each sign."""
    b = remainder_bits(part.values.size, stamp.features)
    signs = (part.values < 0.0).astype(np.uint8)
    bits = bytes_of(np.concatenate((written(part.coordinates, b), signs)))
    return np.concatenate((floats_as_bytes(np.abs(part.values[:1])), bits))


def decode(k: int, payload: Bytes, stamp: Stamp) -> Part:
    """Read what `encode` wrote."""
    size = min(k, stamp.features)
    b = remainder_bits(size, stamp.features)
    magnitude, bits = bytes_as_floats(payload[:FLOAT])[0], bits_of(payload[FLOAT:])
    coordinates = read(bits, b, size)
    first = length_of(coordinates, b)
    signs = 1.0 - 2.0 * bits[first : first + size]
    return Part(coordinates, magnitude * signs)


class Heard(NamedTuple):
    """The server's model, and for each client the sum of what it has sent."""

    w: FloatArray  # (D,)
    clients: FloatArray  # (K, D)


def begin_heard(features: int, clients: int) -> Heard:
    """Begin with models of zeros."""
    return Heard(np.zeros(features), np.zeros((clients, features)))


def apply(state: Heard, messages: Sequence[Message], stamp: Stamp) -> Heard:
    """Add every change to what its client sent before, then average over the newest messages."""
    if len(messages) == 0:
        return state
    heard = state.clients.copy()
    for message in messages:
        for i, c in enumerate(message.coordinates):
            heard[message.client, c] += message.values[i]
    models = [
        Message(m.client, m.sent, m.coordinates, heard[m.client][m.coordinates]) for m in messages
    ]
    steps, _ = newest_steps(state.w, models, stamp.tick)
    return Heard(state.w + steps, heard)


def ternary(*, k: int = 4, down: int = 4) -> Algorithm:
    """PAO-Fed-U1 whose clients send the k largest changes as signs; `down` values come back."""
    count("down", down)
    uplink = Channel(
        send=partial(send, count("k", k)),
        init=begin,
        encode=encode,
        decode=partial(decode, k),
        waives=("values of the model",),  # changes travel instead of values
        why_not=OF_A_LINK,
    )
    # A message that repeats the server's values would be added to them, since the server takes it
    # as a change: so neither promise holds.
    server = ServerRule(
        apply=apply,
        init=begin_heard,
        waives=("fixed point", "convex hull"),
        why_not=FOR_EACH,
    )
    return replace(pao_fed("u1", shared=down), name="ternary", uplink=uplink, server=server)
