"""The three rules that move numbers: merge, learn, aggregate (eqs. 5, 7, 8 and 9)."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray, IntArray
from paofed.core.staleness import Staleness, weight_of

# What a coordinate's sum is divided by: the messages of its age, or those of them that hold it.
Divisor = Literal["class", "coverage"]

Learn = Callable[[FloatArray, FloatArray, float, float], FloatArray]  # w, z, y, mu -> w


class Message(NamedTuple):
    """What a client sent: the values of its model on some coordinates, stamped with a tick."""

    client: int
    sent: int
    coordinates: IntArray
    values: FloatArray


# w, the messages arriving now, tick, weight by age, divisor -> w
Aggregate = Callable[[FloatArray, Iterable[Message], int, Staleness, Divisor], FloatArray]


def merge(w: FloatArray, coordinates: IntArray, values: FloatArray) -> FloatArray:
    """Overwrite some coordinates: M w_server + (I - M) w (first part of eq. 7)."""
    merged = w.copy()
    merged[coordinates] = values
    return merged


def lms_step(w: FloatArray, z: FloatArray, y: float, mu: float) -> FloatArray:
    """Take one least-mean-squares step on one sample (eqs. 5, 7 and 8)."""
    e = y - w @ z
    return w + mu * e * z


def aggregate(
    w: FloatArray,
    messages: Iterable[Message],
    tick: int,
    staleness: Staleness,
    divisor: Divisor = "class",
) -> FloatArray:
    """Apply all messages arriving at this tick (eq. 9): only the newest that hold a coordinate.

    Without "newest only", classes of weight 1 add up to a gain above 1 and full sharing diverges.
    Messages beyond the age limit must have been dropped before: here they would count. A message
    that holds no coordinate says nothing and does not count.
    """
    by_age: defaultdict[int, list[Message]] = defaultdict(list)
    # One canonical order of summation, so that the order of arrival cannot change a single bit.
    for message in sorted(messages, key=lambda m: (tick - m.sent, m.client)):
        if message.coordinates.size:
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


def _sum(w: FloatArray, group: list[Message]) -> tuple[FloatArray, IntArray]:
    """Sum value - w over the messages of one age, and count the messages on each coordinate."""
    innovation = np.zeros_like(w)
    holders = np.zeros(w.size, dtype=np.int64)
    for message in group:
        innovation[message.coordinates] += message.values - w[message.coordinates]
        holders[message.coordinates] += 1
    return innovation, holders
