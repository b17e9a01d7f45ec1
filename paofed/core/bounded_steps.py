"""Bounded steps: LMS in which one wild sample cannot throw the model away."""

from functools import partial
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.parts import Learner
from paofed.core.sizes import check_bound, middle

# Errors that the usual size is the median of: after half as many, a device whose data have really
# changed learns from them in full.
LATEST = 16


class BoundedWeights(NamedTuple):
    """The model, and the sizes of the device's last errors."""

    w: FloatArray  # (D,)
    errors: FloatArray  # (LATEST,); 0: none yet


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
    """Take one LMS step, for which an error counts at most `bound` times the usual one.

    The first error is its own measure, whatever its units.
    """
    e, errors = counted(bound, state.errors, y - float(state.w @ z))
    return BoundedWeights(state.w + mu * e * z, errors)


def counted(bound: float, errors: FloatArray, e: float) -> tuple[float, FloatArray]:
    """How much of an error counts, and the last errors, now with this one; a bound of 0 is none."""
    if e == 0.0:  # nothing to learn, and nothing about how large errors are
        return e, errors
    usual = middle(errors)
    limit = bound * (usual if usual > 0.0 else abs(e)) if bound > 0.0 else np.inf
    return min(max(e, -limit), limit), np.append(errors[1:], abs(e))


def bounded_lms(bound: float) -> Learner:
    """Return the learner whose steps are bounded."""
    check_bound("bound", bound)
    return Learner(learn=partial(learn, float(bound)), init=begin, served=True)
