"""Top-k with error feedback, as EF21: what has moved most since the server heard of it.

P. Richtarik, I. Sokolov, I. Fatkhullin, "EF21: a new, simpler, theoretically better, and
practically faster error feedback", NeurIPS 2021, arXiv:2106.05203.

Values of the model travel rather than differences: the same for a receiver that heard everything,
and no harm on these coordinates to one that did not. The published server steps along the mean of
all that was told; here it is the paper's, and the newest values that arrive move its own. The
memory believes that every message arrived; what was lost is told again when it has moved enough. A
coordinate that was taken over has moved, too, and may be sent back.
"""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.algorithms.pao_fed import pao_fed
from paofed.algorithms.rivals.channels.encoding import (
    FLOAT,
    bytes_as_floats,
    floats_as_bytes,
    largest,
    packed,
    unpacked,
    width_of,
)
from paofed.algorithms.rivals.options import OF_A_LINK, count
from paofed.core.arrays import FloatArray
from paofed.core.parts import Bytes, Channel, Part, Stamp, placed


class Told(NamedTuple):
    """What the server has heard of this client if no message was lost: g in EF21."""

    values: FloatArray  # (D,)


def begin(features: int) -> Told:
    """Begin with a model of zeros, as server and device do."""
    return Told(np.zeros(features))


def send(
    k: int,
    w: FloatArray,
    memory: Told,
    stamp: Stamp,  # noqa: ARG001 (the interface of a `send`)
) -> tuple[Part, Told]:
    """Send the k values of the model that differ most from what the server was told.

    EF21 sends the difference, which the receiver adds to what it heard before: the result is the
    same value.
    """
    chosen = largest(np.abs(w - memory.values), k)
    heard = Part(chosen, bytes_as_floats(floats_as_bytes(w[chosen])))
    return Part(chosen, w[chosen]), Told(placed(memory.values, heard))


def encode(part: Part, stamp: Stamp) -> Bytes:
    """Write the values as float32, and then every coordinate with as few bits as tell D apart."""
    indices = packed(part.coordinates, width_of(stamp.features))
    return np.concatenate((floats_as_bytes(part.values), indices))


def decode(k: int, payload: Bytes, stamp: Stamp) -> Part:
    """Read what `encode` wrote."""
    size = min(k, stamp.features)
    coordinates = unpacked(payload[FLOAT * size :], width_of(stamp.features), size)
    return Part(coordinates, bytes_as_floats(payload[: FLOAT * size]))


def top_k(*, k: int = 4, down: int = 4) -> Algorithm:
    """PAO-Fed-U1 whose clients send the k coordinates that moved most; `down` come back."""
    count("down", down)
    uplink = Channel(
        send=partial(send, count("k", k)),
        init=begin,
        encode=encode,
        decode=partial(decode, k),
        why_not=OF_A_LINK,
    )
    return replace(pao_fed("u1", shared=down), name="top-k", uplink=uplink)
