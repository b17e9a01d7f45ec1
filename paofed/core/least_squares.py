"""Recursive least squares that forgets: LMS whose step size is a matrix.

The step is mu Q z e / (1 + mu z.Qz). Q begins as the identity and shrinks in the directions of the
features that were seen. From sample to sample Q goes back towards the identity, so that Q stays
between 0 and the identity whatever is measured, also in directions in which nothing new is seen.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.bounded_steps import LATEST, counted
from paofed.core.parts import Learner, Part, placed

FORGETTING = 0.97  # the part of what Q has learned that it keeps from one sample to the next
_FILTER_STEP = 10.0  # the step size of a filter: how far Q is open to learning at first


class SquaresWeights(NamedTuple):
    """The model, and the matrix Q that says how far each direction is still open to learning."""

    w: FloatArray  # (D,)
    open: FloatArray  # (D, D): Q, symmetric
    errors: FloatArray  # (LATEST,): as in paofed.core.bounded_steps


def begin(features: int) -> SquaresWeights:
    """Begin with a model of zeros, open in all directions."""
    return SquaresWeights(np.zeros(features), np.eye(features), np.zeros(LATEST))


def learn(
    forgetting: float,
    bound: float,
    state: SquaresWeights,
    z: FloatArray,
    y: float,
    mu: float,
    tick: int,  # noqa: ARG001 (the interface of a `learn`)
) -> SquaresWeights:
    """Take the step, shrink Q in the direction of z, and move Q back a little to the identity."""
    e, errors = counted(bound, state.errors, y - float(state.w @ z))
    way = state.open @ z
    gain = mu / (1.0 + mu * (z @ way))
    still = forgetting * (state.open - gain * np.outer(way, way))
    for j in range(z.size):
        still[j, j] += 1.0 - forgetting
    return SquaresWeights(state.w + gain * e * way, still, errors)


def follow(w: FloatArray, open_: FloatArray, z: FloatArray, e: float) -> None:
    """Take the step of a filter that forgets nothing, in place: its error on a sample was e.

    What changes is for others to follow. In plain loops: for few features numba makes them many
    times as quick as calls of a library.
    """
    way, along = np.zeros(z.size), 0.0
    for i in range(z.size):  # Q is symmetric: row by row is as good as column by column
        for j in range(z.size):
            way[j] += open_[i, j] * z[i]
    for i in range(z.size):
        along += z[i] * way[i]
    gain = _FILTER_STEP / (1.0 + _FILTER_STEP * along)
    for i in range(z.size):
        part = gain * way[i]
        w[i] += part * e
        for j in range(z.size):
            open_[i, j] -= part * way[j]


def merge(state: SquaresWeights, part: Part) -> SquaresWeights:
    """Take over the values that were heard; Q becomes the identity on their coordinates.

    Q knows nothing of values that the device did not learn itself, so these coordinates are also no
    longer tied to the others.
    """
    still = state.open.copy()
    for j in part.coordinates:
        still[j, :] = 0.0
        still[:, j] = 0.0
        still[j, j] = 1.0
    return SquaresWeights(placed(state.w, part), still, state.errors)


def least_squares(forgetting: float, bound: float) -> Learner:
    """Return the learner; a `bound` of 0 means steps without a bound."""
    learner = partial(learn, forgetting, bound)
    return Learner(learn=learner, init=begin, merge=merge, served=True)
