"""FedAT: tiers by latency, synchronous within a tier; the slower tiers weigh more.

Zheng Chai, Yujing Chen, Ali Anwar, Liang Zhao, Yue Cheng, Huzefa Rangwala: FedAT: A
High-Performance and Communication-Efficient Federated Learning System with Asynchronous Tiers,
SC 2021, arXiv 2010.05958.

Published tiers come from measured response times, and within a tier the server waits for clients.
Here nobody can be made to wait: a round of a tier is what its clients say in one tick, and the
tier's model is the mean of it. A client that was never heard has no tier. With windows, models and
counts are kept for each coordinate. The pull of published clients and the compression are left out.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.algorithms.rivals.options import FOR_EACH, count, row_of
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.parts import Message, ServerRule, Stamp


class Tiered(NamedTuple):
    """The model, a model for each tier, the fastest first, and what is known of clients."""

    w: FloatArray  # (D,)
    tiers: FloatArray  # (M, D)
    rounds: IntArray  # (M, D): in how many ticks a tier's clients sent a coordinate
    ages: IntArray  # (K,): the sum of the ages of a client's messages
    heard: IntArray  # (K,): how many messages a client has sent


def begin(tiers: int, features: int, clients: int) -> Tiered:
    """Begin with models of zeros and unknown clients."""
    nobody = np.zeros(clients, dtype=np.int64)
    rounds = np.zeros((tiers, features), dtype=np.int64)
    return Tiered(np.zeros(features), np.zeros((tiers, features)), rounds, nobody, nobody)


def tier_of(client: int, tiers: int, ages: IntArray, heard: IntArray) -> int:
    """Return the tier of a client.

    The clients heard so far are ranked by the mean age of their messages and cut into `tiers` equal
    parts; 0 is the fastest.
    """
    faster, known = 0, 0
    for k in range(heard.size):
        if heard[k] > 0:
            # Compares two means without dividing.
            mine, other = ages[client] * heard[k], ages[k] * heard[client]
            faster += other < mine or (other == mine and k < client)
            known += 1
    return tiers * faster // known


def tiered(state: Tiered, messages: Sequence[Message], stamp: Stamp) -> Tiered:
    """Set each tier to the mean of its clients' messages, then average the tiers with `across`."""
    if len(messages) == 0:
        return state
    w, tiers, rounds = state.w.copy(), state.tiers.copy(), state.rounds.copy()
    ages, heard = state.ages.copy(), state.heard.copy()
    for message in messages:
        ages[message.client] += stamp.tick - message.sent
        heard[message.client] += 1
    sums, counts = np.zeros(tiers.shape), np.zeros(tiers.shape, dtype=np.int64)
    for message in messages:
        m = tier_of(message.client, tiers.shape[0], ages, heard)
        for j, c in enumerate(message.coordinates):
            sums[m, c] += message.values[j]
            counts[m, c] += 1
    for c in np.flatnonzero(np.sum(counts, axis=0)):
        for m in range(tiers.shape[0]):
            if counts[m, c] > 0:
                tiers[m, c], rounds[m, c] = sums[m, c] / counts[m, c], rounds[m, c] + 1
        w[c] = across(state.w[c], tiers[:, c], rounds[:, c])
    return Tiered(w, tiers, rounds, ages, heard)


def across(w: float, tiers: FloatArray, rounds: IntArray) -> float:
    """Average a coordinate over tiers: the fastest is weighed by the rounds of the slowest.

    A tier that has had no round yet stands for the server's own value.
    """
    total, last = 0.0, tiers.size - 1
    for m in range(tiers.size):
        total += rounds[last - m] * (tiers[m] if rounds[m] > 0 else w)
    return total / np.sum(rounds)


def fed_at(*, tiers: int = 5, shared: int | None = None) -> Algorithm:
    """FedAT: clients in so many `tiers` by their latency; the slower tiers weigh more.

    The models of the tiers are kept from tick to tick, so the server's model is no fixed point and
    may leave the hull.
    """
    server = ServerRule(
        apply=tiered,
        init=partial(begin, count("tiers", tiers)),
        waives=("fixed point", "convex hull"),
        why_not=FOR_EACH,
    )
    return replace(row_of(shared), name="fed-at", server=server)
