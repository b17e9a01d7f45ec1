"""Windows of few bits: QSGD's unbiased rounding of values that share one scale.

D. Alistarh, D. Grubic, J. Li, R. Tomioka, M. Vojnovic, "QSGD: communication-efficient SGD via
gradient quantization and encoding", NeurIPS 2017, arXiv:1610.02132. The scale is the largest value
rather than the 2-norm of a window: rounding stays unbiased, and the levels lie closer together.

Of four values the levels then lie up to twice as close together. Values are quantised, not their
smaller differences to what the receiver holds, since a lost message would leave both sides apart.
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
    packed,
    uncoordinated,
    unpacked,
)
from paofed.algorithms.rivals.options import count
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.parts import Bytes, Channel, Part, Stamp, draws, rule_and_numbers
from paofed.core.selection import Windows
from paofed.errors import AlgorithmError

PLAIN = 32  # bits of a value that is not quantised
_FEWEST, _MOST = 2, 16
_UP = 1.0 + 2.0**-23  # a factor above 1 that makes up for what rounding to float32 takes off
_LARGEST = 3.4e38  # just below the largest float32


def send(
    shared: int, ahead: int, w: FloatArray, memory: tuple[()], stamp: Stamp
) -> tuple[Part, tuple[()]]:
    """Send a window; `encode` rounds its values on their way."""
    coordinates = uncoordinated(shared, ahead, stamp)
    return Part(coordinates, w[coordinates]), memory


def levels_of(bits: int) -> int:
    """Return how many levels there are above 0: one of the `bits` is for the sign."""
    return (1 << (bits - 1)) - 1


def scale_of(values: FloatArray) -> float:
    """Return the largest size of a value, rounded up to a float32; NaN if it has no float32."""
    largest = np.max(np.abs(values)) * _UP
    return float(np.float32(largest)) if largest < _LARGEST else np.nan


def rounded(values: FloatArray, scale: float, levels: int, chances: FloatArray) -> IntArray:
    """Round values to levels, up or down by chance, so that they are right on average.

    If the scale is 0 or NaN, all levels are 0: the receiver multiplies them by the scale.
    """
    if not scale > 0.0:
        return np.zeros(values.size, dtype=np.int64)
    found = np.minimum((levels * np.abs(values) / scale + chances).astype(np.int64), levels)
    return np.where(values > 0.0, found, -found)


def encode(bits: int, part: Part, stamp: Stamp) -> Bytes:
    """Write the scale as float32, and then every level with `bits` bits."""
    levels, scale = levels_of(bits), scale_of(part.values)
    found = rounded(part.values, scale, levels, draws(stamp, part.values.size))
    return np.concatenate((floats_as_bytes(np.full(1, scale)), packed(found + levels, bits)))


def decode(shared: int, ahead: int, bits: int, payload: Bytes, stamp: Stamp) -> Part:
    """Read the bytes that `encode` wrote for the window of this stamp.

    From bytes that `encode` never writes come NaNs: a scale below 0, a level beyond the last one,
    or anything behind the last level.
    """
    levels, scale = levels_of(bits), bytes_as_floats(payload[:FLOAT])[0]
    found = unpacked(payload[FLOAT:], bits, shared) - levels
    behind = 8 * (payload.size - FLOAT) - shared * bits  # bits that fill up the last byte
    if scale < 0.0 or np.max(found) > levels or payload[-1] & ((1 << behind) - 1):
        scale = np.nan
    return Part(uncoordinated(shared, ahead, stamp), scale * found / levels)


def bits_of_value(bits: int) -> int:
    """Take a number of bits that a value can have."""
    if type(bits) is not int or not (_FEWEST <= bits <= _MOST or bits == PLAIN):
        raise AlgorithmError(
            f"bits is {bits!r}: expected a whole number from {_FEWEST} to {_MOST}, or {PLAIN} for "
            f"plain values",
            key="bits",
        )
    return bits


def quantised_window(shared: int, bits: int, ahead: int) -> Windows | Channel:
    """Return a channel of uncoordinated windows with `bits` bits a value; 32 for plain values."""
    if bits_of_value(bits) == PLAIN:
        return Windows(shared, coordinated=False, ahead=ahead)
    return Channel(
        send=partial(send, shared, ahead),
        encode=partial(encode, bits),
        decode=partial(decode, shared, ahead, bits),
        # Values do not survive since they are rounded, which is the point.
        waives=("values survive",),
        served=True,
    )


class Quantised(NamedTuple):
    """What tells a channel of quantised windows from others of its kind."""

    shared: int
    ahead: int
    bits: int


def as_quantised(channel: Channel) -> Quantised | None:
    """Return the numbers with which `quantised_window` made a channel; None if it did not."""
    found = [rule_and_numbers(rule) for rule in (channel.send, channel.encode, channel.decode)]
    if [rule for rule, _ in found] != [send, encode, decode]:
        return None
    return Quantised(*found[-1][1])


def quantised_windows(
    shared: int, bits: int, down_bits: int = PLAIN
) -> tuple[Windows | Channel, Windows | Channel]:
    """Return the two channels of PAO-Fed-U1: `down_bits` bits a value down, `bits` up."""
    count("shared", shared)
    return quantised_window(shared, down_bits, 0), quantised_window(shared, bits, 1)


def quantised(*, shared: int = 4, bits: int = 8, down_bits: int = PLAIN) -> Algorithm:
    """PAO-Fed-U1 with `bits` bits a value on the uplink and `down_bits` on the downlink."""
    down, up = quantised_windows(shared, bits, down_bits)
    return replace(pao_fed("u1"), name="quantised", downlink=down, uplink=up)
