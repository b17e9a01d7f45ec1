"""FedAsync: every message is mixed into the model, the less the older it is.

Cong Xie, Oluwasanmi Koyejo, Indranil Gupta: Asynchronous Federated Optimization, arXiv 1903.03934.

The published pull of clients towards the model that they started from is zero for a single step
from that model, and so is not here.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from paofed.algorithms.base import Algorithm
from paofed.algorithms.rivals.options import count, number, positive, row_of
from paofed.core.arrays import FloatArray
from paofed.core.parts import Message, ServerRule, Stamp, Weights


def mixed(
    alpha: float, decay: float, state: Weights, messages: Sequence[Message], stamp: Stamp
) -> Weights:
    """Mix in one message after another, weighed by a = alpha (1 + age)^-decay."""
    w = state.w.copy()
    for message in messages:
        mix(w, alpha * (1.0 + stamp.tick - message.sent) ** -decay, message)
    return Weights(w)


def hinged(
    alpha: float,
    slope: float,
    hinge: int,
    state: Weights,
    messages: Sequence[Message],
    stamp: Stamp,
) -> Weights:
    """Mix in one message after another, weighed by alpha, and less beyond the age `hinge`.

    There a = alpha / (slope (age - hinge) + 1).
    """
    w = state.w.copy()
    for message in messages:
        late = max(0, stamp.tick - message.sent - hinge)
        mix(w, alpha / (slope * late + 1.0), message)
    return Weights(w)


def mix(w: FloatArray, a: float, message: Message) -> None:
    """Mix a message into the model w in place: w <- (1 - a) w + a w_k."""
    for j, c in enumerate(message.coordinates):
        w[c] += a * (message.values[j] - w[c])


def fed_async(
    *,
    alpha: float = 0.6,
    decay: float = 0.5,
    hinge: int | None = None,
    slope: float = 10.0,
    shared: int | None = None,
) -> Algorithm:
    """FedAsync: every message is mixed into the model, the less the older it is.

    The weights are polynomial; a `decay` of 0 makes them constant. With a `hinge`, messages up to
    this age weigh the same, and older ones the less the larger the `slope`; `decay` is then of no
    use. The message that is mixed in last counts most, so the order of arrival matters.
    """
    alpha, decay = positive("alpha", alpha, most=1.0), number("decay", decay, 0.0)
    slope = number("slope", slope, 0.0)
    if hinge is None:
        rule = partial(mixed, alpha, decay)
    else:
        rule = partial(hinged, alpha, slope, count("hinge", hinge, least=0))
    server = ServerRule(apply=rule, waives=("order independence",), served=True)
    return replace(row_of(shared), name="fed-async", server=server)
