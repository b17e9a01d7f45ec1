"""FedProx: a device's steps are pulled towards the last model that it heard.

T. Li, A. K. Sahu, M. Zaheer, M. Sanjabi, A. Talwalkar, V. Smith, "Federated optimization in
heterogeneous networks", MLSys 2020, arXiv:1812.06127.
"""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.algorithms.rivals.options import positive
from paofed.algorithms.rivals.rows import row_of
from paofed.core.arrays import FloatArray
from paofed.core.parts import Learner, Part, placed


class Pulled(NamedTuple):
    """The model, and what the device has heard of the server's."""

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
    """Take over what was heard, and remember it."""
    return Pulled(placed(state.w, part), placed(state.heard, part))


def fed_prox(*, shared: int | None = None, pull: float = 0.01) -> Algorithm:
    """FedProx with whole models, or with windows of `shared` as in PAO-Fed-U1.

    In the paper's exchange a whole model that is heard overwrites all that was learned before it
    could be sent: one step is left, on which nothing pulls, and FedProx is Online-FedSGD. So whole
    models are exchanged once, after the steps that a device took by itself.
    """
    learner = Learner(
        learn=partial(learn, positive("pull", pull)),
        init=begin,
        merge=merge,
        waives=("a step helps",),  # the pull may outweigh the sample
    )
    row = replace(row_of(shared), name="fed-prox", learner=learner, learns_while_away=True)
    return replace(row, exchange="single") if shared is None else row
