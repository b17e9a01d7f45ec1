"""How good a model is, and at which ticks a curve says so."""

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray, IntArray


def mean_squared_error(w: FloatArray, z: FloatArray, y: FloatArray) -> float:
    """Average the squared error of a model over mapped inputs z of shape (T, D) and targets y."""
    return float(np.mean((y - z @ w) ** 2))


def decibels(mse: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """Express a linear mean squared error in dB; an error of 0 is -inf.

    >>> float(decibels(0.01))
    -20.0
    """
    with np.errstate(divide="ignore"):
        return 10.0 * np.log10(np.asarray(mse, dtype=np.float64))


def curve_ticks(ticks: int, every: int) -> IntArray:
    """Return the ticks at which an error curve has a point: every `every`, and the last."""
    points = np.arange(every - 1, ticks, every)
    return points if points.size and points[-1] == ticks - 1 else np.append(points, ticks - 1)
