"""Two speeds: LMS, and a quick model beside it that follows what LMS has not learned yet.

Readings of one device resemble those just before them, and so do the errors of a model. The quick
model closes the whole error of every sample, and goes back towards the slow model (LMS) bit by bit.
The difference of the two models is the lead. How much of the lead the device adds to the slow model
is measured: the part that would have predicted the device's past best, its trust. Where errors are
independent of each other, the trust is 0, and LMS remains.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.bounded_steps import LATEST, counted
from paofed.core.parts import Learner, Part, placed

FORGETTING = 0.9  # the part of its lead that the quick model keeps from one sample to the next
_MEASURED = 0.99  # the part of the sums behind the trust that is kept from one sample to the next
_BEFOREHAND = 4.0  # the trust begins at 1, as if this many samples had shown that
TINY = 1e-12  # features of a sample are never as small as this


class TwoSpeedWeights(NamedTuple):
    """The model: the slow model plus a part, the trust, of the quick model's lead."""

    w: FloatArray  # (D,): slow + trust * lead
    lead: FloatArray  # (D,): the quick model less the slow one
    trust: FloatArray  # (4,): the trust, and the sums from which it is computed
    errors: FloatArray  # (LATEST,): as in paofed.core.bounded_steps


def begin(features: int) -> TwoSpeedWeights:
    """Begin with models of zeros."""
    trust = np.array([1.0, 0.0, 0.0, 0.0])
    return TwoSpeedWeights(np.zeros(features), np.zeros(features), trust, np.zeros(LATEST))


def learn(
    forgetting: float,
    bound: float,
    state: TwoSpeedWeights,
    z: FloatArray,
    y: float,
    mu: float,
    tick: int,  # noqa: ARG001 (the interface of a `learn`)
) -> TwoSpeedWeights:
    """Take an LMS step with the slow model, a whole step with the quick one, and weigh both."""
    ahead = float(state.lead @ z)
    e, errors = counted(bound, state.errors, y - float(state.w @ z))
    missing = e + state.trust[0] * ahead  # the error of the slow model
    trust = trusted(state.trust, missing, ahead)
    whole = (missing - ahead) / max(z @ z, TINY)
    lead = forgetting * (state.lead + (whole - mu * missing) * z)
    slow = state.w - state.trust[0] * state.lead + mu * missing * z
    return TwoSpeedWeights(slow + trust[0] * lead, lead, trust, errors)


def step(
    forgetting: float,
    models: FloatArray,
    trust: FloatArray,
    z: FloatArray,
    power: float,
    e: float,
    ahead: float,
    mu: float,
) -> None:
    """Take the step of `learn`, without its bound, with a model and its lead (2, D), in place.

    e is the model's error on the sample, `ahead` what its lead says of it, `power` the square of
    the sample's features.
    """
    w, lead = models[0], models[1]
    before = trust[0]
    missing = e + before * ahead  # the error of the slow model
    trust[:] = trusted(trust, missing, ahead)
    slow, after = mu * missing, trust[0]
    quick = (missing - ahead) / max(power, TINY) - slow
    for j in range(z.size):
        there = lead[j]
        following = forgetting * (there + quick * z[j])
        lead[j] = following
        w[j] += slow * z[j] + after * following - before * there


def trusted(trust: FloatArray, missing: float, ahead: float) -> FloatArray:
    """Return the trust after a sample, with the sums from which it is computed.

    The trust is the part of the quick model's lead that would have left the least squared error.
    """
    product = _MEASURED * trust[1] + missing * ahead
    square = _MEASURED * trust[2] + ahead * ahead
    count = _MEASURED * trust[3] + 1.0
    best = product / square if square > 0.0 else 1.0
    part = (count * best + _BEFOREHAND) / (count + _BEFOREHAND)
    return np.array([min(max(part, 0.0), 1.0), product, square, count])


def merge(state: TwoSpeedWeights, part: Part) -> TwoSpeedWeights:
    """Take over the values that were heard, in both models."""
    nothing = Part(part.coordinates, np.zeros(part.coordinates.size))
    w, lead = placed(state.w, part), placed(state.lead, nothing)
    return TwoSpeedWeights(w, lead, state.trust, state.errors)


def two_speed(forgetting: float, bound: float) -> Learner:
    """Return the learner; a `bound` of 0 means steps without a bound.

    The quick model loses a part of its lead in each step, so a sample may be predicted worse after
    its step.
    """
    return Learner(
        learn=partial(learn, forgetting, bound),
        init=begin,
        merge=merge,
        waives=("a step helps",),
        served=True,
    )
