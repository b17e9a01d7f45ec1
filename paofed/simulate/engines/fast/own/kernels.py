"""What every method of one's own has in common once it is compiled: parts, messages, the newest.

The kernel of a method is written by `source` around its own rules and calls these.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from paofed.core.parts import Message, Part
from paofed.core.selection import window

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_NO_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_inner = njit(**_OPTIONS, **_NO_WRAPPERS)  # never called from Python


class Stretch(NamedTuple):
    """The samples of some ticks in a row, those of a tick in the order of the clients."""

    first: Any  # the first tick
    place: Any  # how many samples of a list stand before these
    begin: Any  # (ticks + 1,) int64: where the samples of each tick begin
    client: Any  # (M,) int64
    z: Any  # (M, D) float64: mapped inputs
    y: Any  # (M,) float64
    truth: Any  # (M,) float64: what models are judged on
    joins: Any  # (M,) uint8: whether the client takes part
    age: Any  # (M,) int64: how late its message will be
    lost_up: Any  # (M,) uint8: whether the message never arrives
    lost_down: Any  # (M,) uint8: whether what the server shares is not received


class Numbers(NamedTuple):
    """What a method has beside its rules; windows are width, windows on per client, ahead."""

    mu: Any
    max_age: Any
    learns_away: Any
    exchange: Any  # 0 paper, 1 single, 2 live
    up: Any
    down: Any
    heard: Any  # how many coordinates, from the first on, devices take over from a part
    up_key: Any
    down_key: Any
    server_key: Any
    weights: Any  # (max_age + 1,) float64: of the paper's server
    by_coverage: Any
    clip: Any  # where its influence is bounded
    aside_above: Any
    given: Any  # a tuple of the numbers given to each of its rules


class Flight(NamedTuple):
    """What is on its way, in the order in which it was sent."""

    count: Any  # (2,) int64: messages, and coordinates of all of them
    client: Any  # (C,) int64
    sent: Any
    due: Any  # tick of arrival
    begin: Any  # where its coordinates begin
    end: Any
    unheard: Any  # (C,) uint8: whether its answer is lost
    coordinates: Any  # (F,) int64
    values: Any  # (F,) float64


class Counters(NamedTuple):
    """What is counted on the way."""

    traffic: Any  # (7,) int64
    judged: Any  # (2, M) float64: errors of both models on every sample of a list, or (2, 0)
    seen: Any  # (D,) int64: when a coordinate was last met, in checks
    checks: Any  # (1,) int64: how many checks there were


@_inner
def lms(w: Any, z: Any, y: Any, mu: Any) -> None:
    """Take the paper's step in place (paofed.core.rules.lms_step)."""
    step = mu * (y - np.dot(w, z))
    for j in range(w.size):
        w[j] += step * z[j]


@_inner
def unlike(here: Any, there: Any) -> Any:
    """Whether two arrays of a state have another type or shape."""
    alike = here.dtype == there.dtype
    return not alike or here.shape != there.shape


@_inner
def keep(here: Any, there: Any) -> Any:
    """Copy an array of a state to where it is kept; say whether it has another type or shape."""
    if unlike(here, there):
        return True
    if here.ndim == 1:
        for i in range(here.size):
            here[i] = there[i]
    else:
        for index, value in np.ndenumerate(there):
            here[index] = value
    return False


@_inner
def window_at(windows: Any, stamp: Any) -> Any:
    """The coordinates of a window of the paper's (paofed.core.selection.Windows.at)."""
    width, turns, ahead = windows
    start = width * (stamp.tick + ahead + turns * stamp.client) % stamp.features
    return window(start, width, stamp.features)


@_inner
def windowed(w: Any, windows: Any, stamp: Any) -> Any:
    """Send a window of the paper's."""
    coordinates = window_at(windows, stamp)
    values = np.empty(coordinates.size)
    for i in range(values.size):
        values[i] = w[coordinates[i]]
    return Part(coordinates, values)


@_inner
def whole(w: Any) -> Any:
    """All of a model (paofed.core.starting.whole)."""
    return Part(np.arange(w.size), w.copy())


@_inner
def others(part: Any, heard: Any) -> Any:
    """A part without what is the device's own (paofed.core.parts.not_own)."""
    count = 0
    for coordinate in part.coordinates:
        count += coordinate < heard
    coordinates, values, place = np.empty(count, dtype=np.int64), np.empty(count), 0
    for j in range(part.coordinates.size):
        if part.coordinates[j] < heard:
            coordinates[place], values[place] = part.coordinates[j], part.values[j]
            place += 1
    return Part(coordinates, values)


@_inner
def nothing() -> Any:
    """What a hello holds."""
    return Part(np.zeros(0, dtype=np.int64), np.zeros(0))


@_inner
def valid(part: Any, tally: Any) -> Any:
    """Whether a part has distinct coordinates of the model, and a value for each."""
    tally.checks[0] += 1
    if part.coordinates.size != part.values.size:
        return False
    for coordinate in part.coordinates:
        if coordinate < 0 or coordinate >= tally.seen.size:
            return False
        if tally.seen[coordinate] == tally.checks[0]:
            return False
        tally.seen[coordinate] = tally.checks[0]
    return True


@_inner
def depart(flight: Any, part: Any, k: Any, n: Any, due: Any, unheard: Any) -> None:
    """Put a part on its way."""
    i, begin = flight.count
    flight.client[i], flight.sent[i], flight.due[i] = k, n, due
    flight.begin[i], flight.end[i] = begin, begin + part.coordinates.size
    flight.unheard[i] = unheard
    for j in range(part.coordinates.size):
        flight.coordinates[begin + j] = part.coordinates[j]
        flight.values[begin + j] = part.values[j]
    flight.count[0] += 1
    flight.count[1] += part.coordinates.size


@_inner
def arrived(flight: Any, n: Any) -> Any:
    """Return which messages arrive now, the newest first, those of one age by client."""
    found = np.empty(flight.count[0], dtype=np.int64)
    count = 0
    for i in range(flight.count[0]):
        if flight.due[i] == n:
            found[count] = i
            count += 1
    order, end, place = np.empty(count, dtype=np.int64), count, 0
    while end > 0:  # messages were sent tick after tick: the last of them are the newest
        begin = end - 1
        while begin > 0 and flight.sent[found[begin - 1]] == flight.sent[found[end - 1]]:
            begin -= 1
        for i in range(begin, end):
            order[place] = found[i]
            place += 1
        end = begin
    return order


@_inner
def asks(flight: Any, order: Any, place: Any) -> Any:
    """Whether a message that arrives now is the first of its client's whose answer is heard."""
    for earlier in order[:place]:
        if flight.client[earlier] == flight.client[order[place]] and not flight.unheard[earlier]:
            return False
    return not flight.unheard[order[place]]


@_inner
def updates(flight: Any, order: Any) -> Any:
    """Return those of some messages that hold something."""
    return order[flight.end[order] > flight.begin[order]]


@_inner
def greetings(flight: Any, order: Any) -> Any:
    """Return the others: hellos of newcomers."""
    return order[flight.end[order] == flight.begin[order]]


@_inner
def messages_of(flight: Any, order: Any) -> Any:
    """Return messages as a list of records."""
    messages = [Message(0, 0, flight.coordinates[:0], flight.values[:0])]
    messages.pop()  # so that an empty list knows what it is a list of
    for i in order:
        begin, end = flight.begin[i], flight.end[i]
        messages.append(
            Message(
                flight.client[i],
                flight.sent[i],
                flight.coordinates[begin:end],
                flight.values[begin:end],
            )
        )
    return messages


@_inner
def counted(w: Any, flight: Any, order: Any, limit: Any, aside: Any) -> Any:
    """Return which messages count, cut in place at a limit (paofed.core.bounded.Bounded)."""
    found, count = np.empty_like(order), 0
    for i in order:
        if not aside[flight.client[i]]:
            found[count] = i
            count += 1
            for j in range(flight.begin[i], flight.end[i]):
                low, high = w[flight.coordinates[j]] - limit, w[flight.coordinates[j]] + limit
                inside = flight.values[j] >= low  # not so what is no number
                flight.values[j] = min(flight.values[j], high) if inside else low
    return found[:count]


@_inner
def newest(w: Any, flight: Any, order: Any, n: Any, weights: Any, by_coverage: Any) -> None:
    """Apply the paper's server rule in place (paofed.core.rules.aggregate)."""
    pull, holders = np.zeros(w.size), np.zeros(w.size, dtype=np.int64)
    settled = np.zeros(w.size, dtype=np.uint8)
    first = 0
    while first < order.size:
        age, last = n - flight.sent[order[first]], first
        while last < order.size and n - flight.sent[order[last]] == age:
            i = order[last]
            for j in range(flight.begin[i], flight.end[i]):
                coordinate = flight.coordinates[j]
                pull[coordinate] += flight.values[j] - w[coordinate]
                holders[coordinate] += 1
            last += 1
        for j in range(w.size):
            if holders[j]:
                if not settled[j]:
                    settled[j] = 1
                    w[j] += weights[age] / (holders[j] if by_coverage else last - first) * pull[j]
                pull[j], holders[j] = 0.0, 0
        first = last
