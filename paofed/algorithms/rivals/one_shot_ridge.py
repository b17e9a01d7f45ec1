"""One-shot ridge regression: a device sends the sums over its samples once, whole.

Z. Alsulaimawi, "One-shot federated ridge regression: exact recovery via sufficient statistic
aggregation", 2026, arXiv:2601.08216, of which the abstract was read.

Published for clients that have all of their samples before they send. Here samples keep coming, so
that a device has to choose its moment, the server solves anew when more sums are there, and devices
hear of it when that is worth a message. The ridge is towards the model with which the fleet began,
and relative to each feature's mean square, as in fed-ridge.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from paofed.algorithms.base import LONGEST, Algorithm
from paofed.algorithms.rivals.channels.encoding import bytes_as_floats, floats_as_bytes
from paofed.algorithms.rivals.options import count, positive
from paofed.core.arrays import FloatArray
from paofed.core.parts import (
    LARGEST,
    LEFT_ALONE,
    Bytes,
    Channel,
    Learner,
    Message,
    Part,
    ServerRule,
    Stamp,
    placed,
    silence,
)
from paofed.core.starting import keeping_start
from paofed.core.sums import COUNT, FIRST, add, fitted, size_of

_WHY_NOT = "a device that loses power would not know whether its one message was sent"
_NEWS = 2.0  # a device is told of a model of so many times the samples of the one it was told of
_ONCE = LARGEST  # no device ever has so many times the samples of its first message


class Collecting(NamedTuple):
    """What a device keeps: of D features of the map, the last F are summed."""

    start: FloatArray  # (D,): the model with which the fleet began
    shared: FloatArray  # (1 + F,): of how many samples the server's fit is, and the fit
    sums: FloatArray  # as paofed.core.sums packs them


class Solving(NamedTuple):
    """What the server keeps."""

    w: FloatArray  # (D,): the model with which the fleet began
    shared: FloatArray  # (1 + F,): of how many samples the fit is, and the fit
    total: FloatArray  # the sums that have arrived, as paofed.core.sums packs them


def _summed(most: int, features: int) -> int:
    """Return how many features are summed: at most so many, or all of them for 0."""
    return min(most, features) if most > 0 else features


def begin_device(most: int, features: int) -> Collecting:
    """Begin with a model of zeros, and without a sample."""
    summed = _summed(most, features)
    return Collecting(np.zeros(features), np.zeros(1 + summed), np.zeros(size_of(summed)))


def learn(
    state: Collecting,
    z: FloatArray,
    y: float,
    mu: float,  # noqa: ARG001 (the interface of a `learn`)
    tick: int,  # noqa: ARG001 (likewise)
) -> Collecting:
    """Add the sample to the sums, in place: its target less what the first model predicts."""
    summed = state.shared.size - 1
    add(state.sums, z[z.size - summed :], y - float(state.start @ z))
    return state


def merge(state: Collecting, part: Part) -> Collecting:
    """Take the server's fit over."""
    return state._replace(shared=placed(state.shared, part))


def sums_told(state: Collecting) -> FloatArray:
    """Return n, and then for each feature the sums of its products: all that a fit needs."""
    return np.append(state.sums[COUNT], state.sums[FIRST:])


def device_model(state: Collecting) -> FloatArray:
    """Return the first model with the fit added."""
    return _fit_added(state.start, state.shared)


def _fit_added(start: FloatArray, shared: FloatArray) -> FloatArray:
    """Return a model with the fit to what it leaves over added to its last features."""
    w = start.copy()
    for f in range(1, shared.size):
        w[w.size - shared.size + f] += shared[f]
    return w


class Spoken(NamedTuple):
    """What a sender remembers of a link."""

    samples: FloatArray  # (1,): how many were behind what it sent last; 0 before that


def begin_link(size: int) -> Spoken:  # noqa: ARG001 (the interface of an `init`)
    """Begin with nothing said."""
    return Spoken(np.zeros(1))


def send_whole(
    least: int,
    times: float,
    told: FloatArray,
    memory: Spoken,
    stamp: Stamp,  # noqa: ARG001 (the interface of a `send`)
) -> tuple[Part, Spoken]:
    """Send all numbers once `least` samples are behind them, and again at so many `times` more.

    The first of the numbers says how many samples are behind them.
    """
    if told[0] < max(float(least), times * memory.samples[0]):
        return silence(), memory
    return Part(np.arange(told.size), told.copy()), Spoken(told[:1].copy())


def encode(part: Part, stamp: Stamp) -> Bytes:  # noqa: ARG001 (the interface of an `encode`)
    """Write all numbers as float32."""
    return floats_as_bytes(part.values)


def decode(payload: Bytes, stamp: Stamp) -> Part:
    """Read what `encode` has written."""
    return Part(np.arange(stamp.features), bytes_as_floats(payload))


def _whole(least: int, times: float) -> Channel:
    return Channel(
        send=partial(send_whole, least, times),
        init=begin_link,
        encode=encode,
        decode=decode,
        waives=("never silent",),
        why_not=_WHY_NOT,
    )


def begin_server(most: int, features: int, clients: int) -> Solving:  # noqa: ARG001 (likewise)
    """Begin with a model of zeros, and without sums."""
    return Solving(*begin_device(most, features))


def solve(
    ridge: float,
    state: Solving,
    messages: Sequence[Message],
    stamp: Stamp,  # noqa: ARG001 (the interface of an `apply`)
) -> Solving:
    """Add up what arrives, and fit anew to all that ever arrived."""
    if len(messages) == 0:
        return state
    total, shared = state.total.copy(), state.shared.copy()
    for message in messages:
        for i, place in enumerate(message.coordinates):
            total[COUNT if place == 0 else FIRST - 1 + place] += message.values[i]
    shared[0] = total[COUNT]
    shared[1:] = fitted(total, ridge, np.zeros(shared.size - 1))
    return Solving(state.w, shared, total)


def server_model(state: Solving) -> FloatArray:
    """Return the first model with the fit added."""
    return _fit_added(state.w, state.shared)


def fit_told(state: Solving) -> FloatArray:
    """Return of how many samples the fit is, and the fit."""
    return state.shared


def one_shot_ridge(*, after: int = 100, most: int | None = None, ridge: float = 3.0) -> Algorithm:
    """Each device sends the sums over its samples once; the server fits a ridge regression to them.

    A device sends at the first contact at which it has `after` samples with labels. Of the map's
    features, the last `most` are fitted, all of them unless it is given. The `ridge` is worth so
    many samples.
    """
    features = 0 if most is None else count("most", most)
    return Algorithm(
        name="one-shot-ridge",
        downlink=_whole(1, _NEWS),
        uplink=_whole(count("after", after), _ONCE),
        learner=Learner(
            learn=learn,
            init=partial(begin_device, features),
            model=device_model,
            merge=merge,
            tells=sums_told,
            starts=keeping_start,
            waives=("a step helps", "merge overwrites", LEFT_ALONE),
            why_not=_WHY_NOT,
        ),
        server=ServerRule(
            apply=partial(solve, positive("ridge", ridge)),
            init=partial(begin_server, features),
            model=server_model,
            tells=fit_told,
            waives=("fixed point", "convex hull", "untouched coordinates"),
            why_not=_WHY_NOT,
        ),
        learns_while_away=True,
        max_age=LONGEST,
    )
