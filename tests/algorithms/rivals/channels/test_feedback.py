"""Top-k against EF21, and ternary messages against sparse ternary compression."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from paofed.algorithms.rivals.channels.ternary import apply, begin_heard, ternary
from paofed.algorithms.rivals.channels.top_k import begin, send, top_k
from paofed.core.arrays import FloatArray
from paofed.core.parts import Message, travelled
from paofed.core.selection import Windows
from tests.algorithms.rivals.cases import (
    FEATURES,
    arrivals,
    models,
    seeds,
    server_stamp,
    stamp,
    told_over,
)


def published_ef21(sent: FloatArray, k: int) -> list[tuple[FloatArray, FloatArray]]:
    """c_t = C(x_t - g_t), g_(t+1) = g_t + c_t, with C = top-k; what is sent, and g after it."""
    g, said = np.zeros(sent.shape[1]), []
    for x in sent:
        difference = x - g
        c = np.zeros_like(g)
        for j in sorted(range(g.size), key=lambda j: (-abs(difference[j]), j))[:k]:
            c[j] = difference[j]
        g = g + c
        said.append((c, g))
    return said


@given(seeds, st.integers(1, 14))
def test_top_k_is_ef21_on_the_model(seed: int, k: int) -> None:
    """The receiver that puts values in their places has what the one of EF21 has by adding."""
    sent = models(seed, 8).astype(np.float32).astype(float)  # so that nothing is lost on the way
    heard = np.zeros(FEATURES)
    method = top_k(k=k)
    published = published_ef21(sent, k)
    for (part, arrived, size), (c, g) in zip(
        told_over(method.uplink, sent), published, strict=True
    ):
        assert set(np.flatnonzero(c)) <= set(part.coordinates)
        heard[arrived.coordinates] = arrived.values
        np.testing.assert_allclose(heard, g, atol=1e-12)
        some = min(k, FEATURES)
        assert part.coordinates.size == some
        assert size == 4 * some + -(-4 * some // 8)  # 4 bits tell 12 coordinates apart


def test_the_memory_is_what_was_heard_to_the_last_bit() -> None:
    w = models(1, 1)[0]
    part, memory = send(3, w, begin(FEATURES), stamp())
    arrived, _ = travelled(top_k(k=3).uplink, part, stamp())
    np.testing.assert_array_equal(memory.values[arrived.coordinates], arrived.values)


def test_the_downlink_is_as_wide_as_asked() -> None:
    assert top_k(down=8).downlink == Windows(8, coordinated=False)
    assert ternary(down=8).downlink == Windows(8, coordinated=False)


def published_stc(change: FloatArray, k: int) -> FloatArray:
    """Return mu sign(T) on the k largest of |T|, mu their mean size."""
    largest = sorted(range(change.size), key=lambda j: (-abs(change[j]), j))[:k]
    mu = np.float32(np.mean([abs(change[j]) for j in largest]))
    compressed = np.zeros_like(change)
    for j in largest:
        compressed[j] = mu if change[j] >= 0 else -mu
    return compressed


@given(seeds, st.integers(1, 14))
def test_ternary_keeps_the_residual_of_sparse_ternary_compression(seed: int, k: int) -> None:
    """T~ = STC(change + residual); residual <- residual + change - T~."""
    sent = models(seed, 8)
    residual, before = np.zeros(FEATURES), np.zeros(FEATURES)
    for (part, arrived, size), w in zip(told_over(ternary(k=k).uplink, sent), sent, strict=True):
        expected = published_stc(w - before + residual, k)
        residual, before = residual + w - before - expected, w
        found = np.zeros(FEATURES)
        found[arrived.coordinates] = arrived.values
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        np.testing.assert_array_equal(arrived.coordinates, part.coordinates)
        np.testing.assert_array_equal(arrived.values, part.values)
        assert 4 < size <= 4 + -(-(5 * part.coordinates.size + FEATURES) // 8)


def test_ternary_by_hand() -> None:
    """With k = 2, of (4, -1, -2, 0): mu = 3, then what is left over is (1, -1, 1, 0)."""
    told = told_over(ternary(k=2).uplink, np.array([[4.0, -1, -2, 0], [4.0, -1, -2, 0]]))
    first, second = (part for part, *_ in told)
    assert (first.coordinates.tolist(), first.values.tolist()) == ([0, 2], [3.0, -3.0])
    assert (second.coordinates.tolist(), second.values.tolist()) == ([0, 1], [1.0, -1.0])
    # p = 1/2, and (1 - p)^1 is below phi - 1, so b* = 0: gaps 1 and 2, less 1, are 0 and 10; then
    # a bit for each sign, and three that fill the byte up.
    channel: Any = ternary(k=2).uplink
    payload = channel.encode(first, stamp(features=4))
    assert payload[4:].tolist() == [0b0_10_01_000]
    assert payload[:4].view(np.float32)[0] == 3.0


def published_ternary_server(
    w: FloatArray, heard: FloatArray, messages: list[Message], tick: int
) -> tuple[FloatArray, FloatArray]:
    """Sums of what each client sent; then eq. 9 on the coordinates that were sent."""
    heard, moved = heard.copy(), w.copy()
    for m in messages:
        np.add.at(heard[m.client], m.coordinates, m.values)
    for j in range(w.size):
        holding = [m for m in messages if j in m.coordinates]
        if holding:
            age = min(tick - m.sent for m in holding)
            newest = [m for m in holding if tick - m.sent == age]
            count = sum(tick - m.sent == age for m in messages)
            moved[j] += sum(heard[m.client, j] - w[j] for m in newest) / count
    return moved, heard


@given(seeds)
def test_the_server_of_ternary_messages(seed: int) -> None:
    state = begin_heard(FEATURES, 5)
    assert apply(state, [], server_stamp(3)) is state
    for tick in range(4, 8):
        messages = arrivals(seed + tick, tick)
        expected = published_ternary_server(state.w, state.clients, messages, tick)
        state = apply(state, messages, server_stamp(tick))
        np.testing.assert_allclose(state.w, expected[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(state.clients, expected[1], rtol=1e-9, atol=1e-12)
