"""Positions as bits: Golomb's code of the gaps between them, in plain loops for numba.

The code of F. Sattler, S. Wiedemann, K.-R. Mueller, W. Samek, "Robust and
communication-efficient federated learning from non-i.i.d. data", IEEE TNNLS 2020, arXiv:1903.02891.
"""

import numpy as np

from paofed.core.arrays import IntArray
from paofed.core.parts import Bytes

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
