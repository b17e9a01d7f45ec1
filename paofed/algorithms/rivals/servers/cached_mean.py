"""The mean over the last values of every client, however long ago it sent them.

Not published under this name: the plainest server with a cache, beside `ace` and `ca2fl`, which
keep steps where this server keeps models.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.algorithms.rivals.channels.quantised import PLAIN, quantised_window
from paofed.algorithms.rivals.options import row_of
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.parts import Message, ServerRule, Stamp
from paofed.errors import AlgorithmError


class Cache(NamedTuple):
    """The model, and the last value of each client for each coordinate."""

    w: FloatArray  # (D,)
    total: FloatArray  # (D,): the sum of the clients' last values
    clients: IntArray  # (D,): how many clients have sent a value
    values: FloatArray  # (K, D)
    said: IntArray  # (K, D): the tick at which that value was sent; -1: never


def begin(features: int, clients: int) -> Cache:
    """Begin with a model of zeros, before anybody has said anything."""
    nothing, nobody = np.zeros(features), np.zeros(features, dtype=np.int64)
    said = np.full((clients, features), -1, dtype=np.int64)
    return Cache(nothing, nothing, nobody, np.zeros((clients, features)), said)


def averaged(state: Cache, messages: Sequence[Message], stamp: Stamp) -> Cache:  # noqa: ARG001 (the interface of an `apply`)
    """Average the last values of all clients that have sent any, on the coordinates held now."""
    if len(messages) == 0:
        return state
    w, total, clients = state.w.copy(), state.total.copy(), state.clients.copy()
    values, said = state.values.copy(), state.said.copy()
    for message in messages:
        k = message.client
        for j, c in enumerate(message.coordinates):
            if message.sent > said[k, c]:
                total[c] += message.values[j] - values[k, c]
                clients[c] += said[k, c] < 0
                values[k, c], said[k, c] = message.values[j], message.sent
                w[c] = total[c] / clients[c]
    return Cache(w, total, clients, values, said)


def cached_mean(*, shared: int | None = None, bits: int = PLAIN) -> Algorithm:
    """The server's model is the mean over the last values of all clients, however old.

    Clients may send windows with `bits` bits a value; 32 means plain values.

    Earlier values of other clients go on counting, so the model is no fixed point, and a client
    that takes back an earlier value may move the model out of the hull.
    """
    server = ServerRule(
        apply=averaged,
        init=begin,
        waives=("fixed point", "convex hull"),
        why_not="it keeps the last model of every device, and fed-async, which does not, is better "
        "at the same bytes",
    )
    row = replace(row_of(shared), name="cached-mean", server=server)
    if bits == PLAIN:
        return row
    if shared is None:
        raise AlgorithmError(
            f"bits is {bits!r}: expected windows for it, give `shared` too", key="bits"
        )
    return replace(row, uplink=quantised_window(shared, bits, ahead=1))
