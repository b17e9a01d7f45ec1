"""Windows of few bits against the rounding of QSGD, and by hand."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.algorithms import algorithm
from paofed.algorithms.rivals.channels.quantised import (
    quantised,
    quantised_window,
    quantised_windows,
    rounded,
    scale_of,
)
from paofed.core.arrays import FloatArray
from paofed.core.parts import Channel, Part, draws, travelled
from paofed.core.selection import Windows
from paofed.errors import AlgorithmError
from paofed.simulate.engines.reference import replay
from tests.algorithms.rivals.cases import finite, seeds, stamp
from tests.natures import small_trace

vectors = st.lists(finite, min_size=1, max_size=20).map(np.array)


def published_quantiser(v: FloatArray, scale: float, s: int, chances: FloatArray) -> FloatArray:
    """QSGD: |v_i| / scale lies in [l / s, (l + 1) / s]; the upper end with p = |v_i| s / scale - l.

    A number from 0 to 1 is above 1 - p with probability p.
    """
    if scale == 0.0:
        return np.zeros(v.size)
    ratio = np.abs(v) / scale
    lower = np.floor(ratio * s)
    p = ratio * s - lower
    xi = np.where(chances >= 1 - p, lower + 1, lower) / s
    return scale * np.sign(v) * xi


@given(vectors, st.sampled_from([2, 3, 4, 8, 16]), seeds)
def test_what_arrives_is_what_qsgd_makes_of_it(w: FloatArray, bits: int, tick: int) -> None:
    shared = max(1, w.size // 2)
    channel: Any = quantised_window(shared, bits, 1)
    here = stamp(tick=tick, features=w.size)
    part, _ = channel.send(w, (), here)
    arrived, size = travelled(channel, part, here)
    np.testing.assert_array_equal(arrived.coordinates, part.coordinates)
    scale = scale_of(part.values)
    assert np.abs(part.values).max() <= scale <= np.abs(part.values).max() * (1 + 2.0**-22)
    levels = 2 ** (bits - 1) - 1
    expected = published_quantiser(part.values, scale, levels, draws(here, shared))
    np.testing.assert_allclose(arrived.values, expected, rtol=1e-12, atol=1e-12)
    assert size == 4 + -(-shared * bits // 8)


@given(vectors, st.sampled_from([1, 7, 127]))
def test_rounding_is_right_on_average(values: FloatArray, levels: int) -> None:
    """The expectation over the two neighbours, each with its probability, is the value.

    `rounded` takes the upper one where the chance reaches what is missing to it, so the length of
    those chances is the probability; it is found between them and tried on both sides.
    """
    scale = max(scale_of(values), 1e-6)
    exact = levels * np.abs(values) / scale
    lower, p = np.floor(exact), exact - np.floor(exact)
    for chances, up in ((1 - p + 1e-9, True), (1 - p - 1e-9, False), (0 * p, False)):
        possible = (chances >= 0) & (chances < 1) & (p > 1e-6)
        found = rounded(values, scale, levels, np.clip(chances, 0, 1 - 1e-12))
        signed = np.sign(values) * (lower + up)
        np.testing.assert_array_equal(found[possible], signed[possible])
    expectation = np.sign(values) * ((1 - p) * lower + p * (lower + 1)) * scale / levels
    np.testing.assert_allclose(expectation, values, rtol=1e-12, atol=1e-9)


def test_a_window_of_two_bits_by_hand() -> None:
    """Two bits: the levels -1, 0, 1. A scale of 2 and values 2, -1, 0.5 and 0."""
    values = np.array([2.0, -1.0, 0.5, 0.0])
    low = rounded(values, 2.0, 1, np.full(4, 0.4))
    high = rounded(values, 2.0, 1, np.array([0.0, 0.5, 0.75, 0.99]))
    assert low.tolist() == [1, 0, 0, 0]
    assert high.tolist() == [1, -1, 1, 0]
    channel: Any = quantised_window(4, 2, 0)
    part = Part(np.arange(4), np.array([0.0, -3.0, 3.0, 0.0]))
    payload = channel.encode(part, stamp())
    assert payload[4:].tolist() == [0b01_00_10_01]  # levels + 1, two bits each
    assert payload.size == 5


def test_nothing_and_what_is_no_number_travel_too() -> None:
    channel: Any = quantised_window(4, 8, 0)
    zeros = Part(np.arange(4), np.zeros(4))
    np.testing.assert_array_equal(travelled(channel, zeros, stamp())[0].values, 0.0)
    for wild in (np.nan, np.inf, 1e39):
        part = Part(np.arange(4), np.array([1.0, wild, 0.0, -1.0]))
        assert np.isnan(travelled(channel, part, stamp())[0].values).all()


def test_plain_bits_are_the_paper_s_windows() -> None:
    u1 = algorithm("pao-fed-u1", shared=8)
    down, up = quantised_windows(8, 4)
    assert down == u1.downlink
    assert isinstance(up, Channel)
    assert quantised_windows(8, 32) == (u1.downlink, u1.uplink)
    down, up = quantised_windows(8, 32, down_bits=2)
    assert isinstance(down, Channel)
    np.testing.assert_array_equal(
        down.send(np.arange(12.0), (), stamp(1, 2))[0].coordinates,
        Windows(8, coordinated=False).at(stamp(1, 2)),
    )


def test_a_window_wider_than_the_model_is_refused() -> None:
    for bits in ({}, {"down_bits": 8}):
        wide = quantised(shared=9, **bits)
        with pytest.raises(AlgorithmError, match=r"model has only 7|returned coordinate . twice"):
            replay(small_trace(0, features=7), wide)


def test_what_stands_behind_the_last_level_is_looked_at() -> None:
    """Three levels of five bits leave one bit of the last byte, which `encode` never sets."""
    channel: Any = quantised_window(3, 5, 0)
    payload = channel.encode(Part(np.arange(3), np.array([1.0, -2.0, 3.0])), stamp())
    assert np.isfinite(channel.decode(payload, stamp()).values).all()
    payload[-1] |= 1
    assert np.isnan(channel.decode(payload, stamp()).values).all()
