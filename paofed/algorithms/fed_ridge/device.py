"""What a device of fed-ridge does: it adds up its samples, and weighs four models of them.

The summed features of a sample are the prediction of the model with which the fleet began, then the
last features of the map, in reverse: the constant and the linear terms, if the map has any, then
waves. The shared model has a coefficient for each summed feature, so without a sample it is the
model with which the fleet began.

A device believes the shared model, the shared model with a correction of its own, and two models of
its own that never hear of the fleet, by weights that it learns (paofed.core.weighing). One of these
two learns at two speeds and follows what changes; the other, a filter over the last features of the
map, forgets nothing. A label may come late: each of the four is judged by what it predicted when
the sample was there.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from paofed.core import forecasts, least_squares, weighing
from paofed.core.arrays import BoolArray, FloatArray
from paofed.core.forecasts import judge, keep
from paofed.core.least_squares import follow
from paofed.core.parts import LEFT_ALONE, Learner, Part
from paofed.core.starting import keeping_start
from paofed.core.sums import add, size_of
from paofed.core.two_speed import begin as begin_two_speed
from paofed.core.two_speed import step
from paofed.core.weighing import SCORED, weights_of

# Where the shared model, as it is told, has its number, how many coefficients, and the first.
NUMBER, HOW_MANY, FIRST = range(3)
_FORECASTERS = 4  # the shared model, the corrected one, the device's own, and its filter
_FILTERED = 16  # so many of the last features, at most, does the filter use


class SummingDevice(NamedTuple):
    """What a device keeps."""

    start: FloatArray  # (D,): the model with which the fleet began
    # (2 + F,): the number of the shared model, how many coefficients it has, and these
    shared: FloatArray
    coming: FloatArray  # (2 + F,): likewise, the shared model that is arriving
    here: BoolArray  # (2 + F,): which of its numbers have arrived
    sums: FloatArray  # as paofed.core.sums packs them
    correction: FloatArray  # (2, D): what is added to the shared model: as in paofed.core.two_speed
    correction_trust: FloatArray  # (4,)
    own: FloatArray  # (2, D): likewise, what is added to the model with which the fleet began
    own_trust: FloatArray  # (4,)
    over: FloatArray  # (L,): what the filter adds to that model, as in paofed.core.least_squares
    open: FloatArray  # (L, L)
    record: FloatArray  # how well the forecasters have done: as in paofed.core.weighing
    waiting: FloatArray  # what the forecasters predicted: as in paofed.core.forecasts


def begin(most: int, features: int) -> SummingDevice:
    """Begin with a model of zeros, and without a sample."""
    summed = summed_features(most, features)
    trust = begin_two_speed(features).trust
    over = least_squares.begin(min(features, _FILTERED))
    return SummingDevice(
        start=np.zeros(features),
        shared=unlearned(summed),
        coming=np.zeros(FIRST + summed),
        here=np.zeros(FIRST + summed, dtype=np.bool_),
        sums=np.zeros(size_of(summed)),
        correction=np.zeros((2, features)),
        correction_trust=trust,
        own=np.zeros((2, features)),
        own_trust=trust.copy(),
        over=over.w,
        open=over.open,
        record=weighing.begin(_FORECASTERS),
        waiting=forecasts.begin(_FORECASTERS),
    )


def summed_features(most: int, features: int) -> int:
    """Return how many features are summed: a prediction, and at most so many of the map's."""
    return 1 + min(most, features)


def unlearned(summed: int) -> FloatArray:
    """Return the shared model before anything was learned, as it is told: one coefficient, 1."""
    shared = np.zeros(FIRST + summed)
    shared[HOW_MANY : FIRST + 1] = 1.0
    return shared


def sees(state: SummingDevice, z: FloatArray) -> SummingDevice:
    """Keep what the forecasters predict of a sample, in place."""
    known = _products(state, z)
    shared = state.shared[FIRST] * known.first
    for f in range(1, int(state.shared[HOW_MANY])):
        shared += state.shared[FIRST + f] * z[z.size - f]
    own = known.first + known.own
    by_filter = known.first + float(state.over @ z[z.size - state.over.size :])
    keep(state.waiting, z, np.array([shared, shared + known.corrected, own, by_filter]))
    return state


class _Products(NamedTuple):
    """Products of a sample's features with what a device has."""

    first: float  # with the model with which the fleet began
    corrected: float  # with the correction, and with its lead
    lead: float
    own: float  # with the device's own model, and with its lead
    own_lead: float
    power: float  # with themselves


def _products(state: SummingDevice, z: FloatArray) -> _Products:
    """Return all products, of one plain loop.

    For few features numba makes one loop many times as quick as several, or as calls of a library.
    """
    first, corrected, lead, own, own_lead, power = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(z.size):
        first += state.start[j] * z[j]
        corrected += state.correction[0, j] * z[j]
        lead += state.correction[1, j] * z[j]
        own += state.own[0, j] * z[j]
        own_lead += state.own[1, j] * z[j]
        power += z[j] * z[j]
    return _Products(first, corrected, lead, own, own_lead, power)


def learn(
    forgetting: float,
    state: SummingDevice,
    z: FloatArray,
    y: float,
    mu: float,
    tick: int,  # noqa: ARG001 (the interface of a `learn`)
) -> SummingDevice:
    """Add the sample to the sums, in place; judge the forecasters, and let three of them learn."""
    summed = state.shared.size - FIRST
    u = np.empty(summed)
    known = _products(state, z)
    u[0] = known.first
    for f in range(1, summed):
        u[f] = z[z.size - f]
    add(state.sums, u, y)
    over = y
    for f in range(int(state.shared[HOW_MANY])):
        over -= state.shared[FIRST + f] * u[f]
    judge(state.waiting, state.record, z, y)
    missed, ahead = over - known.corrected, known.lead
    step(forgetting, state.correction, state.correction_trust, z, known.power, missed, ahead, mu)
    missed, ahead = y - known.first - known.own, known.own_lead
    step(forgetting, state.own, state.own_trust, z, known.power, missed, ahead, mu)
    last = z[z.size - state.over.size :]
    follow(state.over, state.open, last, y - known.first - float(state.over @ last))
    return state


def merge(state: SummingDevice, part: Part) -> SummingDevice:
    """Take numbers of a shared model over, in place; believe the model when all of it is here.

    Coefficients of two models together are none: what one of them leaves to a feature, the other
    may leave to another one.
    """
    coming, here, number = state.coming, state.here, -1.0
    for i in range(part.coordinates.size):
        if part.coordinates[i] == NUMBER:
            number = part.values[i]
    if not number >= coming[NUMBER]:
        return state
    if number > coming[NUMBER]:
        here[:] = False
        coming[NUMBER] = number
    for i in range(part.coordinates.size):
        if part.coordinates[i] < coming.size:
            coming[part.coordinates[i]] = part.values[i]
            here[part.coordinates[i]] = True
    end = FIRST + coefficients_of(coming)
    if np.all(here[HOW_MANY:end]):
        state.shared[:] = 0.0
        state.shared[:end] = coming[:end]
        state.shared[HOW_MANY] = end - FIRST
    return state


def coefficients_of(shared: FloatArray) -> int:
    """Return how many coefficients a shared model has, as it is told, whatever is told."""
    most, count = shared.size - FIRST, shared[HOW_MANY]
    if not count > 1.0:  # also where it is NaN
        return 1
    return int(count) if count < most else most


def model(state: SummingDevice) -> FloatArray:
    """Return the forecasters' models, weighed; while none was judged, the shared model."""
    shared = shared_model(state.start, state.shared)
    if state.record[SCORED] == 0.0:
        return shared
    weights = weights_of(state.record)
    mine: FloatArray = (weights[0] + weights[1]) * shared
    # What diverged long ago is no number any more, and has no weight.
    if weights[1] > 0.0:
        mine += weights[1] * state.correction[0]
    if weights[2] > 0.0:
        mine += weights[2] * state.own[0]
    mine += (weights[2] + weights[3]) * state.start
    if weights[3] > 0.0:
        mine[mine.size - state.over.size :] += weights[3] * state.over
    return mine


def shared_model(start: FloatArray, shared: FloatArray) -> FloatArray:
    """Return the shared model, as it is told, as a model of the map's features."""
    w: FloatArray = shared[FIRST] * start
    for f in range(1, int(shared[HOW_MANY])):
        w[w.size - f] += shared[FIRST + f]
    return w


def tells(state: SummingDevice) -> FloatArray:
    """Return the sums."""
    return state.sums


def summing(most: int, forgetting: float) -> Learner:
    """Return the learner; `most` features of the map are summed."""
    return Learner(
        learn=partial(learn, forgetting),
        init=partial(begin, most),
        model=model,
        merge=merge,
        sees=sees,
        tells=tells,
        starts=keeping_start,
        waives=("a step helps", "merge overwrites", LEFT_ALONE),
        why_not="no live fleet sends sums yet",
    )
