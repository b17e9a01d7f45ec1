"""Methods whose clients send what they should not: the faults of a scenario's messages.

A channel around the method's uplink changes what leaves. So every engine runs such faults, and
rules that can be compiled can still be compiled. All numbers are in the memory of the link and none
in the code: methods that differ in numbers alone share their machine code.
"""

from collections import namedtuple
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from paofed.algorithms import Algorithm
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.parts import (
    SERVER,
    Channel,
    Part,
    Stamp,
    State,
    draws,
    rule_and_numbers,
    told_sizes,
)
from paofed.core.selection import Windows, window
from paofed.memory import require_memory
from paofed.world.faults import FaultyMessages, Garbage, Liar
from paofed.world.scenario import Scenario

_PUSH, _SIZE, _NUMBER, _COUNT, _CLIENTS, _START, _END = range(7)  # columns of the array of faults
_LISTED = -1  # stands for the count of clients hit, where the clients are listed
_APART = 1 << 31  # beyond all clients: no other part of a method draws the numbers from here on


class _Window(NamedTuple):
    """The paper's windows as a memory: width (0: whole model), windows per client, ahead."""

    numbers: IntArray


def with_faults(method: Algorithm, scenario: Scenario) -> Algorithm:
    """Return a method as the scenario's clients run it: with faulty messages, if there are any.

    Like Fault.picked, the uplink draws who is hit from the key of the run's uplink.
    """
    numbered = scenario.numbered(FaultyMessages)
    if not numbered:
        return method
    faults = np.array([_row(number, fault, scenario.clients) for number, fault in numbered])
    listed = np.zeros((len(faults), scenario.clients), dtype=np.uint8)
    for row, (_, fault) in enumerate(numbered):
        listed[row, list(fault.clients) if isinstance(fault.clients, tuple) else []] = 1
    if not listed.any():
        listed = listed[:, :0]
    require_memory(listed.nbytes * scenario.clients, "a list of faulty clients for each of them")
    uplink = _as_channel(method.uplink) if isinstance(method.uplink, Windows) else method.uplink
    told = told_sizes(method.learner, method.server, scenario.features).up
    return replace(method, uplink=_around(uplink, faults, listed, told))


def _row(number: int, fault: FaultyMessages, clients: int) -> list[float]:
    push = fault.push if isinstance(fault, Liar) else 0.0
    size = fault.size if isinstance(fault, Garbage) else 0.0
    count = _LISTED if isinstance(fault.clients, tuple) else fault.how_many(clients)
    end = np.inf if fault.end is None else fault.end
    return [push, size, number, count, clients, fault.start, end]


def _as_channel(windows: Windows) -> Channel:
    numbers = windows.width or 0, int(not windows.coordinated), windows.ahead
    return Channel(send=_send_window, init=partial(_begin_window, numbers))


def _begin_window(numbers: tuple[int, int, int], features: int) -> _Window:  # noqa: ARG001
    return _Window(np.array(numbers, dtype=np.int64))


def _send_window(w: FloatArray, memory: _Window, stamp: Stamp) -> tuple[Part, _Window]:
    """Send the part that Windows would send."""
    width = int(memory.numbers[0]) if memory.numbers[0] > 0 else stamp.features
    steps = stamp.tick + int(memory.numbers[2]) + int(memory.numbers[1]) * stamp.client
    coordinates = window(width * steps % stamp.features, width, stamp.features)
    return Part(coordinates, w[coordinates]), memory


def _around(
    uplink: Channel, faults: FloatArray, listed: NDArray[np.uint8], features: int
) -> Channel:
    """Put faults around an uplink; the memory holds the uplink's own, then the faults.

    What is no number of the uplink's own need not survive its bytes.
    """
    begin, first = uplink.init, uplink.init(features)
    fields = [f"own_{name}" for name in getattr(first, "_fields", ())]
    memory_type = cast(Any, namedtuple)("Faulty", [*fields, "faults", "listed"])
    own, given = rule_and_numbers(uplink.send)
    send = partial(_sending(own, type(first) if fields else None, memory_type), given)

    def init(features: int) -> State:
        return memory_type(*begin(features), faults, listed)

    return replace(uplink, send=send, init=init, waives=(*uplink.waives, "values survive"))


def _sending(own_send: Any, own_type: Any, memory_type: Any) -> Callable[..., tuple[Part, State]]:
    """Write `send` for an uplink with a memory of the type `own_type`, or without a memory.

    The first argument of the new `send` are the arguments given to the uplink's own `send`.
    """

    def with_memory(given: Any, w: FloatArray, memory: Any, stamp: Stamp) -> tuple[Part, State]:
        part, kept = own_send(*given, w, own_type(*memory[:-2]), stamp)
        whole = kept[:] + memory[-2:]  # plain tuples, which numba can add
        return _wrong(part, memory.faults, memory.listed, stamp), memory_type(*whole)

    def without_memory(given: Any, w: FloatArray, memory: Any, stamp: Stamp) -> tuple[Part, State]:
        part, _ = own_send(*given, w, (), stamp)
        return _wrong(part, memory.faults, memory.listed, stamp), memory

    return without_memory if own_type is None else with_memory


def _wrong(part: Part, faults: FloatArray, listed: NDArray[np.uint8], stamp: Stamp) -> Part:
    """Apply all faults to a part; silence stays silence."""
    values = part.values.astype(np.float64)  # compiled rules may make float32
    for i in range(len(faults)):
        if _is_hit(faults[i], listed[i], stamp):
            values = values + faults[i, _PUSH]
            if faults[i, _SIZE] > 0:
                apart = Stamp(stamp.client + _APART, stamp.tick, stamp.features, stamp.key)
                values = faults[i, _SIZE] * (2.0 * draws(apart, values.size) - 1.0)
    return Part(part.coordinates, values)


def _is_hit(fault: FloatArray, listed: NDArray[np.uint8], stamp: Stamp) -> bool:
    """Whether the client of a stamp is hit now: Fault.picked for one client."""
    if stamp.tick < fault[_START] or stamp.tick >= fault[_END]:
        return False
    if fault[_COUNT] == _LISTED:
        return bool(listed[stamp.client])
    number, clients = int(fault[_NUMBER]), int(fault[_CLIENTS])
    numbers = draws(Stamp(SERVER, number, stamp.features, stamp.key), clients)
    mine = numbers[stamp.client]
    before = np.sum(numbers < mine) + np.sum(numbers[: stamp.client] == mine)
    return bool(before < fault[_COUNT])
