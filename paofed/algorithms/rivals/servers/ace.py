"""ACE: at every message the model moves by the mean over the last step of every client.

Xiangyu Chang, Manyi Yao, Srikanth V. Krishnamurthy, Christian R. Shelton, Anirban Chakraborty,
Ananthram Swami, Samet Oymak, Amit Roy-Chowdhury: Mitigating Participation Imbalance Bias in
Asynchronous Federated Learning, arXiv 2511.19066 (2025).
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.algorithms.rivals.client_steps import KEPT, left_behind, no_past, started_from
from paofed.algorithms.rivals.options import FOR_EACH, count, positive, row_of
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.parts import Message, ServerRule, Stamp


class Engaged(NamedTuple):
    """The model, the past models, and the last step of every client."""

    w: FloatArray  # (D,)
    past: FloatArray  # (memory, D)
    until: IntArray  # (memory,)
    steps: FloatArray  # (K, D): 0 where a client has said nothing yet
    said: IntArray  # (K, D): the tick at which that step was sent; -1: never
    total: FloatArray  # (D,): the sum of all steps


def begin(memory: int, features: int, clients: int) -> Engaged:
    """Begin with a model of zeros and no steps."""
    past, until = no_past(memory, features)
    steps, said = np.zeros((clients, features)), np.full((clients, features), -1, dtype=np.int64)
    return Engaged(np.zeros(features), past, until, steps, said, np.zeros(features))


def engaged(rate: float, state: Engaged, messages: Sequence[Message], stamp: Stamp) -> Engaged:
    """Let a message's step replace its client's last one, then move by the mean of last steps."""
    if len(messages) == 0:
        return state
    w, total = state.w.copy(), state.total.copy()
    steps, said = state.steps.copy(), state.said.copy()
    for message in messages:
        k, started = message.client, started_from(state.w, state.past, state.until, message.sent)
        for j, c in enumerate(message.coordinates):
            if message.sent > said[k, c]:
                step = message.values[j] - started[c]
                total[c] += step - steps[k, c]
                steps[k, c], said[k, c] = step, message.sent
            w[c] += rate * total[c] / steps.shape[0]
    past, until = left_behind(state.w, state.past, state.until, stamp.tick)
    return Engaged(w, past, until, steps, said, total)


def ace(*, rate: float = 1.0, memory: int = KEPT, shared: int | None = None) -> Algorithm:
    """ACE: every message moves the model by the mean over the last steps of all clients.

    `memory` past models serve to work out the steps of messages. All clients move the model, so the
    model is no fixed point and may leave the hull. Since each message averages anew, the order of
    arrival matters.
    """
    server = ServerRule(
        apply=partial(engaged, positive("rate", rate)),
        init=partial(begin, count("memory", memory)),
        waives=("fixed point", "convex hull", "order independence"),
        reach=memory,
        why_not=FOR_EACH,
    )
    return replace(row_of(shared), name="ace", server=server)
