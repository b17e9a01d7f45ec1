"""CA2FL: a buffer of steps, calibrated by the last step of every client.

Yujia Wang, Yuanpu Cao, Jingcheng Wu, Ruoyu Chen, Jinghui Chen: Tackling the Data Heterogeneity in
Asynchronous Federated Learning with Cached Update Calibration, ICLR 2024.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.algorithms.rivals.options import count, positive
from paofed.algorithms.rivals.rows import row_of
from paofed.algorithms.rivals.servers.past import KEPT, left_behind, no_past, started_from
from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.parts import Message, ServerRule, Stamp


class Calibrated(NamedTuple):
    """The model, the past models, the last step of every client, and the buffer."""

    w: FloatArray  # (D,)
    past: FloatArray  # (memory, D)
    until: IntArray  # (memory,)
    steps: FloatArray  # (K, D): 0 where a client has said nothing yet
    said: IntArray  # (K, D): the tick at which that step was sent; -1: never
    total: FloatArray  # (D,): the sum of all steps when the model moved last
    news: FloatArray  # (D,): by how much the sum of all steps has changed since then
    spoken: BoolArray  # (D,): which coordinates a message has held since then
    waiting: IntArray  # (1,): how many messages have come since then


def begin(memory: int, features: int, clients: int) -> Calibrated:
    """Begin with a model of zeros, no steps and an empty buffer."""
    past, until = no_past(memory, features)
    steps, said = np.zeros((clients, features)), np.full((clients, features), -1, dtype=np.int64)
    nothing, nobody = np.zeros(features), np.zeros(features, dtype=np.bool_)
    return Calibrated(
        nothing, past, until, steps, said, nothing, nothing, nobody, np.zeros(1, dtype=np.int64)
    )


def calibrated(
    buffer: int, rate: float, state: Calibrated, messages: Sequence[Message], stamp: Stamp
) -> Calibrated:
    """Collect how steps have changed; when the buffer is full, move the model.

    The model moves by the mean of all clients' last steps before the buffer, plus the sum of the
    changes in the buffer divided by `buffer`, on the coordinates that the buffer's messages hold.
    """
    if len(messages) == 0:
        return state
    w, past, until = state.w.copy(), state.past, state.until
    steps, said, total = state.steps.copy(), state.said.copy(), state.total.copy()
    news, spoken, waiting = state.news.copy(), state.spoken.copy(), state.waiting.copy()
    moved = False
    for message in messages:
        k, started = message.client, started_from(state.w, state.past, state.until, message.sent)
        for j, c in enumerate(message.coordinates):
            spoken[c] = True
            if message.sent > said[k, c]:
                step = message.values[j] - started[c]
                news[c] += step - steps[k, c]
                steps[k, c], said[k, c] = step, message.sent
        waiting[0] += 1
        if waiting[0] == buffer:
            w += rate * spoken * (total / steps.shape[0] + news / buffer)
            total, news, spoken = total + news, 0.0 * news, spoken & False
            waiting, moved = 0 * waiting, True
    if moved:
        past, until = left_behind(state.w, past, until, stamp.tick)
    return Calibrated(w, past, until, steps, said, total, news, spoken, waiting)


def ca2fl(
    *, buffer: int = 10, rate: float = 1.0, memory: int = KEPT, shared: int | None = None
) -> Algorithm:
    """CA2FL: FedBuff with steps that are calibrated by the last step of every client.

    `memory` past models serve to work out the steps of the `buffer` messages. Steps of earlier
    messages and of other clients move the model. So the model is no fixed point, may leave the
    hull, and moves on coordinates that no message of this tick holds. Which messages share a buffer
    depends on the order of arrival.
    """
    server = ServerRule(
        apply=partial(calibrated, count("buffer", buffer), positive("rate", rate)),
        init=partial(begin, count("memory", memory)),
        waives=("fixed point", "convex hull", "untouched coordinates", "order independence"),
    )
    return replace(row_of(shared), name="ca2fl", server=server)
