"""The models that a server has left behind: what a client's message is a step from.

Published servers add up steps: what a client sends less the model that it started from. Messages
here hold models. In the paper's exchange a client starts from the server's model of the tick at
which it sends, so a server that keeps its past models knows the step.

A state keeps `past`, some models, and `until`, the last tick at which each was the server's; -1 is
a place that is still free. Models that were not left behind are not kept, so nothing needs to be
done in a tick in which the model rests.
"""

import numpy as np

from paofed.core.arrays import FloatArray, IntArray

KEPT = 10  # past models, unless told: with one change in each tick, enough for ages up to 10


def no_past(memory: int, features: int) -> tuple[FloatArray, IntArray]:
    """Begin with room for so many models, none of them kept yet."""
    return np.zeros((memory, features)), np.full(memory, -1, dtype=np.int64)


def started_from(w: FloatArray, past: FloatArray, until: IntArray, sent: int) -> FloatArray:
    """Return the model that was the server's when a message was sent.

    A message from before all that is kept is measured against the oldest one.
    """
    found, model = -1, w
    for i in range(until.size):
        if until[i] >= sent and (found < 0 or until[i] < until[found]):
            found, model = i, past[i]
    return model


def left_behind(
    w: FloatArray, past: FloatArray, until: IntArray, tick: int
) -> tuple[FloatArray, IntArray]:
    """Return the past with one more model, the server's up to this tick; the oldest makes room."""
    past, until = past.copy(), until.copy()
    oldest = np.argmin(until)
    until[oldest] = tick
    for c in range(w.size):
        past[oldest, c] = w[c]
    return past, until
