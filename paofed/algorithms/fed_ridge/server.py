"""What the server of fed-ridge does: it collects copies of sums, and fits a model to their total.

Sums are collected for a few sizes of the model. For each size the server keeps the newest copy of
each device of which every window for that size arrived, so that all numbers of a device in one fit
are of one moment. A copy replaces the one before it: messages that are late or repeated do no harm,
and age is no matter. A window that is lost leaves its copy incomplete for ever, since none is sent
twice.

What a copy adds to the one before it is of the time between them. So the server also has sums that
forget, in which what came at a tick s weighs (s / t)^3 at the tick t: about as much as a quarter of
all, however long the fleet lives. Whether they foretell better is decided as the ridge is.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from paofed.algorithms.fed_ridge.deciding import (
    RECENT,
    RIDGES,
    best,
    fit_of,
    foretold,
    judged,
    tried,
)
from paofed.algorithms.fed_ridge.device import (
    FIRST,
    HOW_MANY,
    NUMBER,
    shared_model,
    summed_features,
    unlearned,
)
from paofed.algorithms.fed_ridge.pooling import (
    GROUPS,
    pooled,
    set_aside,
    total_without,
    usual_error,
)
from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.features import FourierMap
from paofed.core.parts import LEFT_ALONE, Calibration, Message, ServerRule, Stamp
from paofed.core.sums import COUNT, FREE, SQUARES, add_all, add_sums, is_possible, size_of

_GROWTH = 1.1  # models are fitted anew when the samples have grown by this factor
_FEWEST = 3  # features of the smallest model
_TOGETHER = 1 << 12  # samples that are mapped at a time


class RidgeServer(NamedTuple):
    """What the server keeps. K devices, P sizes of a model of at most F features, R ridges."""

    w: FloatArray  # (D,): the model with which the fleet began
    # (2 + F,): the number of the shared model, how many coefficients it has, and these
    shared: FloatArray
    sizes: IntArray  # (P,): the features of each size, rising
    begins: IntArray  # (P + 1,): where the sums of each size begin in a row of `known`
    coming: FloatArray  # (K, S): the copy that is arriving from each device, as n and means
    here: BoolArray  # (K, S): which numbers of the copy have arrived
    known: FloatArray  # (K, sum of the sizes' S): sums by size, and the numbers of their copies
    recent: FloatArray  # likewise, the sums that forget, times the cube of the tick
    trials: FloatArray  # (P, R, GROUPS, F): models fitted without a group of devices
    # (P, R + 1, 2): what trials missed of later samples, as paofed.algorithms.fed_ridge.deciding
    # enters it; last: the first model
    losses: FloatArray
    past: FloatArray  # (S,): the sums of the calibration period, if there is one
    # (4,): samples known, samples known to the last fit, and to the trials; and the usual squared
    # error of the model with which the fleet began
    seen: FloatArray


def sizes_of(summed: int) -> list[int]:
    """Return the sizes of models of at most so many features: each about half of the next.

    >>> sizes_of(41)
    [3, 6, 11, 21, 41]
    """
    sizes = [summed]
    while sizes[0] > _FEWEST:
        sizes.insert(0, max(_FEWEST, (sizes[0] + 1) // 2))
    return sizes


def begin(most: int, features: int, clients: int) -> RidgeServer:
    """Begin with a model of zeros, and without a copy of any device."""
    summed = summed_features(most, features)
    sizes = np.array(sizes_of(summed))
    begins = np.cumsum([0, *map(size_of, sizes.tolist())])
    trials = np.zeros((sizes.size, len(RIDGES), GROUPS, summed))
    trials[..., 0] = 1.0
    return RidgeServer(
        w=np.zeros(features),
        shared=unlearned(summed),
        sizes=sizes,
        begins=begins,
        coming=np.zeros((clients, size_of(summed))),
        here=np.zeros((clients, size_of(summed)), dtype=np.bool_),
        known=np.zeros((clients, int(begins[-1]))),
        recent=np.zeros((clients, int(begins[-1]))),
        trials=trials,
        losses=np.zeros((sizes.size, len(RIDGES) + 1, 2)),
        past=np.zeros(size_of(summed)),
        seen=np.zeros(4),
    )


def recalls(state: RidgeServer, fourier_map: FourierMap, calibration: Calibration) -> RidgeServer:
    """Take the sums of the calibration period, and judge by its second half what foretells it.

    The first summed feature of each sample is a prediction by a model that had not seen the sample;
    the model with which the fleet began has, so that its own predictions would look better than
    they are.
    """
    half = len(calibration.y) // 2
    earlier, later = slice(None, half), slice(half, None)
    features, losses = state.shared.size - FIRST, state.losses.copy()
    known, news = (
        _summed(features, fourier_map, Calibration(*(values[part] for values in calibration)))
        for part in (earlier, later)
    )
    foretold(losses, state.sizes, known, news)
    return state._replace(past=known + news, losses=losses)


def _summed(features: int, fourier_map: FourierMap, part: Calibration) -> FloatArray:
    """Return the sums of some samples, a few thousand of which are mapped at a time."""
    sums = np.zeros(size_of(features))
    for first in range(0, len(part.y), _TOGETHER):
        x, y, predicted = (values[first : first + _TOGETHER] for values in part)
        z = fourier_map(x)
        u = np.concatenate([predicted[:, None], z[:, ::-1][:, : features - 1]], axis=1)
        add_all(sums, u, y)
    return sums


def apply(
    ridge: float,
    state: RidgeServer,
    messages: Sequence[Message],
    stamp: Stamp,
) -> RidgeServer:
    """Take what arrives, in place; fit anew when many samples are new.

    A `ridge` of 0 lets later samples choose it.
    """
    for message in messages:
        if _take(state.coming[message.client], state.here[message.client], message):
            _complete(state, message.client, message.sent + 1, stamp.tick + 1)
    seen = state.seen
    if seen[0] > _GROWTH * seen[1]:
        seen[1] = seen[0]
        _fit(ridge, state, stamp.tick + 1)
    return state


def _take(coming: FloatArray, here: BoolArray, message: Message) -> bool:
    """Put a window into its copy; return whether it is of the newest copy.

    A device begins at most one copy in a tick, so that a larger number than ticks is a wrong one.
    """
    number = message.values[0]
    if number < max(coming[FREE], 1.0) or number > message.sent + 1:
        return False
    if number > coming[FREE]:
        here[:] = False
        coming[FREE] = number
    for i in range(1, message.coordinates.size):
        coming[message.coordinates[i]] = message.values[i]
        here[message.coordinates[i]] = True
    return True


def _complete(state: RidgeServer, client: int, most: int, ticks: int) -> None:
    """Keep the copy of a device for every size of which all numbers have newly arrived.

    The copy holds `most` samples at most: a device has one in a tick. The server has lived for so
    many `ticks`.
    """
    coming, here, known = state.coming[client], state.here[client], state.known[client]
    # No prediction is larger: the squares of a sample's features are 2 together, or less.
    predicted = 2.0 * float(state.w @ state.w)
    whole = COUNT
    while whole < here.size and here[whole]:
        whole += 1
    for p in range(state.sizes.size):
        begin, end = state.begins[p], state.begins[p + 1]
        if end - begin > whole or known[begin] >= coming[FREE]:
            continue
        sums = coming[: end - begin].copy()
        for i in range(SQUARES, sums.size):
            sums[i] *= coming[COUNT]
        features = int(state.sizes[p])
        before = known[begin:end]
        if is_possible(sums, features, float(most), predicted) and sums[COUNT] > before[COUNT]:
            _, _, seen, usual = state.seen
            judged(state.trials[p], state.losses[p], seen, usual, client, before, sums)
            if p == 0:
                state.seen[0] += sums[COUNT] - before[COUNT]
            add_sums(state.recent[client, begin:end], float(ticks) ** 3, sums - before)
            known[begin:end] = sums


def _fit(ridge: float, state: RidgeServer, ticks: int) -> None:
    """Fit the shared model with what has done best so far, and make trials for what is next."""
    p, r = best(state.losses)
    seen = state.seen
    known, small = state.known[:, : state.begins[1]], int(state.sizes[0])
    aside = set_aside(known, state.shared[FIRST : FIRST + small])
    number = state.shared[NUMBER] + 1.0
    for q in range(state.sizes.size):
        begin, end = state.begins[q], state.begins[q + 1]
        totals = pooled(state.known[:, begin:end], aside)
        recent = pooled(state.recent[:, begin:end], aside) / float(ticks) ** 3
        past = state.past[: totals.shape[1]]
        if q == p:
            state.shared[:] = unlearned(state.shared.size - FIRST)
            state.shared[NUMBER] = number
            if r >= 0:
                total = total_without(-1, recent if r >= RECENT else totals)
                fit = fit_of(r, ridge, total, past)
                state.shared[HOW_MANY] = fit.size
                state.shared[FIRST : FIRST + fit.size] = fit
        tried(ridge, state.trials[q], totals, recent, past)
    seen[2], seen[3] = seen[0], usual_error(known, np.ones(1))


def model(state: RidgeServer) -> FloatArray:
    """Return the shared model as a model of the map's features."""
    return shared_model(state.w, state.shared)


def tells(state: RidgeServer) -> FloatArray:
    """Return the number of the shared model, how many coefficients it has, and these."""
    return state.shared


def collecting(most: int, ridge: float) -> ServerRule:
    """Return the server rule; `most` features of the map are summed."""
    return ServerRule(
        apply=partial(apply, ridge),
        init=partial(begin, most),
        model=model,
        tells=tells,
        recalls=recalls,
        waives=("fixed point", "convex hull", "untouched coordinates", LEFT_ALONE),
        why_not="no live fleet keeps copies of sums yet",
        bounded=True,
    )
