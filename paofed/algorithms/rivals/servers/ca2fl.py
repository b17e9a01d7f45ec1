"""CA2FL: a buffer of steps, calibrated by the last step of every client.

Yujia Wang, Yuanpu Cao, Jingcheng Wu, Ruoyu Chen, Jinghui Chen: Tackling the Data Heterogeneity in
Asynchronous Federated Learning with Cached Update Calibration, ICLR 2024.

The publication has each client once in a buffer. Here a client that is twice in it counts once,
with its last step, and the divisor stays. A message that was overtaken by a later one of its client
counts as one of the buffer, and its coordinates move, but its step is not used. Rounding has one
scale for each message; if a client is twice in the buffer, its second step replaces what was kept
of the first, so what rounding took from the first stays.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.algorithms.rivals.channels.quantised import (
    PLAIN,
    bits_of_value,
    levels_of,
    rounded,
    scale_of,
)
from paofed.algorithms.rivals.client_steps import KEPT, left_behind, no_past, started_from
from paofed.algorithms.rivals.options import STEPS_DIVERGE, count, positive, row_of
from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.parts import Message, ServerRule, Stamp, draws


class Calibrated(NamedTuple):
    """The model, the past models, the last step of every client, and the buffer."""

    w: FloatArray  # (D,)
    past: FloatArray  # (memory, D)
    until: IntArray  # (memory,)
    cache: FloatArray  # (K, D): the last steps, perhaps of few bits; 0 before a client's first
    said: IntArray  # (K, D): the tick at which that step was sent; -1: never
    total: FloatArray  # (D,): the sum of the cache when the model moved last
    cached: FloatArray  # (D,): by how much the sum of the cache has changed since then
    news: FloatArray  # (D,): the sum of the steps since then, less what the cache had for each
    spoken: BoolArray  # (D,): which coordinates a message has held since then
    waiting: IntArray  # (1,): how many messages have come since then


def begin(memory: int, features: int, clients: int) -> Calibrated:
    """Begin with a model of zeros, no steps and an empty buffer."""
    past, until = no_past(memory, features)
    cache, said = np.zeros((clients, features)), np.full((clients, features), -1, dtype=np.int64)
    none, nobody = np.zeros(features), np.zeros(features, dtype=np.bool_)
    waiting = np.zeros(1, dtype=np.int64)
    return Calibrated(none, past, until, cache, said, none, none, none, nobody, waiting)


def kept(bits: int, steps: FloatArray, stamp: Stamp) -> FloatArray:
    """Return the steps of a message as the cache keeps them: as they are, or with few bits."""
    if bits == PLAIN or steps.size == 0:
        return steps
    levels, scale = levels_of(bits), scale_of(steps)
    return scale * rounded(steps, scale, levels, draws(stamp, steps.size)) / levels


def calibrated(
    buffer: int,
    rate: float,
    bits: int,
    state: Calibrated,
    messages: Sequence[Message],
    stamp: Stamp,
) -> Calibrated:
    """Collect how steps have changed; when the buffer is full, move the model.

    The model moves by the mean of the cache before the buffer, plus the sum of the changes in the
    buffer divided by `buffer`, on the coordinates that the buffer's messages hold.
    """
    if len(messages) == 0:
        return state
    w, past, until = state.w.copy(), state.past, state.until
    cache, said, total = state.cache.copy(), state.said.copy(), state.total.copy()
    cached, news = state.cached.copy(), state.news.copy()
    spoken, waiting, moved = state.spoken.copy(), state.waiting.copy(), False
    for message in messages:
        k, started = message.client, started_from(state.w, state.past, state.until, message.sent)
        steps = message.values - started[message.coordinates]
        # A client sends one message in a tick at most, so each has random numbers of its own.
        of_few_bits = kept(bits, steps, Stamp(k, message.sent, stamp.features, stamp.key))
        for j, c in enumerate(message.coordinates):
            spoken[c] = True
            if message.sent > said[k, c]:
                news[c] += steps[j] - cache[k, c]
                cached[c] += of_few_bits[j] - cache[k, c]
                cache[k, c], said[k, c] = of_few_bits[j], message.sent
        waiting[0] += 1
        if waiting[0] == buffer:
            w += rate * spoken * (total / cache.shape[0] + news / buffer)
            total, cached, news = total + cached, 0.0 * cached, 0.0 * news
            spoken, waiting, moved = spoken & False, 0 * waiting, True
    if moved:
        past, until = left_behind(state.w, past, until, stamp.tick)
    return Calibrated(w, past, until, cache, said, total, cached, news, spoken, waiting)


def ca2fl(
    *,
    buffer: int = 10,
    rate: float = 1.0,
    bits: int = PLAIN,
    memory: int = KEPT,
    shared: int | None = None,
) -> Algorithm:
    """CA2FL: FedBuff with steps that are calibrated by the last step of every client.

    `memory` past models serve to work out the steps of the `buffer` messages, and the server keeps
    `bits` bits a value of each client's last step; 32 means all digits. Steps of earlier
    messages and of other clients move the model. So the model is no fixed point, may leave the
    hull, and moves on coordinates that no message of this tick holds. Which messages share a buffer
    depends on the order of arrival.
    """
    numbers = count("buffer", buffer), positive("rate", rate), bits_of_value(bits)
    server = ServerRule(
        apply=partial(calibrated, *numbers),
        init=partial(begin, count("memory", memory)),
        waives=("fixed point", "convex hull", "untouched coordinates", "order independence"),
        reach=memory,
        why_not=STEPS_DIVERGE,
    )
    return replace(row_of(shared), name="ca2fl", server=server)
