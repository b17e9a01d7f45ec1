"""How sums go up and coefficients come down: copies, window by window, each window numbered.

A copy holds a device's sums of one moment, as n and means, so that no number is large. A message
has the number of the copy, the place of its window and the window's values as float32. The
server tells its model likewise, whole models of one moment.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from paofed.algorithms.fed_ridge.device import FIRST, HOW_MANY, NUMBER, coefficients_of
from paofed.algorithms.rivals.channels.encoding import bytes_as_floats, floats_as_bytes
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.parts import LEFT_ALONE, Bytes, Channel, Part, Stamp, silence
from paofed.core.sums import COUNT, FREE, SQUARES

_NUMBER, _PLACE = 4, 2  # bytes of the first number and of the place of a window
_MOST = 2.0 ** (8 * _NUMBER) - 1


class Copying(NamedTuple):
    """What a device remembers of its uplink."""

    copy: FloatArray  # n and means of the last copy; its number is where sums have a free place
    # (3,): where the next window begins, where the copy ends, and how far all windows of a full
    # size that were ever sent would reach.
    places: IntArray


def begin_copying(size: int) -> Copying:
    """Begin without a copy."""
    return Copying(np.zeros(size), np.array([size, 0, 0]))


def send_copy(width: int, sums: FloatArray, memory: Copying, stamp: Stamp) -> tuple[Part, Copying]:
    """Send the next window of the copy, or the first one of a new copy if there is news.

    A new copy is as long as all that was ever sent before: the sums of few features travel often
    while samples are few. The memory changes in place.
    """
    copy, places = memory
    if places[0] >= places[1]:
        if not sums[COUNT] > copy[COUNT]:
            return silence(), memory
        n = sums[COUNT]
        for i in range(SQUARES, sums.size):
            copy[i] = sums[i] / n
        copy[COUNT] = n
        copy[FREE] += 1.0
        places[0], places[1] = COUNT, min(max(places[2], width) + COUNT, sums.size)
    begin, end = places[0], min(places[0] + width, places[1])
    places[0] = end
    places[2] = min(places[2] + width, stamp.features)
    return _window(copy, begin, end), memory


class Repeating(NamedTuple):
    """What the server remembers of a downlink."""

    copy: FloatArray  # the shared model that is told, with its number
    place: IntArray  # (1,): where the next window begins


def begin_repeating(size: int) -> Repeating:
    """Begin without a copy."""
    return Repeating(np.zeros(size), np.array([size]))


def send_coefficients(
    width: int,
    shared: FloatArray,
    memory: Repeating,
    stamp: Stamp,  # noqa: ARG001 (the interface of a `send`)
) -> tuple[Part, Repeating]:
    """Send the next window of a shared model; when all of it was sent, begin with the newest one.

    That may be the same again: messages are lost. The memory changes in place.
    """
    copy, place = memory
    if place[0] >= FIRST + coefficients_of(copy):
        copy[:] = shared
        copy[NUMBER] = np.rint(max(shared[NUMBER], 0.0))  # it travels as a whole number
        place[0] = HOW_MANY
    begin = place[0]
    place[0] = min(begin + width, FIRST + coefficients_of(copy))
    return _window(copy, begin, place[0]), memory


def _window(numbers: FloatArray, begin: int, end: int) -> Part:
    """Return the first number, and those from `begin` up to `end`, as a part."""
    coordinates, values = np.empty(1 + end - begin, dtype=np.int64), np.empty(1 + end - begin)
    coordinates[0], values[0] = 0, numbers[0]
    for i in range(begin, end):
        coordinates[1 + i - begin], values[1 + i - begin] = i, numbers[i]
    return Part(coordinates, values)


def encode(part: Part, stamp: Stamp) -> Bytes:  # noqa: ARG001 (the interface of an `encode`)
    """Write the first number and the window's place as whole numbers, the window as float32."""
    payload = np.empty(_NUMBER + _PLACE + 4 * (part.values.size - 1), dtype=np.uint8)
    first = part.values[0]
    number = int(min(first, _MOST)) if first > 0.0 else 0  # NaN becomes 0
    place = int(part.coordinates[1])
    for i in range(_NUMBER):
        payload[i] = (number >> 8 * i) & 255
    for i in range(_PLACE):
        payload[_NUMBER + i] = (place >> 8 * i) & 255
    payload[_NUMBER + _PLACE :] = floats_as_bytes(part.values[1:])
    return payload


def decode(payload: Bytes, stamp: Stamp) -> Part:
    """Read what `encode` has written; a window is never beyond the numbers told."""
    number, place = 0, 0
    for i in range(_NUMBER):
        number |= int(payload[i]) << 8 * i
    for i in range(_PLACE):
        place |= int(payload[_NUMBER + i]) << 8 * i
    window = bytes_as_floats(payload[_NUMBER + _PLACE :].copy())
    place = max(1, min(place, stamp.features - window.size))
    coordinates, values = np.zeros(1 + window.size, dtype=np.int64), np.empty(1 + window.size)
    values[0] = number
    for i in range(window.size):
        coordinates[1 + i], values[1 + i] = place + i, window[i]
    return Part(coordinates, values)


# A device of a live fleet may lose power at any time; in a simulation no memory is lost.
_WHY_NOT = "no live fleet keeps copies of sums yet"


def copies(width: int) -> Channel:
    """Return the uplink, with windows of so many numbers."""
    return Channel(
        send=partial(send_copy, width),
        init=begin_copying,
        encode=encode,
        decode=decode,
        waives=("never silent", "values of the model", LEFT_ALONE),
        why_not=_WHY_NOT,
    )


def coefficients(width: int) -> Channel:
    """Return the downlink, with windows of so many numbers."""
    return Channel(
        send=partial(send_coefficients, width),
        init=begin_repeating,
        encode=encode,
        decode=decode,
        waives=("values of the model", LEFT_ALONE),
        why_not=_WHY_NOT,
    )
