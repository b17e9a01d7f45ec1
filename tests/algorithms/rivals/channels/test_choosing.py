"""Which coordinates travel: windows, masks, and windows of two widths."""

from collections import Counter
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from paofed.algorithms import algorithm
from paofed.algorithms.rivals.channels.encoding import largest, uncoordinated
from paofed.algorithms.rivals.channels.masked import mask_of, masked
from paofed.algorithms.rivals.channels.wide_down import wide_down
from paofed.core.parts import draws, travelled
from paofed.core.selection import Windows
from tests.algorithms.rivals.cases import (
    FEATURES,
    models,
    stamp,
)


@given(st.integers(1, 9), st.integers(0, 1), st.integers(0, 9), st.integers(0, 99))
def test_a_window_is_that_of_the_paper(shared: int, ahead: int, client: int, tick: int) -> None:
    here = stamp(client, tick)
    windows = Windows(shared, coordinated=False, ahead=ahead)
    np.testing.assert_array_equal(uncoordinated(shared, ahead, here), windows.at(here))


@given(st.lists(st.integers(0, 6), min_size=1, max_size=12), st.integers(1, 14))
def test_the_largest_are_those_of_a_stable_sort(sizes: list[int], count: int) -> None:
    array = np.array(sizes, dtype=float)
    expected = np.sort(np.argsort(-array, kind="stable")[:count])
    np.testing.assert_array_equal(largest(array, count), expected)


def test_what_is_no_number_is_the_largest() -> None:
    assert largest(np.array([1.0, np.nan, 3.0, np.inf]), 2).tolist() == [1, 3]


def test_every_mask_is_as_likely_as_any_other() -> None:
    """Exactly so: of 5 coordinates 2, over all places that 2 numbers can fall on."""
    counts = Counter(
        tuple(mask_of((np.array([i, j]) + 0.5) / (4, 5), 5)) for i in range(4) for j in range(5)
    )
    assert counts == dict.fromkeys(combinations(range(5), 2), 2)


@given(st.integers(1, 14), st.integers(0, 9), st.integers(0, 99))
def test_a_mask_is_drawn_from_the_stamp_and_no_index_travels(
    shared: int, client: int, tick: int
) -> None:
    channel, here, w = masked(shared=shared).uplink, stamp(client, tick), models(0, 1)[0]
    part, _ = channel.send(w, (), here)
    chances = draws(here, min(shared, FEATURES))
    np.testing.assert_array_equal(part.coordinates, mask_of(chances, FEATURES))
    np.testing.assert_array_equal(part.values, w[part.coordinates])
    assert part.coordinates.size == min(shared, FEATURES)
    assert travelled(channel, part, here)[1] == 4 * part.coordinates.size


def test_windows_of_two_widths() -> None:
    """By hand: client 1 at tick 2 hears 8 from 8 * 3 = 24 = 0 on and sends 2 from 2 * 4 = 8 on."""
    method = wide_down(up=2, down=8)
    down: Any = method.downlink
    up: Any = method.uplink
    assert down(1, 2, FEATURES).tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert up(1, 2, FEATURES).tolist() == [8, 9]
    same = wide_down(up=4, down=4)
    assert replace(same, name="pao-fed-u1") == algorithm("pao-fed-u1")
