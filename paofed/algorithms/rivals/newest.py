"""The paper's mean of what arrived, for server rules that do more with it than add it up.

The same as paofed.core.rules.aggregate (eq. 9) with weights of 1, but in plain loops, so that numba
can compile the rules that call it.
"""

from collections.abc import Sequence

import numpy as np

from paofed.core.arrays import BoolArray, FloatArray
from paofed.core.parts import Message


def newest_steps(
    w: FloatArray, messages: Sequence[Message], tick: int
) -> tuple[FloatArray, BoolArray]:
    """Return how far eq. 9 moves each coordinate, and which coordinates any message holds."""
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
