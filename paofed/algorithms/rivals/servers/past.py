"""The models that a server has left behind: what a client's message is a step from.

Published servers add up steps: the model that a client sends less the model that it started from.
Messages here hold models. In the exchange "paper" a client starts from the server's model of the
tick at which it sends, so a server that keeps its past models can work out the step.

A state keeps `past`, some models, and `until`, the last tick at which each of them was the server's
model; -1 marks a place that is still free. Only a model that has changed is added to `past`, so
nothing needs to be done in a tick in which the model rests.
"""

import numpy as np

from paofed.core.arrays import FloatArray, IntArray

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
