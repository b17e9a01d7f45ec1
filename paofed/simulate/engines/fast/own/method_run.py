"""The rules of a method by the names of its kernel, and its state while it runs.

Numbers that a `partial` gives to a rule (paofed.core.parts) are not compiled into the kernel, which
takes them as arguments.
"""

from collections.abc import Callable
from copy import copy
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from paofed.algorithms import Algorithm
from paofed.core import bounded
from paofed.core.arrays import BoolArray, FloatArray
from paofed.core.bounded import Bounded
from paofed.core.features import FourierMap
from paofed.core.parts import (
    Calibration,
    Channel,
    Keys,
    ServerRule,
    State,
    ToldSizes,
    overwrite,
    rule_and_numbers,
    tells_model,
    told,
    told_sizes,
    weights,
)
from paofed.core.rules import LMS, Newest
from paofed.core.selection import Windows, pick
from paofed.core.staleness import weight_of
from paofed.core.starting import device_from, server_from
from paofed.core.starting import whole as all_of
from paofed.core.traffic import Traffic
from paofed.errors import in_one_line
from paofed.memory import require_memory
from paofed.simulate.engines.fast import layout
from paofed.simulate.engines.fast.compiling import entry_of
from paofed.simulate.engines.fast.own.kernels import Counters, Flight, Numbers, Stretch
from paofed.simulate.engines.guarded import COMPARED, guarded

_TRIED = 64, 8  # features and clients of the model with which a kernel is compiled


class Gathered(NamedTuple):
    """The functions and state types of a method, and the numbers given to each rule, by name."""

    rules: dict[str, Any]
    given: dict[str, tuple[Any, ...]]  # the first arguments of a rule; () if it has none


def gathered(method: Algorithm) -> Gathered:
    """Separate the rules of a method from the numbers given to them."""
    rules, given = dict[str, Any](), dict[str, tuple[Any, ...]]()
    for name, rule in _rules(method).items():
        rules[name], numbers = rule_and_numbers(rule)
        if not isinstance(rule, type):
            given[name] = numbers
    return Gathered(rules, given)


def tried(method: Algorithm) -> tuple[int, int]:
    """Return the features and clients with which a kernel is compiled: the windows must fit."""
    features, clients = _TRIED
    both = method.downlink, method.uplink
    return max([features, *(c.width or 0 for c in both if isinstance(c, Windows))]), clients


def takes_paper_step(method: Algorithm) -> bool:
    """Whether devices take LMS steps and keep the model alone, for which there is a fast form.

    >>> from paofed.algorithms import algorithm
    >>> takes_paper_step(algorithm("pao-fed-u1"))
    True
    """
    return method.learner.learn is LMS.learn and method.learner.init is LMS.init


def kind_of(number: Any) -> object:
    """Return what a kernel must know of a number when it is compiled: the number's type.

    >>> kind_of((0.5, 3))
    ['float', 'int']
    """
    if isinstance(number, tuple):
        return [kind_of(item) for item in number]
    if isinstance(number, np.ndarray):
        return number.dtype.str, number.ndim
    return type(number).__name__


def _rules(method: Algorithm) -> dict[str, Any]:
    """Return the method's own functions and state types, by the names that its kernel uses."""
    features, clients = tried(method)
    learner, server = guarded(method, features, clients).learner, method.server
    found: dict[str, Any] = {"Learner": type(learner.init(features))}
    if not takes_paper_step(method):
        found["learn"] = method.learner.learn
    if method.learner.merge is not overwrite:
        found["merge"] = method.learner.merge
    if method.learner.model is not weights:
        found["learner_model"] = method.learner.model
    for name in ("sees", "tells"):
        if getattr(method.learner, name) is not None:
            found[f"learner_{name}"] = getattr(method.learner, name)
    if isinstance(server, Bounded):
        found |= {"sizes_of": bounded.sizes_of, "received": bounded.received}
        found |= {"Server": bounded.BoundedState}
    if isinstance(server, ServerRule):
        found |= {"apply": server.apply, "Server": type(server.init(features, clients))}
        models = {"server_model": server.model, "server_tells": server.tells}
        found |= {name: rule for name, rule in models.items() if rule not in (None, weights)}
    for name, channel in (("up", method.uplink), ("down", method.downlink)):
        if isinstance(channel, Channel):
            found |= {f"{name}_send": channel.send, name.title(): type(channel.init(features))}
            if channel.encode is not None:
                found |= {f"{name}_encode": channel.encode, f"{name}_decode": channel.decode}
    return found


class BrokenRuleError(Exception):
    """A rule returned a wrong value, or raised; the reference engine says which rule and what."""

    def __init__(self, method: str, why: str) -> None:
        super().__init__(why)
        self.method = method


def nothing(features: int) -> Stretch:
    """Return an empty list of samples, for its types."""
    none = np.zeros(0, dtype=np.int64)
    flags = np.zeros(0, dtype=np.uint8)
    begin = np.zeros(1, dtype=np.int64)
    z, y = np.zeros((0, features)), np.zeros(0)
    return Stretch(0, 0, begin, none, z, begin, z, y, y, flags, none, flags, flags)


class MethodRun:
    """One method over one run: its states, messages on their way, and counts.

    Errors are kept for the first samples of a list, as many as `judged` says.
    """

    def __init__(
        self,
        kernel: Callable[..., int],
        method: Algorithm,
        clients: int,
        features: int,
        keys: Keys,
        step_size: float,
        max_age: int,
        *,
        judged: int,
        start: FloatArray | None = None,
        calibration: Calibration | None = None,
        fourier_map: FourierMap | None = None,
        newcomers_whole: bool = False,
        heard: int | None = None,
    ) -> None:
        sizes = told_sizes(method.learner, method.server, features)
        self._kernel, self._subset, self._sizes = kernel, method.subset, sizes
        # Only a part of the server's model can hold coordinates that are a device's own.
        heard = heard if heard is not None and tells_model(method.server) else sizes.down
        self._numbers = _numbers(method, sizes, keys, step_size, max_age, heard)
        start, name = np.zeros(features) if start is None else start, method.name
        self._method, self._start = method, start
        self._learner = _stack(device_from(name, method.learner, start), clients)
        self.name, self._parts = name, guarded(method, features, clients)
        server = server_from(name, method.server, clients, start, calibration, fourier_map)
        self._server_type = type(server)
        self._server = tuple(np.array(a) for a in server)
        self._joined = np.full(clients, not newcomers_whole, dtype=np.uint8)
        self._up = _stack(method.uplink.init(sizes.up), clients)
        self._down = _stack(method.downlink.init(sizes.down), clients)
        self._flight = _room(0, 0)
        self._entry: Callable[..., int] | None = None
        self.tally = Counters(
            traffic=np.zeros(len(Traffic._fields), dtype=np.int64),
            judged=np.zeros((2, judged)),
            seen=np.zeros(max(sizes), dtype=np.int64),
            place=np.zeros(max(sizes), dtype=np.int64),
            checks=np.zeros(1, dtype=np.int64),
            to_compare=np.full(2, COMPARED),
        )

    @property
    def model(self) -> FloatArray:
        """Return the server's model."""
        return self._parts.server.model(self._server_state)

    @property
    def _server_state(self) -> State:
        return self._server_type(*self._server)

    def branch(self, judged: int) -> Self:
        """Copy this run with all its states; from now on, errors of so many samples are kept."""
        other = copy(self)
        for name in ("_learner", "_server", "_up", "_down"):
            setattr(other, name, tuple(a.copy() for a in getattr(self, name)))
        other._joined = self._joined.copy()
        other._flight = Flight(*(a.copy() for a in self._flight))
        other.tally = Counters(*(a.copy() for a in self.tally))._replace(
            judged=np.zeros((2, judged))
        )
        return other

    def join(self, client: int, *, whole: bool) -> None:
        """Let a client join now: with all that the server tells, or as the fleet began."""
        method, sizes = self._method, self._sizes
        device = device_from(self.name, method.learner, self._start)
        if whole:
            every = all_of(told(self._parts.server, self._server_state))
            device = self._parts.learner.merge(device, every)
        for states, state in (
            (self._learner, device),
            (self._up, method.uplink.init(sizes.up)),
            (self._down, method.downlink.init(sizes.down)),
        ):
            for arrays, first in zip(states, state, strict=True):
                arrays[client] = first
        self._joined[client] = True

    def advance(self, samples: Stretch, lottery: FloatArray | None = None) -> None:
        """Run over some samples; where the server picks, `lottery` decides whom."""
        self._flight = _with_room(self._flight, samples, self._sizes.up)
        if self._subset is not None and lottery is not None:
            samples = samples._replace(joins=_picked(samples, lottery, self._subset))
        arguments = (
            samples, self._numbers, self._learner, self._server, self._up, self._down,
            self._joined, self._flight, self.tally,
        )  # fmt: skip
        if self._entry is None:
            self._entry = entry_of(self._kernel, *arguments)
        try:
            wrong = self._entry(*arguments)
        except Exception as error:  # somebody else's rule may raise anything
            raise BrokenRuleError(self.name, in_one_line(error)) from error
        if wrong:
            raise BrokenRuleError(self.name, "a wrong part or state")


def _picked(samples: Stretch, lottery: FloatArray, subset: float) -> NDArray[np.uint8]:
    """Return who takes part where the server picks among the available clients, tick by tick."""
    joins = np.zeros_like(samples.joins)
    for begin, end in pairwise(samples.begin.tolist()):
        there: BoolArray = samples.joins[begin:end] != 0
        joins[begin:end] = pick(there, lottery[begin:end], subset)
    chosen: NDArray[np.uint8] = joins
    return chosen


def _numbers(
    method: Algorithm,
    sizes: ToldSizes,
    keys: Keys,
    step_size: float,
    max_age: int,
    heard: int,
) -> Numbers:
    mu, limit = method.settled(step_size=step_size, max_age=max_age)
    # The guard asks a server rule of one's own for its state, which may take many numbers.
    plain = not isinstance(method.server, ServerRule)
    rule = guarded(method, sizes.down, clients=1).server if plain else method.server
    by_age = np.zeros(1)
    if isinstance(rule, Newest | Bounded):
        weights = [weight_of(rule.staleness, age) for age in range(limit + 1)]
        by_age = np.array(weights, dtype=np.float64)
    return Numbers(
        mu=float(mu),
        max_age=limit,
        learns_away=int(method.learns_while_away),
        exchange=layout.EXCHANGES[method.exchange],
        up=_windows(method.uplink, sizes.up),
        down=_windows(method.downlink, sizes.down),
        told_up=sizes.up,
        told_down=sizes.down,
        heard=heard,
        up_key=keys.up,
        down_key=keys.down,
        server_key=keys.server,
        weights=by_age,
        by_coverage=int(getattr(rule, "divisor", "") == "coverage"),
        clip=float(rule.clip) if isinstance(rule, Bounded) else 0.0,
        aside_above=rule.aside_above if isinstance(rule, Bounded) else 0.0,
        given=tuple(gathered(method).given.values()),
    )


def _windows(channel: Windows | Channel, features: int) -> tuple[int, int, int]:
    return layout.windows(channel, features) if isinstance(channel, Windows) else (0, 0, 0)


def _stack(state: Any, clients: int) -> tuple[NDArray[Any], ...]:
    """Return the arrays of a state, each with a first axis for the clients."""
    size = clients * sum(np.array(a).nbytes for a in state)
    require_memory(size, f"a state of {type(state).__name__} for each of {clients:,} clients")
    return tuple(np.repeat(np.array(a)[None], clients, axis=0) for a in state)


def _room(messages: int, coordinates: int) -> Flight:
    """Return room for so many messages and coordinates on their way."""
    client, sent, due, begin, end = np.zeros((5, messages), dtype=np.int64)
    return Flight(
        count=np.zeros(2, dtype=np.int64),
        client=client,
        sent=sent,
        due=due,
        begin=begin,
        end=end,
        unheard=np.zeros(messages, dtype=np.uint8),
        # Room for whole models, most of which is never used.
        coordinates=np.empty(coordinates, dtype=np.int64),
        values=np.empty(coordinates),
    )


def _with_room(flight: Flight, samples: Stretch, most: int) -> Flight:
    """Return the messages that have not arrived yet, with room for those of these samples.

    A message holds at `most` so many coordinates.
    """
    now = np.arange(len(flight.due)) < flight.count[0]
    still = np.flatnonzero(now & (flight.due >= samples.first))
    sizes = flight.end[still] - flight.begin[still]
    contacts = int(samples.joins.sum())
    kept = _room(still.size + contacts, int(sizes.sum()) + contacts * most)
    ends = np.cumsum(sizes)
    for name in ("client", "sent", "due", "unheard"):
        getattr(kept, name)[: still.size] = getattr(flight, name)[still]
    kept.begin[: still.size], kept.end[: still.size] = ends - sizes, ends
    source = np.repeat(flight.begin[still] - kept.begin[: still.size], sizes)
    source = source + np.arange(source.size)
    kept.coordinates[: source.size] = flight.coordinates[source]
    kept.values[: source.size] = flight.values[source]
    kept.count[:] = still.size, source.size
    return kept
