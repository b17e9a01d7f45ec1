"""Server rules that interpret the paper rather than being methods; numba can compile both."""

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

    The paper adjusts the selection matrices "prior to computing" eq. 9, and does not say whether a
    message whose matrix has become zero is still one of K_{n,l}. Age l weighs base^l.
    """
    newest = np.full(state.w.size, -1)
    for message in messages:
        for c in message.coordinates:
            newest[c] = max(newest[c], message.sent)
    left = np.array([np.any(newest[m.coordinates] == m.sent) for m in messages])
    sent = np.array([m.sent for m in messages])
    w = state.w.copy()
    for message in messages:
        weight = base ** (stamp.tick - message.sent)
        counted = max(np.sum(left & (sent == message.sent)), 1)
        for j, c in enumerate(message.coordinates):
            if newest[c] == message.sent:
                w[c] += weight / counted * (message.values[j] - state.w[c])
    return Weights(w)
