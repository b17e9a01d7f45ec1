"""Sparse ternary compression: the largest changes as signs of one magnitude, positions as code.

F. Sattler, S. Wiedemann, K.-R. Mueller, W. Samek, "Robust and communication-efficient federated
learning from non-i.i.d. data", IEEE TNNLS 2020, arXiv:1903.02891.

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
from paofed.algorithms.rivals.channels.bits import (
    FLOAT,
    bits_of,
    bytes_as_floats,
    bytes_of,
    floats_as_bytes,
)
from paofed.algorithms.rivals.channels.choosing import largest
from paofed.algorithms.rivals.channels.golomb import length_of, read, remainder_bits, written
from paofed.algorithms.rivals.channels.top_k import Told, begin
from paofed.algorithms.rivals.newest import newest_steps
from paofed.algorithms.rivals.options import count
from paofed.core.arrays import FloatArray
from paofed.core.parts import Bytes, Channel, Message, Part, ServerRule, Stamp


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
    )
    # A message that repeats the server's values would be added to them, since the server takes it
    # as a change: so neither promise holds.
    server = ServerRule(apply=apply, init=begin_heard, waives=("fixed point", "convex hull"))
    return replace(pao_fed("u1", shared=down), name="ternary", uplink=uplink, server=server)
