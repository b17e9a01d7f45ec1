"""FedBuff: steps are collected, and the model moves when there are enough of them.

John Nguyen, Kshitiz Malik, Hongyuan Zhan, Ashkan Yousefpour, Michael Rabbat, Mani Malek, Dzmitry
Huba: Federated Learning with Buffered Asynchronous Aggregation, AISTATS 2022, arXiv 2106.06639.

The sum is divided by the size of the buffer, not by the sum of the weights, and with windows not by
how many messages hold a coordinate. Secure aggregation and noise are left out.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.algorithms.rivals.client_steps import KEPT, left_behind, no_past, started_from
from paofed.algorithms.rivals.options import STEPS_DIVERGE, count, positive, row_of
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.parts import Message, ServerRule, Stamp


class Buffer(NamedTuple):
    """The model, the past models, and the steps collected since the model moved."""

    w: FloatArray  # (D,)
    past: FloatArray  # (memory, D)
    until: IntArray  # (memory,)
    steps: FloatArray  # (D,): the sum of weighed steps in the buffer
    waiting: IntArray  # (1,): how many messages are in the buffer


def begin(memory: int, features: int, clients: int) -> Buffer:  # noqa: ARG001 (the interface of an `init`)
    """Begin with a model of zeros and an empty buffer."""
    past, until = no_past(memory, features)
    return Buffer(np.zeros(features), past, until, np.zeros(features), np.zeros(1, dtype=np.int64))


def buffered(
    buffer: int, rate: float, state: Buffer, messages: Sequence[Message], stamp: Stamp
) -> Buffer:
    """Collect steps weighed by (1 + age)^-1/2; when `buffer` steps are there, add their mean."""
    w, past, until = state.w.copy(), state.past, state.until
    steps, waiting = state.steps.copy(), state.waiting.copy()
    moved = False
    for message in messages:
        started = started_from(state.w, state.past, state.until, message.sent)
        weight = (1.0 + stamp.tick - message.sent) ** -0.5
        for j, c in enumerate(message.coordinates):
            steps[c] += weight * (message.values[j] - started[c])
        waiting[0] += 1
        if waiting[0] == buffer:
            w += rate / buffer * steps
            steps, waiting, moved = np.zeros(w.size), 0 * waiting, True
    if moved:
        past, until = left_behind(state.w, past, until, stamp.tick)
    return Buffer(w, past, until, steps, waiting)


def fed_buff(
    *, buffer: int = 10, rate: float = 1.0, memory: int = KEPT, shared: int | None = None
) -> Algorithm:
    """FedBuff: when `buffer` messages are there, the model moves by the mean of their steps.

    `memory` past models tell the steps of messages. A step that was held back moves the model
    later, wherever the model is by then. So the model is no fixed point, may leave the hull, and
    moves on coordinates that no message of this tick holds. Which messages share a buffer depends
    on the order of arrival.

    A live fleet cannot use FedBuff. There a client starts from an older model than that of the tick
    at which it sends, so every step also holds how far the server has moved since, backwards. Where
    more messages come in a tick than the buffer holds, this part outweighs the model, which
    diverges.
    """
    server = ServerRule(
        apply=partial(buffered, count("buffer", buffer), positive("rate", rate)),
        init=partial(begin, count("memory", memory)),
        waives=("fixed point", "convex hull", "untouched coordinates", "order independence"),
        reach=memory,
        why_not=STEPS_DIVERGE,
    )
    return replace(row_of(shared), name="fed-buff", server=server)
