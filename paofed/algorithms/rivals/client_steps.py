"""The steps that servers work out of messages.

Published servers add up steps: the model that a client sends less the model that it started from.
Messages here hold models. In the exchange "paper" a client starts from the server's model of the
tick at which it sends, so a server that keeps its past models can work out the step.

A state keeps `past`, some models, and `until`, the last tick at which each of them was the server's
model; -1 marks a place that is still free. Only a model that has changed is added to `past`, so
nothing needs to be done in a tick in which the model rests.
"""

from collections.abc import Sequence

import numpy as np

from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.parts import Message

KEPT = 10  # past models by default: with one change in each tick, enough for ages up to 10


def no_past(memory: int, features: int) -> tuple[FloatArray, IntArray]:
    """Begin with room for `memory` past models, all places free."""
    return np.zeros((memory, features)), np.full(memory, -1, dtype=np.int64)


def started_from(w: FloatArray, past: FloatArray, until: IntArray, sent: int) -> FloatArray:
    """Return the server's model at the tick `sent`.

    A message sent before all past models that are kept is measured against the oldest of them.
    """
    found, model = -1, w
    for i in range(until.size):
        if until[i] >= sent and (found < 0 or until[i] < until[found]):
            found, model = i, past[i]
    return model


def left_behind(
    w: FloatArray, past: FloatArray, until: IntArray, tick: int
) -> tuple[FloatArray, IntArray]:
    """Return `past` and `until` with `w` added, which was the server's model up to `tick`.

    Where all places are taken, `w` takes the place of the oldest model.
    """
    past, until = past.copy(), until.copy()
    oldest = np.argmin(until)
    until[oldest] = tick
    for c in range(w.size):
        past[oldest, c] = w[c]
    return past, until


def newest_steps(
    w: FloatArray, messages: Sequence[Message], tick: int
) -> tuple[FloatArray, BoolArray]:
    """Return how far eq. 9 moves each coordinate, and which coordinates any message holds.

    For rules that do more with that mean than add it up: paofed.core.rules.aggregate with weights
    of 1, but in plain loops, so that numba can compile the rules that call it.
    """
    oldest = 0
    for message in messages:
        oldest = max(oldest, tick - message.sent)
    sent = np.zeros(oldest + 1, dtype=np.int64)  # how many messages each age has
    newest = np.full(w.size, oldest + 1)
    for message in messages:
        sent[tick - message.sent] += message.coordinates.size > 0
        for c in message.coordinates:
            newest[c] = min(newest[c], tick - message.sent)
    steps = np.zeros(w.size)
    for message in messages:
        for i, c in enumerate(message.coordinates):
            if newest[c] == tick - message.sent:
                steps[c] += (message.values[i] - w[c]) / sent[newest[c]]
    return steps, newest <= oldest
