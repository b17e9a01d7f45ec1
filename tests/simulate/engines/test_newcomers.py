"""What devices take over from the server, on the readable engine, by what must be true.

Both compiled forms are held against it in test_fast.py and own/test_simulation.py, and the live
federation in tests/live/protocol/test_equal.py.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from paofed.algorithms import Algorithm, algorithm
from paofed.algorithms.base import Exchange
from paofed.core.arrays import BoolArray, FloatArray
from paofed.core.traffic import Traffic
from paofed.simulate.engines.reference import Info, State, ticks
from paofed.world.trace import Trace
from tests.natures import small_trace

SHARED, FEATURES = 3, 7


def method(exchange: Exchange) -> Algorithm:
    return algorithm("pao-fed-u1", shared=SHARED, exchange=exchange)


def lived(trace: Trace, exchange: Exchange) -> Iterator[tuple[State, Info, FloatArray, FloatArray]]:
    """Every tick, with the server's and the clients' models before it."""
    server, local = np.zeros(FEATURES), np.zeros((trace.clients, FEATURES))
    for state, info in ticks(trace, method(exchange)):
        yield state, info, server, local
        server, local = state.server.copy(), state.local.copy()


def first_heard(trace: Trace) -> BoolArray:
    """The contacts until and with the first whose answer is not lost, of each client."""
    heard = trace.available & ~trace.losses.down
    return trace.available & (np.cumsum(heard, axis=0) - heard == 0)


@pytest.mark.parametrize("exchange", ["paper", "single"])
@pytest.mark.parametrize("lost", [0.0, 0.5])
def test_all_of_the_model_comes_down_until_it_is_heard(exchange: Exchange, lost: float) -> None:
    trace = small_trace(3, newcomers=True, lost=lost, features=FEATURES)
    whole = first_heard(trace)
    for _, info, _, _ in lived(trace, exchange):
        there = trace.available[info.tick]
        windows = int((there & ~whole[info.tick]).sum())
        down = FEATURES * int(whole[info.tick].sum()) + SHARED * windows
        count = int(there.sum())
        expected = Traffic.of_floats(count, SHARED, 0)
        assert info.traffic == expected._replace(coordinates_down=down, payload_down=4 * down)


@pytest.mark.parametrize("lost", [0.0, 0.5])
def test_after_its_first_contact_a_client_has_the_server_s_model(lost: float) -> None:
    """Exchange single: what it has learned and sent is replaced by all of w_n."""
    trace = small_trace(4, newcomers=True, lost=lost, features=FEATURES)
    joins = first_heard(trace) & ~trace.losses.down
    assert (joins.sum(axis=0) == 1).all()
    for state, info, server, _ in lived(trace, "single"):
        for k in np.flatnonzero(joins[info.tick]).tolist():
            np.testing.assert_array_equal(state.local[k], server)


def test_a_live_newcomer_says_hello_until_it_is_answered() -> None:
    """However late the answer is; the client learns alone until it comes, and then has w_s."""
    trace = small_trace(6, ticks=60, newcomers=True, lost=0.3, features=FEATURES, available=0.3)
    heard = trace.available & ~trace.losses.up & ~trace.losses.down
    arrival = np.where(heard, np.arange(60)[:, None] + trace.delay, 99).min(axis=0)
    assert (arrival < 60).all()
    late = 0
    for state, info, server, local in lived(trace, "live"):
        n, there = info.tick, trace.available[info.tick]
        hellos = there & (n <= arrival)
        up, down = (there & ~hellos).sum() * SHARED, hellos.sum() * FEATURES
        down += (there & ~hellos).sum() * SHARED
        assert (info.traffic.coordinates_up, info.traffic.coordinates_down) == (up, down)
        assert (info.traffic.payload_up, info.traffic.payload_down) == (4 * up, 4 * down)
        assert info.traffic.messages_up == info.traffic.contacts == there.sum()
        if (n <= arrival).all():
            np.testing.assert_array_equal(state.server, np.zeros(FEATURES))  # nothing was applied
        for k in np.flatnonzero(arrival == n).tolist():
            np.testing.assert_array_equal(state.local[k], server)
        for k in np.flatnonzero(trace.has_data[n] & (n < arrival)).tolist():
            z, y = trace.fourier_map(trace.x[n, k]), trace.y[n, k]
            alone = local[k] + 0.4 * (y - local[k] @ z) * z
            np.testing.assert_allclose(state.local[k], alone, rtol=0, atol=1e-15)
            late += 1
    assert late > 5


@pytest.mark.parametrize("exchange", ["paper", "single", "live"])
def test_a_fleet_begins_with_its_start(exchange: Exchange) -> None:
    trace = small_trace(7, start=True, features=FEATURES)
    nobody = replace(trace, available=np.zeros_like(trace.available))
    w = np.tile(trace.start, (trace.clients, 1))
    for state, info in ticks(nobody, method(exchange)):
        for k in np.flatnonzero(trace.has_data[info.tick]).tolist():
            z, y = trace.fourier_map(trace.x[info.tick, k]), trace.y[info.tick, k]
            w[k] = w[k] + 0.4 * (y - w[k] @ z) * z
        np.testing.assert_allclose(state.local, w, rtol=0, atol=1e-14)
        np.testing.assert_array_equal(state.server, trace.start)


@pytest.mark.parametrize("newcomers", [False, True])
def test_linear_terms_stay_a_device_s_own(newcomers: bool) -> None:
    """Exchange single: after its step a device has the server's model but for them.

    The whole model that a newcomer gets has them, too.
    """
    trace = small_trace(9, linear=True, newcomers=newcomers, personal=True)
    heard, before = trace.sparse().heard, (np.zeros(10), np.zeros((trace.clients, 10)))
    assert (trace.features, heard) == (10, 7)
    waiting = set(range(trace.clients)) if newcomers else set()
    for state, info in ticks(trace, algorithm("online-fedsgd", exchange="single")):
        server, local = before
        for k in np.flatnonzero(trace.available[info.tick]).tolist():
            z, y = trace.fourier_map(trace.x[info.tick, k]), trace.y[info.tick, k]
            own = server if k in waiting else local[k] + 0.4 * (y - local[k] @ z) * z
            expected = [*server[:heard], *own[heard:]]
            np.testing.assert_allclose(state.local[k], expected, rtol=0, atol=1e-14)
            waiting.discard(k)
        before = state.server.copy(), state.local.copy()
    assert not waiting
    assert not np.allclose(state.local[:, heard:], state.server[heard:])
