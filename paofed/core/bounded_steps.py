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
    e = y - state.w @ z
    if e == 0.0:  # nothing to learn, and nothing about how large errors are
        return state
    usual = middle(state.errors)
    limit = bound * (usual if usual > 0.0 else abs(e))
    counted = min(max(e, -limit), limit)
    errors = np.append(state.errors[1:], abs(e))
    return BoundedWeights(state.w + mu * counted * z, errors)


def bounded_lms(bound: float) -> Learner:
    """Return the learner whose steps are bounded."""
    check_bound("bound", bound)
    return Learner(learn=partial(learn, float(bound)), init=begin, served=True)


def is_bounded(learner: Learner) -> bool:
    """Whether a learner is one of these."""
    return isinstance(learner.learn, partial) and learner.learn.func is learn
