"""Samples of many devices in one list: the rank of each in its device, and runs of equal keys."""

from itertools import pairwise, starmap

import numpy as np

from paofed.core.arrays import IntArray


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
