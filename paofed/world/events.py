"""Chance as integer comparisons: a probability is a threshold on a random word of 32 bits.

An event is `word < threshold`, so it is the same bit in every engine, precision and machine.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paofed.core.arrays import FloatArray, IntArray

ThresholdArray = NDArray[np.uint64]

CERTAIN = 1 << 32  # above every word


def threshold(probability: ArrayLike) -> ThresholdArray:
    """Return the number of words, out of 2^32, that mean yes."""
    return np.rint(np.asarray(probability, dtype=np.float64) * CERTAIN).astype(np.uint64)


def by_group(values: float | tuple[float, ...], clients: IntArray) -> FloatArray:
    """Return the value of each client: client k is in group k mod G."""
    groups = np.atleast_1d(np.asarray(values, dtype=np.float64))
    return groups[clients % groups.size]
