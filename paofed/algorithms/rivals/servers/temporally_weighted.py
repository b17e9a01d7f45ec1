"""Temporally weighted aggregation: the last model of every client, the less the older it is.

Yang Chen, Xiaoyan Sun, Yaochu Jin: Communication-Efficient Federated Deep Learning with
Layerwise Asynchronous Model Update and Temporally Weighted Aggregation, IEEE Transactions on Neural
Networks and Learning Systems 2020, arXiv 1903.07424.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import e
from typing import NamedTuple

import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.algorithms.rivals.options import number
from paofed.algorithms.rivals.rows import row_of
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.parts import Message, ServerRule, Stamp


class Dated(NamedTuple):
    """The model, what each client said last of each coordinate, and how often it was heard."""

    w: FloatArray  # (D,)
    values: FloatArray  # (K, D)
    said: IntArray  # (K, D): the tick at which it was sent; -1: never
    heard: IntArray  # (K,): messages


def begin(features: int, clients: int) -> Dated:
    """Begin with a model of zeros, before anybody has said anything."""
    said = np.full((clients, features), -1, dtype=np.int64)
    heard = np.zeros(clients, dtype=np.int64)
    return Dated(np.zeros(features), np.zeros((clients, features)), said, heard)


def weighed(base: float, state: Dated, messages: Sequence[Message], stamp: Stamp) -> Dated:
    """Average, on the coordinates spoken of, over all clients weighed by n_k base^-age."""
    if len(messages) == 0:
        return state
    w, values, said = state.w.copy(), state.values.copy(), state.said.copy()
    heard, spoken = state.heard.copy(), np.zeros(w.size, dtype=np.bool_)
    for message in messages:
        k = message.client
        heard[k] += 1
        for j, c in enumerate(message.coordinates):
            spoken[c] = True
            if message.sent > said[k, c]:
                values[k, c], said[k, c] = message.values[j], message.sent
    by_age = base ** -np.arange(stamp.tick + 1.0)
    for c in np.flatnonzero(spoken):
        known = np.flatnonzero(said[:, c] >= 0)
        weight = heard[known] * by_age[stamp.tick - said[:, c][known]]
        w[c] = np.sum(weight * values[:, c][known]) / np.sum(weight)
    return Dated(w, values, said, heard)


def temporally_weighted(*, base: float = e / 2, shared: int | None = None) -> Algorithm:
    """The mean over the last models of all clients, weighed by n_k base^-age.

    What other clients said before counts on, so the model is no fixed point, and a client that
    takes back what it said may move the model out of the hull.
    """
    server = ServerRule(
        apply=partial(weighed, number("base", base, 1.0)),
        init=begin,
        waives=("fixed point", "convex hull"),
    )
    return replace(row_of(shared), name="temporally-weighted", server=server)
