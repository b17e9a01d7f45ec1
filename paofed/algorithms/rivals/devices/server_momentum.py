"""Server momentum, FedAvgM: every mean that the server makes goes on moving its model for a while.

T.-M. H. Hsu, H. Qi, M. Brown, "Measuring the effects of non-identical data distribution for
federated visual classification", 2019, arXiv:1909.06335.

The rate is that of later publications and of frameworks; as published it is 1.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.algorithms.rivals.options import fraction, positive, row_of
from paofed.algorithms.rivals.steps import newest_steps
from paofed.core.arrays import FloatArray
from paofed.core.parts import Message, ServerRule, Stamp


class Moving(NamedTuple):
    """The server's model, and the velocity at which the model moves on."""

    w: FloatArray  # (D,)
    velocity: FloatArray  # (D,)


def begin(features: int, clients: int) -> Moving:  # noqa: ARG001 (the interface of an `init`)
    """Begin with a model of zeros, at rest."""
    return Moving(np.zeros(features), np.zeros(features))


def apply(
    momentum: float, rate: float, state: Moving, messages: Sequence[Message], stamp: Stamp
) -> Moving:
    """Move by what is left of the last moves plus the mean of the newest messages.

    A coordinate has a round in each tick in which a message holds it; other coordinates rest.
    """
    steps, held = newest_steps(state.w, messages, stamp.tick)
    velocity = np.where(held, momentum * state.velocity + steps, state.velocity)
    return Moving(state.w + np.where(held, rate * velocity, 0.0), velocity)


def server_momentum(
    *, shared: int | None = None, momentum: float = 0.9, rate: float = 1.0
) -> Algorithm:
    """FedAvgM: Online-FedSGD whose server's model goes on moving for a while.

    With `shared`, PAO-Fed-U1 with such a server.
    """
    server = ServerRule(
        apply=partial(apply, fraction("momentum", momentum), positive("rate", rate)),
        init=begin,
        # A model that moves goes on, also from a fixed point and out of the hull.
        waives=("fixed point", "convex hull"),
        why_not="it is ahead only where a contact has two round trips, and a live one has one",
    )
    return replace(row_of(shared), name="server-momentum", server=server)
