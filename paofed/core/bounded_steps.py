"""Bounded steps: LMS in which one wild sample cannot throw the model away."""

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.parts import Learner
from paofed.errors import AlgorithmError

# The usual size of an error is the median over the last LATEST errors: a device whose data have
# really changed learns from them in full after half as many samples.
LATEST = 16


class BoundedWeights(NamedTuple):
    """The model, and the sizes of the device's last errors."""

    w: FloatArray  # (D,)
    errors: FloatArray  # (LATEST,); 0: no error yet


def begin(features: int) -> BoundedWeights:
    """Begin with a model of zeros."""
    return BoundedWeights(np.zeros(features), np.zeros(LATEST))


def learn(
    bound: float,
    state: BoundedWeights,
    z: FloatArray,
    y: float,
    mu: float,
    tick: int,  # noqa: ARG001 (the interface of a `learn`)
) -> BoundedWeights:
    """Take one LMS step in which an error counts at most `bound` times the usual size.

    The first error sets the usual size itself, whatever its units.
    """
    e, errors = counted(bound, state.errors, y - float(state.w @ z))
    return BoundedWeights(state.w + mu * e * z, errors)


def counted(bound: float, errors: FloatArray, e: float) -> tuple[float, FloatArray]:
    """Return how much of the error e counts, and the last errors with this one added.

    A `bound` of 0 means that there is no bound.
    """
    if e == 0.0:  # the sample teaches nothing, neither the model nor how large errors usually are
        return e, errors
    latest = np.append(errors[1:], abs(e))
    if bound == 0.0:
        return e, latest
    usual = middle(errors)
    limit = bound * (usual if usual > 0.0 else abs(e))
    return min(max(e, -limit), limit), latest


def bounded_lms(bound: float) -> Learner:
    """Return the learner whose steps are bounded."""
    check_bound("bound", bound)
    return Learner(learn=partial(learn, float(bound)), init=begin, served=True)


def middle(sizes: FloatArray) -> float:
    """Return the median of the sizes that are not 0 (unknown), or 0 where all are 0.

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
            f"usual size counts in full",
            key=name,
        )
