"""Samples of many devices in one list: which of its device's each is, and where equals stand."""

from itertools import pairwise, starmap

import numpy as np

from paofed.core.arrays import IntArray


def ranks(device: IntArray) -> IntArray:
    """How many samples of the same device stand before each.

    >>> ranks(np.array([5, 2, 5, 5, 2])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(device, kind="stable")
    ordered, rank = device[order], np.empty_like(order)
    rank[order] = np.arange(order.size) - np.searchsorted(ordered, ordered)
    return rank


def runs(key: IntArray) -> list[slice]:
    """Where each value of a sorted key stands."""
    changes = 1 + np.flatnonzero(np.diff(key))
    return list(starmap(slice, pairwise([0, *changes.tolist(), key.size])))
