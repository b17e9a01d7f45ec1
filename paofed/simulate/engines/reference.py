"""The reference engine: Algorithm 1 of the paper, one client and one sample at a time.

Kept readable for ever; every other engine is held against it on the same trace.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from paofed.algorithms import Algorithm
from paofed.algorithms.spec import resolve
from paofed.core.arrays import FloatArray
from paofed.core.metrics import mean_squared_error
from paofed.core.rules import Message, merge
from paofed.core.selection import pick
from paofed.errors import InputError, TraceError
from paofed.simulate.results.result import Outcome
from paofed.simulate.results.traffic import Traffic
from paofed.world.trace import Trace


class State(NamedTuple):
    """What the next tick needs. The arrays are overwritten by it: copy what you want to keep."""

    server: FloatArray  # (D,): w_{n+1}
    local: FloatArray  # (K, D): w_{k,n+1}
    in_flight: dict[int, list[Message]]  # by the tick of arrival


class Info(NamedTuple):
    """What happened in a tick, beside the state."""

    tick: int
    taking_part: int
    traffic: Traffic  # of this tick alone
    squared: FloatArray  # (2, K): errors of the client's and the server's model before the tick


def replay(
    trace: Trace,
    method: str | Algorithm,
    *,
    step_size: float = 0.4,
    max_age: int = 10,
    seed: int = 0,
    wire: DTypeLike = np.float64,
    watch: Callable[[Info], None] | None = None,
) -> Outcome:
    """Run an algorithm, by name or record, over a trace in float64.

    Step size and age limit are used where the algorithm has none of its own. `wire` rounds what
    travels, in both directions, as a network that carries float32 would. `watch` hears of every
    tick.
    """
    if not isinstance(trace, Trace):
        raise TraceError(
            f"{trace!r} is no trace: make one with realize, or read it with Trace.load"
        )
    z_test, targets = trace.fourier_map(trace.x_test), trace.test_targets
    mse = np.empty(trace.ticks)
    traffic = np.zeros((trace.ticks, len(Traffic._fields)), dtype=np.int64)
    # A step size that is too large overflows; the error curve then says so, tick by tick.
    with np.errstate(over="ignore", invalid="ignore"):
        for state, info in ticks(trace, method, step_size=step_size, max_age=max_age, wire=wire):
            mse[info.tick] = mean_squared_error(state.server, z_test, targets.at(info.tick))
            traffic[info.tick] = info.traffic
            if watch is not None:
                watch(info)
    return Outcome(server_model=state.server, mse=mse, traffic=np.cumsum(traffic, axis=0).T)


def ticks(
    trace: Trace,
    method: str | Algorithm,
    *,
    step_size: float = 0.4,
    max_age: int = 10,
    wire: DTypeLike = np.float64,
) -> Iterator[tuple[State, Info]]:
    """Yield the state after every tick; see `replay` for the arguments."""
    alg, wire = resolve(method), _floating(wire)
    alg.require_fits(trace.features)
    mu, limit = alg.settled(step_size=step_size, max_age=max_age)

    features = trace.features
    fourier_map = trace.fourier_map
    server = np.zeros(features)
    local = np.zeros((trace.clients, features))
    in_flight: defaultdict[int, list[Message]] = defaultdict(list)

    def share(k: int, n: int) -> None:
        """The server's values overwrite the downlink window of (k, n)."""
        down = alg.downlink(k, n, features)
        local[k] = merge(local[k], down, _travel(server[down], wire))

    for n in range(trace.ticks):
        # 1. Nature, and the server's pick among those who are there.
        taking_part = pick(trace.available[n], trace.lottery[n], alg.subset)
        contacts = sent_up = sent_down = 0
        squared = np.full((2, trace.clients), np.nan)

        for k in np.flatnonzero(trace.has_data[n]).tolist():
            z, y = fourier_map(trace.x[n, k]), float(trace.y[n, k])
            squared[:, k] = (y - local[k] @ z) ** 2, (y - server @ z) ** 2
            if taking_part[k]:
                # 2. The server shares w_n (before anything that arrives now is applied).
                if alg.exchange == "paper":
                    share(k, n)
                # 3. The client learns.
                local[k] = alg.learn(local[k], z, y, mu)
                # 4. The client sends; beyond the age limit the server will drop it on arrival.
                up = alg.uplink(k, n, features)
                age = int(trace.delay[n, k])
                if age <= limit:
                    message = Message(k, n, up, _travel(local[k, up], wire))
                    in_flight[n + age].append(message)
                if alg.exchange == "single":
                    share(k, n)
                contacts += 1
                sent_up += up.size
                sent_down += alg.downlink(k, n, features).size
            elif alg.learns_while_away:
                local[k] = alg.learn(local[k], z, y, mu)

        # 5. The server answers, where answers wait for the message, and applies what arrives.
        arrived = in_flight.pop(n, [])
        if alg.exchange == "live":
            for k in {message.client for message in arrived}:
                share(k, n)
        server = alg.aggregate(server, arrived, n, alg.staleness, alg.divisor)
        traffic = Traffic(
            coordinates_up=sent_up,
            coordinates_down=sent_down,
            messages_up=contacts,
            messages_down=contacts,
            payload_up=4 * sent_up,
            payload_down=4 * sent_down,
            contacts=contacts,
        )
        info = Info(n, int(taking_part.sum()), traffic, squared)
        yield State(server, local, in_flight), info


def _floating(wire: DTypeLike) -> DTypeLike:
    """Refuse types that would cut numbers off rather than round them."""
    with suppress(TypeError):  # it is no type at all
        if np.issubdtype(np.dtype(wire), np.floating):
            return wire
    raise InputError(f"wire is {wire!r}: expected a type of real numbers, such as numpy.float32")


def _travel(values: FloatArray, wire: DTypeLike) -> FloatArray:
    """Round values to the precision in which they cross the network."""
    return values.astype(wire).astype(np.float64)
