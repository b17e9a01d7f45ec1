"""Temporally weighted aggregation: the last model of every client, the less the older it is.

Yang Chen, Xiaoyan Sun, Yaochu Jin: Communication-Efficient Federated Deep Learning with Layerwise
Asynchronous Model Update and Temporally Weighted Aggregation, IEEE Transactions on Neural Networks
and Learning Systems 2020, arXiv 1903.07424.

The published sum has weights n_k / n, how much data a client has, which the server is not told
here, and is not divided by the sum of the weights. Divided by it, weights depend on differences of
ages alone, and nothing moves without messages. The layerwise half of the publication does not apply
to a model that is linear in its features.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import e
from typing import NamedTuple

import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.algorithms.rivals.options import FOR_EACH, number, row_of
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.parts import Message, ServerRule, Stamp


class Dated(NamedTuple):
    """The model, and the last value of each client for each coordinate."""

    w: FloatArray  # (D,)
    total: FloatArray  # (D,): the weighed sum of the clients' last values
    weight: FloatArray  # (D,): the sum of the weights
    weighed: IntArray  # (1,): the tick at which these weights were right
    values: FloatArray  # (K, D)
    said: IntArray  # (K, D): the tick at which that value was sent; -1: never


def begin(features: int, clients: int) -> Dated:
    """Begin with a model of zeros, before anybody has said anything."""
    nothing, said = np.zeros(features), np.full((clients, features), -1, dtype=np.int64)
    now = np.zeros(1, dtype=np.int64)
    return Dated(nothing, nothing, nothing, now, np.zeros((clients, features)), said)


def faded(base: float, state: Dated, messages: Sequence[Message], stamp: Stamp) -> Dated:
    """Average the clients' last values, weighed by base^-age, on the coordinates held now."""
    if len(messages) == 0:
        return state
    fading = base ** -float(stamp.tick - state.weighed[0])
    w, total, weight = state.w.copy(), fading * state.total, fading * state.weight
    values, said = state.values.copy(), state.said.copy()
    for message in messages:
        k, new = message.client, base ** -float(stamp.tick - message.sent)
        for j, c in enumerate(message.coordinates):
            if message.sent > said[k, c]:
                old = base ** -float(stamp.tick - said[k, c]) if said[k, c] >= 0 else 0.0
                total[c] += new * message.values[j] - old * values[k, c]
                weight[c] += new - old
                values[k, c], said[k, c] = message.values[j], message.sent
                w[c] = total[c] / weight[c]
    return Dated(w, total, weight, np.full(1, stamp.tick), values, said)


def temporally_weighted(*, base: float = e / 2, shared: int | None = None) -> Algorithm:
    """The server's model is the mean over the last models of all clients, weighed by base^-age.

    Earlier values of other clients go on counting, so the model is no fixed point, and a client
    that takes back an earlier value may move the model out of the hull.
    """
    server = ServerRule(
        apply=partial(faded, number("base", base, 1.0)),
        init=begin,
        waives=("fixed point", "convex hull"),
        why_not=FOR_EACH,
    )
    return replace(row_of(shared), name="temporally-weighted", server=server)
