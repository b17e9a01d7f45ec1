"""ACED: ACE without the clients whose last step is too old.

Xiangyu Chang, Manyi Yao, Srikanth V. Krishnamurthy, Christian R. Shelton, Anirban Chakraborty,
Ananthram Swami, Samet Oymak, Amit Roy-Chowdhury: Mitigating Participation Imbalance Bias in
Asynchronous Federated Learning, arXiv 2511.19066 (2025).

The published threshold counts updates of the server; `recent` is in ticks, with a default of ours.
The publication begins with a gradient of every client; here a client that has said nothing yet does
not count. With windows each coordinate has recent clients of its own. Where there are none, since
the message itself is too old, nothing moves.
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


class RecentSteps(NamedTuple):
    """The model, the past models, and the last step of every client with its tick."""

    w: FloatArray  # (D,)
    past: FloatArray  # (memory, D)
    until: IntArray  # (memory,)
    steps: FloatArray  # (K, D)
    said: IntArray  # (K, D): the tick at which that step was sent; -1: never


def begin(memory: int, features: int, clients: int) -> RecentSteps:
    """Begin with a model of zeros and no steps."""
    past, until = no_past(memory, features)
    steps, said = np.zeros((clients, features)), np.full((clients, features), -1, dtype=np.int64)
    return RecentSteps(np.zeros(features), past, until, steps, said)


def counting(
    steps: FloatArray, said: IntArray, tick: int, recent: int
) -> tuple[FloatArray, IntArray]:
    """Return the sum of the steps that are recent at a tick, and how many there are."""
    total, active = np.zeros(steps.shape[1]), np.zeros(steps.shape[1], dtype=np.int64)
    for k in range(steps.shape[0]):
        for c in range(steps.shape[1]):
            if said[k, c] >= 0 and tick - said[k, c] <= recent:
                total[c] += steps[k, c]
                active[c] += 1
    return total, active


def engaged(
    rate: float, recent: int, state: RecentSteps, messages: Sequence[Message], stamp: Stamp
) -> RecentSteps:
    """Let a message's step replace its client's last one, then move by the mean of recent steps."""
    if len(messages) == 0:
        return state
    w, steps, said = state.w.copy(), state.steps.copy(), state.said.copy()
    total, active = counting(steps, said, stamp.tick, recent)
    for message in messages:
        k, started = message.client, started_from(state.w, state.past, state.until, message.sent)
        is_recent = stamp.tick - message.sent <= recent
        for j, c in enumerate(message.coordinates):
            if message.sent > said[k, c]:
                if said[k, c] >= 0 and stamp.tick - said[k, c] <= recent:
                    total[c] -= steps[k, c]
                    active[c] -= 1
                steps[k, c], said[k, c] = message.values[j] - started[c], message.sent
                if is_recent:
                    total[c] += steps[k, c]
                    active[c] += 1
            if active[c] > 0:
                w[c] += rate * total[c] / active[c]
    past, until = left_behind(state.w, state.past, state.until, stamp.tick)
    return RecentSteps(w, past, until, steps, said)


def aced(
    *, rate: float = 1.0, recent: int = 50, memory: int = KEPT, shared: int | None = None
) -> Algorithm:
    """ACED: every message moves the model by the mean over the last steps that are recent.

    A step is `recent` for so many ticks after it was sent. `memory` past models serve to work out
    the steps of messages. Several clients move the model, so the model is no fixed point and may
    leave the hull. Since each message averages anew, the order of arrival matters.
    """
    server = ServerRule(
        apply=partial(engaged, positive("rate", rate), count("recent", recent, least=0)),
        init=partial(begin, count("memory", memory)),
        waives=("fixed point", "convex hull", "order independence"),
        reach=memory,
        why_not=FOR_EACH,
    )
    return replace(row_of(shared), name="aced", server=server)
