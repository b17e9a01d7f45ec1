"""FedProx: a device's steps are pulled towards the last model that it heard.

T. Li, A. K. Sahu, M. Zaheer, M. Sanjabi, A. Talwalkar, V. Smith, "Federated optimization in
heterogeneous networks", MLSys 2020, arXiv:1812.06127.

The publication minimises the loss of all data of a client with this pull; here each sample gives
one step.
"""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.algorithms.rivals.options import positive, row_of
from paofed.core.arrays import FloatArray
from paofed.core.parts import Learner, Part, placed


class Pulled(NamedTuple):
    """The device's model, and the last values of the server's model that the device has heard."""

    w: FloatArray  # (D,)
    heard: FloatArray  # (D,)


def begin(features: int) -> Pulled:
    """Begin with a model of zeros, as the server does."""
    return Pulled(np.zeros(features), np.zeros(features))


def learn(
    pull: float,
    state: Pulled,
    z: FloatArray,
    y: float,
    mu: float,
    tick: int,  # noqa: ARG001 (the interface of a `learn`)
) -> Pulled:
    """Take a gradient step on half the squared error and pull / 2 |w - heard|^2."""
    e = y - state.w @ z
    return Pulled(state.w + mu * (e * z - pull * (state.w - state.heard)), state.heard)


def merge(state: Pulled, part: Part) -> Pulled:
    """Take over the values that were heard, and remember them."""
    return Pulled(placed(state.w, part), placed(state.heard, part))


def fed_prox(*, shared: int | None = None, pull: float = 0.01) -> Algorithm:
    """FedProx: a device's steps are pulled towards the last model that it heard.

    Whole models travel, or windows of `shared` coordinates as in PAO-Fed-U1.

    In the exchange "paper", a whole model that is heard overwrites all that the device has learned
    before any of it could be sent. One step is left, on which nothing pulls, and FedProx would be
    Online-FedSGD. So with whole models the exchange is "single": the device sends after the steps
    that it took by itself.
    """
    learner = Learner(
        learn=partial(learn, positive("pull", pull)),
        init=begin,
        merge=merge,
        waives=("a step helps",),  # the pull may outweigh the sample
        why_not="no live fleet has tried its pull yet",
    )
    row = replace(row_of(shared), name="fed-prox", learner=learner, learns_while_away=True)
    return replace(row, exchange="single") if shared is None else row
