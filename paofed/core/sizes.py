"""How large numbers usually are: the median of their sizes, which a few wild ones cannot move.

Plain functions on arrays, which numba can compile. A size of 0 means that nothing is known.
"""

import math

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.errors import AlgorithmError


def middle(sizes: FloatArray) -> float:
    """Return the median of the sizes that are not 0, or 0 where all are 0.

    >>> middle(np.array([0.0, 3.0, 1.0, 100.0]))
    3.0
    """
    known = sizes[sizes > 0.0]
    if known.size == 0:
        return 0.0
    # All rules use this sort alone, so that numba compiles one.
    order = np.argsort(known, kind="mergesort")
    low, high = order[(known.size - 1) // 2], order[known.size // 2]
    return 0.5 * float(known[low] + known[high])


def check_bound(name: str, value: float) -> None:
    """Refuse a bound that is not a positive, finite number of usual sizes."""
    is_number = type(value) in (int, float) and math.isfinite(value)
    if not is_number or value <= 0:
        raise AlgorithmError(
            f"{name} is {value!r}: expected a finite number above 0, such as 6: how many times the "
            f"usual size counts in full"
        )
