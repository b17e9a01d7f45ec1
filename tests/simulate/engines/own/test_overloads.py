"""What rules may call gives in machine code what it gives in Python."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numba.core.errors import TypingError

from paofed.core.parts import Part, Stamp, draws, keys_of, placed, silence
from paofed.core.selection import Windows, window
from paofed.simulate.engines.fast.own import overloads
from paofed.simulate.engines.fast.own.compiled_rules import HELPERS
from tests.effort import effort, some

EXAMPLES = settings(max_examples=effort(everyday=15, thorough=80))
_STAMP = Stamp(0, 0, 1, keys_of(0).up)


@njit
def _draws(stamp: Any, count: Any) -> Any:
    return draws(stamp, count)


@njit
def _placed(w: Any, part: Any) -> Any:
    return placed(w, part)


@njit
def _window_and_silence(start: Any, width: Any, features: Any) -> Any:
    return window(start, width, features), silence()


def test_every_helper_has_a_twin() -> None:
    twins = {name.removeprefix("_") for name in vars(overloads)}
    assert {helper.__name__ for helper in HELPERS} <= twins


@EXAMPLES
@given(
    client=st.integers(-1, 2**31),
    tick=st.integers(0, 2**31),
    seed=st.integers(0, 2**64 - 1),
    count=st.integers(0, 11),
)
def test_draws(client: int, tick: int, seed: int, count: int) -> None:
    stamp = Stamp(client, tick, 5, keys_of(seed).down)
    np.testing.assert_array_equal(_draws(stamp, count), draws(stamp, count))


@EXAMPLES
@given(features=st.integers(1, 9), data=st.data())
def test_placed(features: int, data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, features - 1), unique=True))
    w = np.arange(float(features))
    part = Part(np.array(chosen, dtype=np.int64), -np.ones(len(chosen)))
    np.testing.assert_array_equal(_placed(w, part), placed(w, part))
    np.testing.assert_array_equal(w, np.arange(float(features)))


@EXAMPLES
@given(features=st.integers(1, 20), start=st.integers(0, 19), width=st.integers(0, 20))
def test_window_and_silence(features: int, start: int, width: int) -> None:
    start, width = start % features, min(width, features)
    coordinates, nothing = _window_and_silence(start, width, features)
    np.testing.assert_array_equal(coordinates, window(start, width, features))
    for got, expected in zip(nothing, silence(), strict=True):
        assert got.dtype == expected.dtype
        assert got.size == 0


@pytest.mark.parametrize(
    "windows",
    some(
        [Windows(3, coordinated=True, ahead=1), Windows(2, coordinated=False), Windows(None)],
        everyday=1,
    ),
)
def test_windows_that_a_rule_speaks_of(windows: Windows) -> None:
    at = njit(lambda stamp: windows.at(stamp))
    for client, tick in np.ndindex(4, 5):
        stamp = _STAMP._replace(client=client, tick=tick, features=7)
        np.testing.assert_array_equal(at(stamp), windows.at(stamp))


class Three(NamedTuple):
    """A record of arrays of two kinds."""

    w: Any
    count: Any
    more: Any


@njit
def _replaced(state: Any, w: Any, count: Any) -> Any:
    return state._replace(count=count, w=w), state._replace(more=state.w), state._replace()


@njit
def _misnamed(state: Any) -> Any:
    return state._replace(wrong=state.w)


@njit
def _unnamed(state: Any) -> Any:
    return state._replace(state.w)


def test_fields_replaced() -> None:
    """In any order, and with fields of another type: a column of a matrix is one."""
    state = Three(np.arange(3.0), np.arange(2), np.ones(3))
    column, count = np.arange(6.0).reshape(3, 2)[:, 1], np.full(2, 7)
    found = _replaced(state, column, count)
    expected = _replaced.py_func(state, column, count)
    assert [type(record) for record in found] == [Three] * 3
    for here, there in zip(found, expected, strict=True):
        for one, other in zip(here, there, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("rule", [_misnamed, _unnamed])
def test_a_field_that_is_none_is_refused(rule: Any) -> None:
    with pytest.raises(TypingError, match="_replace"):
        rule(Three(np.arange(3.0), np.arange(2), np.ones(3)))
