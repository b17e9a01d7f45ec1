"""The reference engine: Algorithm 1 of the paper, one client and one sample at a time.

Kept readable for ever; every other engine is compared with this one on the same trace.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from paofed.algorithms import Algorithm
from paofed.algorithms.base import REPLAYED
from paofed.algorithms.setup import resolve
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.metrics import mean_squared_error
from paofed.core.parts import (
    SERVER,
    Keys,
    Message,
    Part,
    Stamp,
    keys_of,
    not_own,
    tells_model,
    told,
    told_sizes,
    travelled,
)
from paofed.core.random import Key
from paofed.core.selection import pick
from paofed.core.starting import device_from, server_from, whole
from paofed.core.traffic import BYTES_PER_COORDINATE, Traffic
from paofed.errors import InputError, RuleError, TraceError
from paofed.simulate.engines.guarded import COMPARED, guarded, not_as_sent
from paofed.simulate.results.outcome import Outcome
from paofed.world.trace import SparseTrace, Trace


class State(NamedTuple):
    """What the next tick needs, as the method's own states; a tick changes the lists and sets."""

    method: Algorithm
    rule: Any  # the state of the server rule, which holds w_{n+1}
    devices: list[Any]  # the state of every client, which holds w_{k,n+1}
    in_flight: dict[int, list[Message]]  # messages by the tick of their arrival
    newcomers: set[int]  # clients that wait for the server's whole model

    @property
    def server(self) -> FloatArray:
        """The server's model, (D,)."""
        return self.method.server.model(self.rule)

    @property
    def local(self) -> FloatArray:
        """The models of all clients, (K, D)."""
        return np.stack([self.method.learner.model(device) for device in self.devices])


class Info(NamedTuple):
    """What happened in a tick, beside the state."""

    tick: int
    taking_part: int
    traffic: Traffic  # of this tick alone
    client: IntArray  # (S,): who has a sample
    errors: FloatArray  # (2, S): errors of the client's and of the server's model before the tick


def replay(
    trace: Trace,
    method: str | Algorithm,
    *,
    step_size: float = REPLAYED.step_size,
    max_age: int = REPLAYED.max_age,
    seed: int = 0,
    world: int = 0,
    run: int = 0,
    wire: DTypeLike = np.float64,
    watch: Callable[[Info], None] | None = None,
) -> Outcome:
    """Run an algorithm over a trace in float64, and return its outcome.

    `method` is an algorithm by name or record, and `trace` what happened to a fleet. `step_size`
    and `max_age` are for algorithms without their own. `seed`, `world` and `run` say which random
    numbers an algorithm draws that draws any. `wire` rounds the plain values that travel, in both
    directions, as a network that carries float32 would. `watch` is called with the Info of every
    tick.
    """
    if not isinstance(trace, Trace):
        raise TraceError(
            f"{trace!r} is no trace: make one with realize, or read it with Trace.load"
        )
    z_test, targets = trace.fourier_map(trace.x_test), trace.test_targets
    mse = np.empty(trace.ticks)
    traffic = np.zeros((trace.ticks, len(Traffic._fields)), dtype=np.int64)
    keys = keys_of(seed, world, run)
    steps = ticks(trace, method, step_size=step_size, max_age=max_age, keys=keys, wire=wire)
    # A step size that is too large overflows; the error curve then says so, tick by tick.
    with np.errstate(over="ignore", invalid="ignore"):
        for state, info in steps:
            mse[info.tick] = mean_squared_error(state.server, z_test, targets.at(info.tick))
            traffic[info.tick] = info.traffic
            if watch is not None:
                watch(info)
    return Outcome(server_model=state.server, mse=mse, traffic=np.cumsum(traffic, axis=0).T)


def ticks(
    trace: Trace | SparseTrace,
    method: str | Algorithm,
    *,
    step_size: float = REPLAYED.step_size,
    max_age: int = REPLAYED.max_age,
    keys: Keys | None = None,
    wire: DTypeLike = np.float64,
) -> Iterator[tuple[State, Info]]:
    """Yield the state after every tick; see `replay` for the arguments."""
    if isinstance(trace, Trace):
        trace = trace.sparse()
    fleet = _Federation(
        trace, resolve(method), step_size, max_age, keys or keys_of(0), _floating(wire)
    )
    alg, fourier_map, begin = fleet.method, trace.fourier_map, 0
    for n in range(trace.ticks):
        # 1. Nature, and the server's pick among those who are there.
        now = trace.at(n)
        taking_part = pick(now.available, now.lottery, alg.subset)
        errors = np.empty((2, now.client.size))

        for i, k in enumerate(now.client.tolist()):
            z = fourier_map(now.x[i])
            errors[:, i] = fleet.errors(k, z, float(now.truth[i]))
            fleet.see(k, z)
            # 2. The server shares w_n (before anything that arrives now is applied).
            if taking_part[i] and alg.exchange == "paper":
                fleet.share(k, n, lost=now.lost_down[i])
            # 3. The client learns from what is labelled by now, oldest first: from samples whose
            # labels come late, each with the features and the target of its own tick, then from
            # today's if its label is there at once. What the client rests from, it never learns.
            if taking_part[i] or alg.learns_while_away:
                for j in trace.due.at(begin + i):
                    z_then = z if j == begin + i else fourier_map(trace.x[j])
                    fleet.learn(k, n, z_then, float(trace.y[j]))
            # 4. The client sends; a live one that has not joined yet says hello instead.
            if taking_part[i] and alg.exchange == "live" and not fleet.has_joined(k):
                unheard = bool(now.lost_up[i] or now.lost_down[i])
                fleet.hello(k, n, int(now.delay[i]), unheard=unheard)
            elif taking_part[i]:
                asked = fleet.send(k, n, int(now.delay[i]), lost=now.lost_up[i])
                if alg.exchange == "single":
                    fleet.share(k, n, lost=now.lost_down[i])
                if alg.exchange == "live" and asked:
                    fleet.expect(k, n, lost=now.lost_down[i])

        traffic = fleet.counted()
        # 5. The server answers, where answers wait for the message, and applies what arrives.
        fleet.receive(n)
        begin += now.client.size
        yield fleet.state, Info(n, int(taking_part.sum()), traffic, now.client, errors)


class _Federation:
    """The server and all clients: what each of them does in a tick."""

    def __init__(
        self,
        trace: SparseTrace,
        method: Algorithm,
        step_size: float,
        max_age: int,
        keys: Keys,
        wire: DTypeLike,
    ) -> None:
        features, clients = trace.features, trace.clients
        method.require_fits(features)
        self._mu, self._limit = method.settled(step_size=step_size, max_age=max_age)
        self.method = guarded(method, features, clients)
        sizes = told_sizes(self.method.learner, self.method.server, features)
        self._down = _Direction(self.method, "downlink", clients, sizes.down, keys.down, wire)
        self._up = _Direction(self.method, "uplink", clients, sizes.up, keys.up, wire)
        self._key, self._features = keys.server, features
        name, learner = method.name, self.method.learner
        self._server = server_from(
            name, self.method.server, clients, trace.start, trace.calibration, trace.fourier_map
        )
        self._devices = [device_from(name, learner, trace.start) for _ in range(clients)]
        self._newcomers = set(range(clients)) if trace.newcomers_whole else set()
        # Only a part of the server's model can hold coordinates that are a device's own.
        self._heard = trace.heard if tells_model(self.method.server) else sizes.down
        # Clients by the tick at which their hello arrives.
        self._hellos: defaultdict[int, set[int]] = defaultdict(set)
        self._in_flight: defaultdict[int, list[Message]] = defaultdict(list)
        # (tick, client) of messages whose answer is lost.
        self._unheard: set[tuple[int, int]] = set()

    @property
    def state(self) -> State:
        """The state that the next tick needs."""
        return State(self.method, self._server, self._devices, self._in_flight, self._newcomers)

    @property
    def told(self) -> FloatArray:
        """What the downlinks send parts of."""
        return told(self.method.server, self._server)

    def errors(self, k: int, z: FloatArray, y: float) -> tuple[float, float]:
        """Return by how much y exceeds the prediction of the client's and of the server's model."""
        mine, theirs = self.method.learner.model(self._devices[k]), self.state.server
        return float(y - mine @ z), float(y - theirs @ z)

    def see(self, k: int, z: FloatArray) -> None:
        """Show the client the features of its sample, if its learner looks at them."""
        if self.method.learner.sees is not None:
            self._devices[k] = self.method.learner.sees(self._devices[k], z)

    def has_joined(self, k: int) -> bool:
        """Whether a client has got the server's whole model, or need not wait for it."""
        return k not in self._newcomers

    def share(self, k: int, n: int, *, lost: bool) -> None:
        """The server's values overwrite the client's on the downlink part of (k, n).

        The client's personal coordinates are left alone. A newcomer gets the server's whole model
        instead of that part.
        """
        if self.has_joined(k):
            part = not_own(self._down.sent(self.told, k, n), self._heard)
        else:
            part = self._down.sent_whole(self.told, k)
        if part.coordinates.size and not lost:
            self._devices[k] = self.method.learner.merge(self._devices[k], part)
            self._newcomers.discard(k)

    def hello(self, k: int, n: int, age: int, *, unheard: bool) -> None:
        """The client asks for the server's whole model, which comes when the hello arrives."""
        self._up.hello(k)
        self._down.sent_whole(self.told, k)  # answers are counted when they are asked for
        if not unheard:
            self._hellos[n + age].add(k)

    def expect(self, k: int, n: int, *, lost: bool) -> None:
        """Count the answer to the message of (k, n) now.

        The answer comes when the message arrives; if it is `lost`, it never comes.
        """
        self._down.expect(self.told, k, n)
        if lost:
            self._unheard.add((n, k))

    def learn(self, k: int, n: int, z: FloatArray, y: float) -> None:
        """The client learns from a sample."""
        self._devices[k] = self.method.learner.learn(self._devices[k], z, y, self._mu, n)

    def send(self, k: int, n: int, age: int, *, lost: bool) -> bool:
        """Put the client's uplink part on its way, unless it is lost or beyond the age limit.

        Returns whether the client sent anything: nobody answers silence.
        """
        part = self._up.sent(told(self.method.learner, self._devices[k]), k, n)
        if part.coordinates.size and age <= self._limit and not lost:
            self._in_flight[n + age].append(Message(k, n, *part))
        return part.coordinates.size > 0

    def receive(self, n: int) -> None:
        """The server answers, in a live exchange, and applies the messages that arrive now."""
        arrived = sorted(self._in_flight.pop(n, []), key=lambda m: (n - m.sent, m.client))
        if self.method.exchange == "live":
            for k in {m.client for m in arrived if (m.sent, m.client) not in self._unheard}:
                self.share(k, n, lost=False)
            # A newcomer may have said hello several times.
            for k in self._hellos.pop(n, set()) & self._newcomers:
                self.share(k, n, lost=False)
            # Drops the counts of these answers, which were counted when they were asked for.
            self.counted()
        stamp = Stamp(SERVER, n, self._features, self._key)
        self._server = self.method.server.apply(self._server, arrived, stamp)

    def counted(self) -> Traffic:
        """Return the traffic since the last call, and count from 0 again."""
        up, down = self._up.counted(), self._down.counted()
        return Traffic(
            coordinates_up=up.coordinates,
            coordinates_down=down.coordinates,
            messages_up=up.messages,
            messages_down=down.messages,
            payload_up=up.payload,
            payload_down=down.payload,
            contacts=len(up.clients | down.clients),
        )


class _Count(NamedTuple):
    """What one direction carried since the last call of `counted`."""

    coordinates: int = 0
    messages: int = 0
    payload: int = 0
    clients: frozenset[int] = frozenset()


class _Direction:
    """All links of one direction: what is sent over them, and what the senders remember."""

    def __init__(
        self,
        method: Algorithm,
        direction: str,
        clients: int,
        features: int,
        key: Key,
        wire: DTypeLike,
    ) -> None:
        self._count = _Count()
        channel: Any = getattr(method, direction)
        self._method, self._where = method.name, f"its {direction}'s"
        self._channel, self._features, self._key, self._wire = channel, features, key, wire
        self._memory = [channel.init(features) for _ in range(clients)]
        self._to_compare = COMPARED  # so many coded messages are still compared with what was sent

    def sent(self, w: FloatArray, client: int, tick: int) -> Part:
        """Return what arrives of the part that this link sends now."""
        stamp = Stamp(client, tick, self._features, self._key)
        part: Part
        part, self._memory[client] = self._channel.send(w, self._memory[client], stamp)
        if not part.coordinates.size:
            return part
        before = Part(part.coordinates.copy(), part.values.copy())  # `encode` may change its own
        arrived, payload = travelled(self._channel, part, stamp)
        self._add(client, part.coordinates.size, payload)
        if self._channel.encode is None:
            return Part(arrived.coordinates, _travel(arrived.values, self._wire))
        if self._to_compare:
            self._to_compare -= 1
            if (wrong := not_as_sent(self._channel, before, arrived)) is not None:
                raise RuleError(self._method, f"{self._where} {wrong}")
        return arrived

    def sent_whole(self, w: FloatArray, client: int) -> Part:
        """Return what arrives of a whole model, which travels as plain values."""
        self._add(client, w.size, BYTES_PER_COORDINATE * w.size)
        return whole(_travel(w, self._wire))

    def hello(self, client: int) -> None:
        """Count a message that holds nothing."""
        self._add(client, 0, 0)

    def _add(self, client: int, coordinates: int, payload: int) -> None:
        """Count one message."""
        count = self._count
        self._count = _Count(
            count.coordinates + coordinates,
            count.messages + 1,
            count.payload + payload,
            count.clients | {client},
        )

    def expect(self, w: FloatArray, client: int, tick: int) -> None:
        """Count what this link would send now; the sender's memory stays as it is."""
        memory = self._memory[client]
        self.sent(w, client, tick)
        self._memory[client] = memory

    def counted(self) -> _Count:
        """Return the counts since the last call, and count from 0 again."""
        count, self._count = self._count, _Count()
        return count


def _floating(wire: DTypeLike) -> DTypeLike:
    """Refuse types that would cut numbers off rather than round them."""
    with suppress(TypeError):  # `wire` is no type at all
        if np.issubdtype(np.dtype(wire), np.floating):
            return wire
    raise InputError(f"wire is {wire!r}: expected a type of real numbers, such as numpy.float32")


def _travel(values: FloatArray, wire: DTypeLike) -> FloatArray:
    """Round values to the precision in which they cross the network."""
    return values.astype(wire).astype(np.float64)
