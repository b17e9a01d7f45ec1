"""Weighed: a device believes the fleet, itself or a linear filter, by how well each has foretold.

Three forecasters learn from the device's samples side by side: a two-speed learner that takes over
what it hears, as that of any row does; one that never hears anything; and recursive least squares
over the last features of the map, the constant and linear terms where the map has them. The device
predicts with the mean of their models, weighed by their forecasts of its own past
(paofed.core.weighing), and tells the fleet the first one's model. So the server's model is the one
that it would have if devices learned at two speeds.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from paofed.core import forecasts, least_squares, two_speed, weighing
from paofed.core.arrays import FloatArray
from paofed.core.bounded_steps import counted
from paofed.core.forecasts import judge, keep
from paofed.core.least_squares import follow
from paofed.core.parts import LEFT_ALONE, Learner, Part, placed
from paofed.core.two_speed import TwoSpeedWeights
from paofed.core.two_speed import learn as learn_two_speed
from paofed.core.weighing import SCORED, weights_of

_FORECASTERS = 3
_FILTERED = 32  # so many of the last features, at most, does the filter use


class WeighedWeights(NamedTuple):
    """What the three forecasters keep, and the record of what they have foretold."""

    w: FloatArray  # (D,): of the learner that hears the fleet, as in paofed.core.two_speed
    lead: FloatArray  # (D,)
    trust: FloatArray  # (4,)
    errors: FloatArray  # (LATEST,)
    own: FloatArray  # (D,): likewise for the learner that hears nothing
    own_lead: FloatArray  # (D,)
    own_trust: FloatArray  # (4,)
    own_errors: FloatArray  # (LATEST,)
    start: FloatArray  # (D,): the model with which the device began
    over: FloatArray  # (F,): what the filter adds to it, as in paofed.core.least_squares
    open: FloatArray  # (F, F)
    over_errors: FloatArray  # (LATEST,)
    record: FloatArray  # as in paofed.core.weighing
    waiting: FloatArray  # as in paofed.core.forecasts


def begin(features: int) -> WeighedWeights:
    """Begin with models of zeros."""
    return WeighedWeights(
        *two_speed.begin(features),
        *two_speed.begin(features),
        np.zeros(features),
        *least_squares.begin(min(features, _FILTERED)),
        weighing.begin(_FORECASTERS),
        forecasts.begin(_FORECASTERS),
    )


def started(state: WeighedWeights, w: FloatArray) -> WeighedWeights:
    """Begin with the model w."""
    return state._replace(w=w.copy(), own=w.copy(), start=w.copy())


def sees(state: WeighedWeights, z: FloatArray) -> WeighedWeights:
    """Keep what the forecasters predict of a sample, in place."""
    last = z[z.size - state.over.size :]
    by_filter = state.start @ z + state.over @ last
    keep(state.waiting, z, np.array([state.w @ z, state.own @ z, by_filter]))
    return state


def learn(
    forgetting: float,
    bound: float,
    state: WeighedWeights,
    z: FloatArray,
    y: float,
    mu: float,
    tick: int,
) -> WeighedWeights:
    """Judge the forecasters, and let each of them learn; record and filter change in place."""
    judge(state.waiting, state.record, z, y)
    heard = TwoSpeedWeights(state.w, state.lead, state.trust, state.errors)
    heard = learn_two_speed(forgetting, bound, heard, z, y, mu, tick)
    own = TwoSpeedWeights(state.own, state.own_lead, state.own_trust, state.own_errors)
    own = learn_two_speed(forgetting, bound, own, z, y, mu, tick)
    last, missed = z[z.size - state.over.size :], y - float(state.start @ z)
    e, over_errors = counted(bound, state.over_errors, missed - float(state.over @ last))
    follow(state.over, state.open, last, e)
    return WeighedWeights(
        heard.w,
        heard.lead,
        heard.trust,
        heard.errors,
        own.w,
        own.lead,
        own.trust,
        own.errors,
        state.start,
        state.over,
        state.open,
        over_errors,
        state.record,
        state.waiting,
    )


def merge(state: WeighedWeights, part: Part) -> WeighedWeights:
    """Let the forecaster that hears the fleet take over what was heard, as two-speed does."""
    nothing = Part(part.coordinates, np.zeros(part.coordinates.size))
    return state._replace(w=placed(state.w, part), lead=placed(state.lead, nothing))


def model(state: WeighedWeights) -> FloatArray:
    """Return the forecasters' models, weighed; before a label, that which hears the fleet."""
    if state.record[SCORED] == 0.0:
        return state.w
    weights = weights_of(state.record)
    mine = np.zeros(state.w.size)
    # What diverged long ago is no number any more, and has no weight.
    if weights[0] > 0.0:
        mine += weights[0] * state.w
    if weights[1] > 0.0:
        mine += weights[1] * state.own
    if weights[2] > 0.0:
        mine += weights[2] * state.start
        mine[mine.size - state.over.size :] += weights[2] * state.over
    return mine


def tells(state: WeighedWeights) -> FloatArray:
    """Return the model of the forecaster that hears the fleet."""
    return state.w


def weighed(forgetting: float, bound: float) -> Learner:
    """Return the learner; a `bound` of 0 means steps without a bound."""
    return Learner(
        learn=partial(learn, forgetting, bound),
        init=begin,
        model=model,
        merge=merge,
        tells=tells,
        starts=started,
        sees=sees,
        waives=("a step helps", "merge overwrites", LEFT_ALONE),
        why_not="a device of a live fleet has not learned to weigh forecasters yet",
    )
