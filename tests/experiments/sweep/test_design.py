"""Which combinations are tried."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.errors import InputError
from paofed.experiments.sweep.axes import Span, drawn, grid


def test_a_grid_has_every_combination_once() -> None:
    found = grid({"a": (1, 2), "b": ("x", "y", "z")})
    assert found[:2] == [{"a": 1, "b": "x"}, {"a": 1, "b": "y"}]
    assert len({tuple(row.items()) for row in found}) == 6


def test_a_grid_needs_values() -> None:
    with pytest.raises(
        InputError, match=r"step goes from 0\.1 to 2: a grid needs values, as in st"
    ):
        grid({"step": Span(0.1, 2, "log")})
    with pytest.raises(InputError, match="a grid of 1,000,000 combinations: expected at most"):
        grid({key: tuple(range(100)) for key in "abc"})


@given(st.integers(0, 2**64 - 1), st.integers(1, 60))
def test_a_random_design_is_evenly_spread_along_every_key(seed: int, count: int) -> None:
    axes = {"a": Span(0.0, 1.0, "linear"), "b": Span(1.0, 100.0, "log"), "c": ("x", "y")}
    found = drawn(axes, count, seed)
    assert found == drawn(axes, count, seed)
    shares = np.array([[row["a"], np.log10(row["b"]) / 2] for row in found])
    # One in each of as many parts; a number that was rounded may lie on an edge.
    np.testing.assert_allclose(np.sort(shares, axis=0).T, (np.arange(count) + 0.5)[None] / count
                               + np.zeros((2, 1)), atol=0.5 / count + 1e-3)  # fmt: skip
    assert abs(sum(row["c"] == "x" for row in found) - count / 2) <= 1


def test_seeds_and_keys_draw_differently() -> None:
    axes = {"a": Span(0.0, 1.0, "linear"), "b": Span(0.0, 1.0, "linear")}
    found = drawn(axes, 50, 1)
    assert found != drawn(axes, 50, 2)
    values = np.array([[row["a"], row["b"]] for row in found])
    assert abs(np.corrcoef(values.T)[0, 1]) < 0.5
    with pytest.raises(InputError, match="random is 200,000: expected at most 100,000"):
        drawn(axes, 200_000, 0)
