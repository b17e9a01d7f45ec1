"""Names for the array types that the mathematics speaks of, and samples of devices in one list."""

from itertools import pairwise, starmap

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
WordArray = NDArray[np.uint32]


def ranks(device: IntArray) -> IntArray:
    """Return for each sample how many samples of the same device stand before it.

    >>> ranks(np.array([5, 2, 5, 5, 2])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(device, kind="stable")
    ordered, rank = device[order], np.empty_like(order)
    rank[order] = np.arange(order.size) - np.searchsorted(ordered, ordered)
    return rank


def runs(key: IntArray) -> list[slice]:
    """Return a slice for each value of a sorted key: where in the key that value stands."""
    changes = 1 + np.flatnonzero(np.diff(key))
    return list(starmap(slice, pairwise([0, *changes.tolist(), key.size])))
