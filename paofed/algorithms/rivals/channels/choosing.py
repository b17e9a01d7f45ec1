"""Which coordinates travel: a window that moves on, or the coordinates with the largest numbers.

Plain functions that numba can compile. The numbers of a method are arguments, so that one compiled
form serves all methods.
"""

import numpy as np

from paofed.core.arrays import FloatArray, IntArray
from paofed.core.parts import Stamp
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
