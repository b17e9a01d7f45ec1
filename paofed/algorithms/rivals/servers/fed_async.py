"""FedAsync: every message is mixed into the model, the less the older it is.

Cong Xie, Oluwasanmi Koyejo, Indranil Gupta: Asynchronous Federated Optimization, arXiv 1903.03934.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from paofed.algorithms.base import Algorithm
from paofed.algorithms.rivals.options import number, positive
from paofed.algorithms.rivals.rows import row_of
from paofed.core.parts import Message, ServerRule, Stamp, Weights


def mixed(
    alpha: float, decay: float, state: Weights, messages: Sequence[Message], stamp: Stamp
) -> Weights:
    """Mix in one message after another: w <- (1 - a) w + a w_k, a = alpha (1 + age)^-decay."""
    w = state.w.copy()
    for message in messages:
        a = alpha * (1.0 + stamp.tick - message.sent) ** -decay
        for j, c in enumerate(message.coordinates):
            w[c] += a * (message.values[j] - w[c])
    return Weights(w)


def fed_async(*, alpha: float = 0.6, decay: float = 0.5, shared: int | None = None) -> Algorithm:
    """FedAsync: every message is mixed into the model, the less the older it is.

    The weights are polynomial; a `decay` of 0 makes them constant. The message that is mixed in
    last counts most, so the order of arrival matters.
    """
    rule = partial(mixed, positive("alpha", alpha, most=1.0), number("decay", decay, 0.0))
    server = ServerRule(apply=rule, waives=("order independence",), served=True)
    return replace(row_of(shared), name="fed-async", server=server)
