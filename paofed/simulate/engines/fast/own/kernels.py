"""What every method of one's own has in common once it is compiled: parts, messages, eq. 9.

`source` writes the kernel of a method around the method's own rules; the kernel calls these
functions.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.core.cgutils import unpack_tuple
from numba.extending import intrinsic

from paofed.core import starting
from paofed.core.parts import LARGEST, Message, Part
from paofed.core.selection import window

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_NO_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_inner = njit(**_OPTIONS, **_NO_WRAPPERS)  # never called from Python


class Stretch(NamedTuple):
    """The samples of some ticks in a row; within a tick they are in the order of the clients."""

    first: Any  # the first tick
    place: Any  # how many samples of the whole list come before these
    begin: Any  # (ticks + 1,) int64: where the samples of each tick begin
    client: Any  # (M,) int64
    z: Any  # (M, D) float64: mapped inputs
    due: Any  # (M + 1,) int64: where, in what follows, begins what is learned at each sample
    due_z: Any  # (E, D) float64: mapped inputs of the samples that are learned from
    due_y: Any  # (E,) float64
    truth: Any  # (M,) float64: what models are judged on
    joins: Any  # (M,) uint8: whether the client takes part
    age: Any  # (M,) int64: the age that the client's message will have on arrival
    lost_up: Any  # (M,) uint8: whether the message never arrives
    lost_down: Any  # (M,) uint8: whether what the server shares never arrives


class Numbers(NamedTuple):
    """The numbers of a method; a window is its width, windows on per client, and windows ahead."""

    mu: Any
    max_age: Any
    learns_away: Any
    exchange: Any  # 0 paper, 1 single, 2 live
    up: Any
    down: Any
    told_up: Any  # how many numbers a device tells
    told_down: Any  # how many numbers the server tells
    heard: Any  # devices take over so many coordinates of a part, from the first on
    up_key: Any
    down_key: Any
    server_key: Any
    weights: Any  # (max_age + 1,) float64: weights by age of the paper's server
    by_coverage: Any
    clip: Any  # the numbers of paofed.core.bounded.Bounded, where influence is bounded
    aside_above: Any
    given: Any  # the numbers given to each of the method's rules, as a tuple of tuples


class Flight(NamedTuple):
    """Messages on their way, in the order in which they were sent."""

    count: Any  # (2,) int64: messages, and coordinates of all of them
    client: Any  # (C,) int64
    sent: Any
    due: Any  # tick of arrival
    begin: Any  # where the coordinates of a message begin
    end: Any
    unheard: Any  # (C,) uint8: whether the answer to a message is lost
    coordinates: Any  # (F,) int64
    values: Any  # (F,) float64


class Counters(NamedTuple):
    """Counts, errors and checks that a kernel writes on its way."""

    traffic: Any  # (7,) int64
    judged: Any  # (2, M) float64: errors of both models on every sample of a list, or (2, 0)
    seen: Any  # (D,) int64: the last check in which a coordinate was met
    place: Any  # (D,) int64: where the part of that check has the coordinate
    checks: Any  # (1,) int64: how many checks there were
    to_compare: Any  # (2,) int64: messages up and down still to be compared with what was sent


@_inner
def lms(w: Any, z: Any, y: Any, mu: Any) -> None:
    """Take the paper's step in place (paofed.core.rules.lms_step)."""
    step = mu * (y - np.dot(w, z))
    for j in range(w.size):
        w[j] += step * z[j]


@_inner
def unlike(here: Any, there: Any) -> Any:
    """Whether two arrays of a state differ in type or shape."""
    alike = here.dtype == there.dtype
    return not alike or here.shape != there.shape


_intrinsic: Any = intrinsic  # numba calls such a function without its first argument


@_intrinsic
def _is_place(_: Any, here: Any, there: Any) -> Any:
    """Whether two arrays of one type are in one place, with one shape.

    `ctypes.data` and `shape` say the same, but numba counts references to an array of which they
    are asked: of a sample's time, this took a fifth where a state has thirteen arrays.
    """
    alike = isinstance(here, types.Array) and isinstance(there, types.Array)
    alike = alike and (here.dtype, here.ndim) == (there.dtype, there.ndim)

    def compared(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if not alike:
            return context.get_constant(types.boolean, False)  # noqa: FBT003 (numba's interface)
        one, other = (
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(sig.args, args, strict=True)
        )
        same = builder.icmp_unsigned("==", one.data, other.data)
        sizes = (unpack_tuple(builder, array.shape, here.ndim) for array in (one, other))
        for size, expected in zip(*sizes, strict=True):
            same = builder.and_(same, builder.icmp_signed("==", size, expected))
        return same

    return types.boolean(here, there), compared


@_inner
def moved(here: Any, there: Any) -> Any:
    """Whether an array of a state is not its place itself, or is of another type or shape.

    A part that works in place returns the places: then nothing but this is asked.
    """
    return not _is_place(here, there)


@_inner
def keep(here: Any, there: Any) -> Any:
    """Copy an array of a state to its place; return whether its type or shape is another."""
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
    """Return the coordinates of one of the paper's windows (paofed.core.selection.Windows.at)."""
    width, turns, ahead = windows
    start = width * (stamp.tick + ahead + turns * stamp.client) % stamp.features
    return window(start, width, stamp.features)


@_inner
def windowed(w: Any, windows: Any, stamp: Any) -> Any:
    """Return the part of a model in one of the paper's windows."""
    coordinates = window_at(windows, stamp)
    values = np.empty(coordinates.size)
    for i in range(values.size):
        values[i] = w[coordinates[i]]
    return Part(coordinates, values)


whole = _inner(starting.whole)


@_inner
def copied(part: Any) -> Any:
    """Return a part that stays as it is, whatever `encode` does with the one that it was given."""
    return Part(part.coordinates.copy(), part.values.copy())


@_inner
def others(part: Any, heard: Any) -> Any:
    """Return a part without the device's own coordinates (paofed.core.parts.not_own)."""
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
def valid(part: Any, told: Any, tally: Any) -> Any:
    """Whether a part has distinct coordinates of so many numbers told, and a value for each."""
    tally.checks[0] += 1
    if part.coordinates.size != part.values.size:
        return False
    for i, coordinate in enumerate(part.coordinates):
        if coordinate < 0 or coordinate >= told:
            return False
        if tally.seen[coordinate] == tally.checks[0]:
            return False
        tally.seen[coordinate], tally.place[coordinate] = tally.checks[0], i
    return True


@_inner
def same_coordinates(sent: Any, arrived: Any, tally: Any) -> Any:
    """Whether the part that `valid` saw last has the coordinates sent (guarded)."""
    for coordinate in sent.coordinates:
        if tally.seen[coordinate] != tally.checks[0]:
            return False
    return sent.coordinates.size == arrived.coordinates.size


@_inner
def same_values(sent: Any, arrived: Any, tally: Any) -> Any:
    """Whether the part that `valid` saw last has every value, rounded to float32 (guarded)."""
    for i in range(sent.coordinates.size):
        coordinate, value = sent.coordinates[i], sent.values[i]
        there = tally.seen[coordinate] == tally.checks[0]
        if abs(value) < LARGEST and not (
            there
            and abs(arrived.values[tally.place[coordinate]] - value) <= 1e-6 * abs(value) + 1e-30
        ):
            return False
    return True


@_inner
def depart(flight: Any, part: Any, k: Any, n: Any, due: Any, unheard: Any) -> None:
    """Put a part on its way to the server."""
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
    while end > 0:  # messages are kept in the order of sending: the last ones are the newest
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
    """Whether a message that arrives now is its client's first whose answer is not lost."""
    for earlier in order[:place]:
        if flight.client[earlier] == flight.client[order[place]] and not flight.unheard[earlier]:
            return False
    return not flight.unheard[order[place]]


@_inner
def updates(flight: Any, order: Any) -> Any:
    """Return which of some messages hold coordinates."""
    return order[flight.end[order] > flight.begin[order]]


@_inner
def greetings(flight: Any, order: Any) -> Any:
    """Return which of some messages are empty: those of newcomers."""
    return order[flight.end[order] == flight.begin[order]]


@_inner
def messages_of(flight: Any, order: Any) -> Any:
    """Return messages as a list of records."""
    messages = [Message(0, 0, flight.coordinates[:0], flight.values[:0])]
    messages.pop()  # so that numba knows the type of an empty list
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
def cut(w: Any, flight: Any, order: Any, limits: Any) -> None:
    """Cut the values of each message to its limit, in place (core.bounded.Bounded)."""
    for place in range(order.size):
        i, limit = order[place], limits[place]
        for j in range(flight.begin[i], flight.end[i]):
            low, high = w[flight.coordinates[j]] - limit, w[flight.coordinates[j]] + limit
            inside = flight.values[j] >= low  # false for NaN
            flight.values[j] = min(flight.values[j], high) if inside else low


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
