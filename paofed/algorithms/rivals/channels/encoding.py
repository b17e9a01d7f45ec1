"""Which coordinates travel, numbers as bits and bits as bytes, in plain loops for numba.

The numbers of a method are arguments, so that one compiled form serves all methods. A bit
is a uint8 that is 0 or 1. The highest bit of a number, and of a byte, comes first.
"""

import numpy as np

from paofed.core.arrays import FloatArray, IntArray
from paofed.core.parts import Bytes, Stamp
from paofed.core.selection import window


def uncoordinated(shared: int, ahead: int, stamp: Stamp) -> IntArray:
    """Return the window of a stamp, as `Windows(shared, coordinated=False, ahead=ahead)` does."""
    start = shared * (stamp.tick + ahead + stamp.client) % stamp.features
    return window(start, shared, stamp.features)


def largest(sizes: FloatArray, count: int) -> IntArray:
    """Return where the `count` largest sizes are, in ascending order; of equal sizes the first.

    NaN counts as the largest size, so that a model that has diverged still travels.

    >>> largest(np.array([3.0, 1.0, 4.0, 1.0, 5.0]), 2)
    array([2, 4])
    """
    sizes = np.where(np.isnan(sizes), np.inf, sizes)
    count = min(count, sizes.size)
    least = np.partition(sizes, sizes.size - count)[sizes.size - count]
    equals = count - np.sum(sizes > least)
    chosen = np.empty(count, dtype=np.int64)
    place = 0
    for i in range(sizes.size):
        if sizes[i] > least or (sizes[i] == least and equals > 0):
            equals -= sizes[i] == least
            chosen[place] = i
            place += 1
    return chosen


FLOAT = 4  # bytes of a float32


def floats_as_bytes(values: FloatArray) -> Bytes:
    """Return the bytes of values rounded to float32."""
    return values.astype(np.float32).view(np.uint8)


def bytes_as_floats(payload: Bytes) -> FloatArray:
    """Return the values that `floats_as_bytes` was given, rounded to float32."""
    return payload.view(np.float32).astype(np.float64)


def bytes_of(bits: Bytes) -> Bytes:
    """Pack bits into bytes; zeros fill up the last byte."""
    payload = np.zeros((bits.size + 7) // 8, dtype=np.uint8)
    for i in range(bits.size):
        payload[i // 8] |= np.uint8(bits[i] << (7 - i % 8))
    return payload


def bits_of(payload: Bytes) -> Bytes:
    """Return the bits of all bytes, with the zeros that filled up the last byte."""
    bits = np.empty(8 * payload.size, dtype=np.uint8)
    for i in range(bits.size):
        bits[i] = (payload[i // 8] >> (7 - i % 8)) & 1
    return bits


def packed(numbers: IntArray, width: int) -> Bytes:
    """Write numbers with `width` bits each; zeros fill up the last byte.

    The loop goes byte by byte rather than bit by bit, since whole models are written so at every
    contact.
    """
    payload = np.zeros((numbers.size * width + 7) // 8, dtype=np.uint8)
    held, bits, at = 0, 0, 0  # `held`: the lowest `bits` bits are not written yet
    for i in range(numbers.size):
        held, bits = held << width | int(numbers[i]), bits + width
        while bits >= 8:
            bits -= 8
            payload[at] = held >> bits
            held, at = held & ((1 << bits) - 1), at + 1
    if bits > 0:
        payload[at] = held << (8 - bits)
    return payload


def unpacked(payload: Bytes, width: int, count: int) -> IntArray:
    """Read the first `count` numbers of `width` bits each."""
    numbers = np.empty(count, dtype=np.int64)
    held, bits, at = 0, 0, 0  # `held`: the lowest `bits` bits are read, but belong to no number yet
    for i in range(count):
        while bits < width:
            held, bits, at = held << 8 | int(payload[at]), bits + 8, at + 1
        bits -= width
        numbers[i] = held >> bits
        held &= (1 << bits) - 1
    return numbers


def width_of(count: int) -> int:
    """Return how many bits tell `count` things apart.

    >>> width_of(200)
    8
    """
    width = 0
    while 1 << width < count:
        width += 1
    return width
