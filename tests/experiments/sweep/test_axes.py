"""What is tried for a key, as people write it."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.errors import InputError
from paofed.experiments.sweep.axes import Span, axis_from_text, axis_of

ENDS = st.floats(1e-6, 1e6)
SHARES = st.floats(0.0, 1.0, exclude_max=True)


@pytest.mark.parametrize(
    ("text", "key", "axis"),
    [
        ("shared=1,4,16", "shared", (1, 4, 16)),
        ("exchange=paper,live", "exchange", ("paper", "live")),
        ("aside=true,false", "aside", (True, False)),
        ("loss.up=0,0.1", "loss.up", (0, 0.1)),
        ("step_size=0.05..1.6", "step_size", Span(0.05, 1.6, "log")),
        ("staleness=0.2..1:linear", "staleness", Span(0.2, 1, "linear")),
        ("max_age=0..60", "max_age", Span(0, 60, "linear")),
        ("shared=1..64", "shared", Span(1, 64, "log")),
    ],
)
def test_words(text: str, key: str, axis: Any) -> None:
    assert axis_from_text(text) == (key, axis)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("shared", "'shared' is nothing to sweep over: write KEY=VALUE,VALUE"),
        ("=4", "is nothing to sweep over"),
        ("shared=", "is nothing to sweep over"),
        ("shared=4,4", "shared has 4 twice: give each value once"),
        ("shared=9..2", "shared goes from 9 to 2: expected an end above its beginning"),
        ("shared=a..2", "shared has an end 'a': expected a number"),
        ("shared=1..inf", "shared has an end 'inf': expected a number"),
        ("max_age=0..9:log", "max_age begins at 0: expected a number above 0 for log"),
        ("max_age=1..9:lin", "unknown scale 'lin': did you mean 'linear'"),
        ("step_size=nan", "step_size has a value nan: expected finite numbers"),
    ],
)
def test_words_that_say_nothing(text: str, told: str) -> None:
    with pytest.raises(InputError, match=told.replace("(", r"\(")):
        axis_from_text(text)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (0.4, "step_size is 0.4: expected a list of values"),
        ("0.4", "step_size is '0.4': expected a list of values"),
        ([], "step_size is empty: expected at least one value"),
        ([{}], r"step_size has a value \{\}"),
        ({"from": 1}, "step_size.to is missing: a span has both ends"),
        ({"from": 1, "to": 2, "by": 3}, "step_size: unknown key 'by'"),
        ({"from": 1, "to": "2"}, "step_size has an end '2'"),
        (Span(2, 1, "log"), "step_size goes from 2 to 1"),
    ],
)
def test_values_that_are_none(given: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        axis_of("step_size", given)


def test_values_of_numpy_are_python_s() -> None:
    found = axis_of("shared", np.array([1, 4]))
    assert found == (1, 4)
    assert [type(value) for value in found] == [int, int]
    assert axis_of("on", [True, 1]) == (True, 1)  # true is not 1


@given(ENDS, ENDS, SHARES, st.sampled_from(["log", "linear"]))
def test_a_span_reaches_from_end_to_end(one: float, other: float, share: float, scale: Any) -> None:
    low, high = sorted((one, other))
    if low == high:
        return
    span = Span(low, high, scale)
    assert low <= span.at(share) <= high
    assert span.at(0.0) <= span.at(share) <= span.at(math.nextafter(1.0, 0.0))


@given(st.integers(0, 50), st.integers(1, 50), SHARES)
def test_whole_numbers_stay_whole_and_both_ends_are_drawn(
    low: int, more: int, share: float
) -> None:
    span = Span(low, low + more, "log" if low else "linear")
    assert isinstance(span.at(share), int)
    assert low <= span.at(share) <= low + more
    assert (span.at(0.0), span.at(math.nextafter(1.0, 0.0))) == (low, low + more)
