"""ASO-Fed: asynchronous and online; a client's step counts by its share of the data.

Yujing Chen, Yue Ning, Martin Slawski, Huzefa Rangwala: Asynchronous Online Federated Learning for
Edge Devices with Non-IID Data, IEEE Big Data 2020, arXiv 1911.02134.

The server is not told how much data a client has had; it counts messages, which, where clients rest
while they are away, is the number of samples that it has heard of. All messages of a tick are
counted before the first of their steps is taken, so their order does not matter. Published
gradients are over all data that a device has; here each is of one sample. The published attention
over features of the first layer is left out, since a linear model has no such layer. The defaults
of `pull` and `beta` are ours.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.algorithms.rivals.options import BY_THE_TICK, FOR_EACH, count, number, row_of
from paofed.algorithms.rivals.steps import KEPT, left_behind, no_past, started_from
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.parts import Learner, Message, Part, ServerRule, Stamp, placed
from paofed.errors import AlgorithmError


class AsoDevice(NamedTuple):
    """A device's model, the server's as last heard, and what its steps are made of."""

    w: FloatArray  # (D,)
    heard: FloatArray  # (D,): the server's values as last heard
    before: FloatArray  # (D,): the last gradient
    balance: FloatArray  # (D,): a fading mean of the gradients before that
    # (4,): ticks between contacts in sum, number of gaps, tick of the last contact, 1 if just heard
    contacts: IntArray


def begin_device(features: int) -> AsoDevice:
    """Begin with a model of zeros, before any contact."""
    nothing = np.zeros(features)
    contacts = np.array([0, 0, -1, 0], dtype=np.int64)
    return AsoDevice(nothing, nothing, nothing, nothing, contacts)


def learn(
    pull: float,
    beta: float,
    dynamic: bool,  # noqa: FBT001 (numbers of a rule come first, so that `partial` can give them)
    state: AsoDevice,
    z: FloatArray,
    y: float,
    mu: float,
    tick: int,
) -> AsoDevice:
    """Step along the gradient less the last one, plus the fading mean: r mu (g - g_before + h)."""
    contacts = counted(state.contacts, tick)
    mean = contacts[0] / max(contacts[1], 1)
    r = max(1.0, np.log(max(mean, 1.0))) if dynamic else 1.0
    e = y - state.w @ z
    gradient = pull * (state.w - state.heard) - e * z
    w = state.w - r * mu * (gradient - state.before + state.balance)
    balance = beta * state.balance + (1.0 - beta) * state.before
    return AsoDevice(w, state.heard, gradient, balance, contacts)


def counted(contacts: IntArray, tick: int) -> IntArray:
    """Return `contacts` at a sample; the first sample after a contact counts that contact."""
    contacts = contacts.copy()
    if contacts[3] == 1:
        if contacts[2] >= 0:
            contacts[0] += tick - contacts[2]
            contacts[1] += 1
        contacts[2], contacts[3] = tick, 0
    return contacts


def merge(state: AsoDevice, part: Part) -> AsoDevice:
    """Take over the values that were heard, and remember that there was a contact."""
    contacts = state.contacts.copy()
    contacts[3] = 1
    w, heard = placed(state.w, part), placed(state.heard, part)
    return AsoDevice(w, heard, state.before, state.balance, contacts)


class AsoServer(NamedTuple):
    """The model, the past models, and how many messages of each client were heard."""

    w: FloatArray  # (D,)
    past: FloatArray  # (memory, D)
    until: IntArray  # (memory,)
    heard: IntArray  # (K,): messages


def begin(memory: int, features: int, clients: int) -> AsoServer:
    """Begin with a model of zeros and unheard clients."""
    return AsoServer(
        np.zeros(features), *no_past(memory, features), np.zeros(clients, dtype=np.int64)
    )


def shared_out(state: AsoServer, messages: Sequence[Message], stamp: Stamp) -> AsoServer:
    """Add the step of every message by its client's share: w - n_k / N (w_k before - w_k after)."""
    if len(messages) == 0:
        return state
    w, heard = state.w.copy(), state.heard.copy()
    for message in messages:
        heard[message.client] += 1
    for message in messages:
        started = started_from(state.w, state.past, state.until, message.sent)
        part = heard[message.client] / np.sum(heard)
        for j, c in enumerate(message.coordinates):
            w[c] += part * (message.values[j] - started[c])
    past, until = left_behind(state.w, state.past, state.until, stamp.tick)
    return AsoServer(w, past, until, heard)


def aso_fed(
    *,
    pull: float = 1.0,
    beta: float = 0.001,
    dynamic: bool = True,
    memory: int = KEPT,
    shared: int | None = None,
) -> Algorithm:
    """ASO-Fed: a client's step counts by the client's share of all messages so far.

    Devices are pulled towards the server's model (`pull`), a fading mean of gradients is in their
    steps (`beta`), and `dynamic` steps are larger where contacts are rare. A device's step also
    holds gradients of earlier samples, so that the sample at hand may be predicted worse after it.
    The server adds steps wherever its model is by then, so the model is
    no fixed point and may leave the hull.
    """
    if type(dynamic) is not bool:
        raise AlgorithmError(f"dynamic is {dynamic!r}: expected yes or no", key="dynamic")
    pull, beta = number("pull", pull, 0.0), number("beta", beta, 0.0, 1.0)
    learner = Learner(
        learn=partial(learn, pull, beta, dynamic),
        init=begin_device,
        merge=merge,
        waives=("a step helps",),
        why_not=BY_THE_TICK,
    )
    server = ServerRule(
        apply=shared_out,
        init=partial(begin, count("memory", memory)),
        waives=("fixed point", "convex hull"),
        reach=memory,
        why_not=FOR_EACH,
    )
    return replace(row_of(shared), name="aso-fed", server=server, learner=learner)
