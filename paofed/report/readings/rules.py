"""Server rules that are readings of the paper rather than methods; both compile."""

from collections.abc import Sequence

import numpy as np

from paofed.core.parts import Message, Stamp, Weights


def plain_mean(state: Weights, messages: Sequence[Message], stamp: Stamp) -> Weights:  # noqa: ARG001
    """Take the mean of all that arrives, whatever its age: eq. 4 as if nothing were late.

    With windows, each coordinate becomes the mean of the messages that hold the coordinate.
    """
    pull, holders = np.zeros(state.w.size), np.zeros(state.w.size)
    for message in messages:
        for j, c in enumerate(message.coordinates):
            pull[c] += message.values[j] - state.w[c]
            holders[c] += 1.0
    return Weights(state.w + pull / np.maximum(holders, 1.0))


def newest_before_counting(
    base: float, state: Weights, messages: Sequence[Message], stamp: Stamp
) -> Weights:
    """Apply eq. 9, where a message of which newer ones leave nothing does not count in its class.

    The paper adjusts the selection matrices "prior to computing" eq. 9, and does not say whether
    a message whose matrix has become zero is still one of K_{n,l}. Age l weighs base^l.
    """
    w, settled = state.w.copy(), np.zeros(state.w.size, dtype=np.bool_)
    begin = 0
    while begin < len(messages):  # one class after another: messages come sorted by age
        pull, holds, counted, end = np.zeros(w.size), np.zeros(w.size, dtype=np.bool_), 0, begin
        while end < len(messages) and messages[end].sent == messages[begin].sent:
            left = False
            for j, c in enumerate(messages[end].coordinates):
                if not settled[c]:
                    pull[c] += messages[end].values[j] - state.w[c]
                    holds[c] = left = True
            counted += left
            end += 1
        gain = base ** (stamp.tick - messages[begin].sent) / max(counted, 1)
        w, settled = w + gain * pull, settled | holds
        begin = end
    return Weights(w)
