"""The paper's rules: the LMS step of a device and the server's newest only (eqs. 5, 7, 8, 9)."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from paofed.core.arrays import FloatArray, IntArray
from paofed.core.parts import Learner, Message, Stamp, State, Weights, weights, zero_server
from paofed.core.staleness import Staleness, weight_of
from paofed.errors import AlgorithmError, unknown

# The number that a coordinate's sum is divided by: all messages of its age ("class"), or only those
# of them that hold the coordinate ("coverage").
Divisor = Literal["class", "coverage"]


def lms_step(w: FloatArray, z: FloatArray, y: float, mu: float) -> FloatArray:
    """Take one least-mean-squares step on one sample (eqs. 5, 7 and 8)."""
    e = y - w @ z
    return w + mu * e * z


def _lms(state: Weights, z: FloatArray, y: float, mu: float, tick: int) -> Weights:  # noqa: ARG001
    return Weights(lms_step(state.w, z, y, mu))


LMS = Learner(learn=_lms, served=True)


def aggregate(
    w: FloatArray,
    messages: Iterable[Message],
    tick: int,
    staleness: Staleness,
    divisor: Divisor = "class",
) -> FloatArray:
    """Apply all messages arriving at this tick (eq. 9): only the newest that hold a coordinate.

    Without "newest only", classes of weight 1 add up to a gain above 1, and full sharing diverges.
    Messages beyond the age limit must have been dropped before, since `aggregate` would count them.
    A message without coordinates does not count.
    """
    by_age: defaultdict[int, list[Message]] = defaultdict(list)
    for message in in_order(messages, tick):
        by_age[tick - message.sent].append(message)

    w_next = w.copy()
    settled = np.zeros(w.size, dtype=bool)
    for age, group in by_age.items():  # from the newest age on
        innovation, holders = _sum(w, group)
        newest = (holders > 0) & ~settled
        count = len(group) if divisor == "class" else holders[newest]
        w_next[newest] += weight_of(staleness, age) / count * innovation[newest]
        settled |= newest
    return w_next


def in_order(messages: Iterable[Message], tick: int) -> list[Message]:
    """Return the messages that hold something by age, then by client: the canonical order.

    In this order, the order of arrival cannot change a single bit of a sum.
    """
    said = (message for message in messages if message.coordinates.size)
    return sorted(said, key=lambda m: (tick - m.sent, m.client))


def _sum(w: FloatArray, group: list[Message]) -> tuple[FloatArray, IntArray]:
    """Sum value - w over the messages of one age, and count the messages on each coordinate."""
    innovation = np.zeros_like(w)
    holders = np.zeros(w.size, dtype=np.int64)
    for message in group:
        innovation[message.coordinates] += message.values - w[message.coordinates]
        holders[message.coordinates] += 1
    return innovation, holders


@dataclass(frozen=True)
class Newest:
    """The paper's server rule (eq. 9): per coordinate only the newest messages, weighed by age."""

    staleness: Staleness
    divisor: Divisor = "class"

    waives: ClassVar[tuple[str, ...]] = ()
    served: ClassVar[bool] = True
    why_not: ClassVar[str] = ""
    bounded: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not callable(self.staleness):
            raise AlgorithmError(
                f"staleness is {self.staleness!r}: expected a function", key="staleness"
            )
        if self.divisor not in get_args(Divisor):
            raise AlgorithmError(
                unknown("divisor", str(self.divisor), get_args(Divisor)), key="divisor"
            )

    def init(self, features: int, clients: int) -> Weights:
        """Begin with a model of zeros."""
        return zero_server(features, clients)

    def model(self, state: State) -> FloatArray:
        """Return the model."""
        return weights(state)

    def apply(self, state: State, messages: Iterable[Message], stamp: Stamp) -> Weights:
        """Apply all messages that arrive at the tick of the stamp."""
        return Weights(aggregate(state.w, messages, stamp.tick, self.staleness, self.divisor))
