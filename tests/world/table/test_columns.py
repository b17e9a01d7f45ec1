import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from paofed.core.arrays import BoolArray, FloatArray
from paofed.errors import InputError
from paofed.world.table.columns import Column, column, fit

PAST = np.array([True, True, True, True, False, False])
NUMBERS = np.array([1.0, 2.0, 3.0, 6.0, 100.0, np.nan])


class Expanded(NamedTuple):
    labels: tuple[str, ...]
    recipe: str
    values: FloatArray


def expand(col: Column, values: NDArray[Any], past: BoolArray) -> Expanded:
    record = fit(col, past, values)
    return Expanded(record.labels, record.recipe, record.numbers(values))


@pytest.mark.parametrize(
    ("text", "col"),
    [
        ("PM2.5", Column("PM2.5", "standardise", "")),
        ("site:O3:log1p", Column("site:O3", "log1p", "")),
        ("site:O3", Column("site:O3")),
        ("O3:lag=1", Column("O3", lag=1)),
        ("site:O3:diff=24", Column("site:O3", diff=24)),
        ("O3:raw:diff=1", Column("O3", "raw", diff=1)),
        ("time:weekday", Column("time", "weekday")),
    ],
)
def test_transforms_lags_differences_and_the_calendar_follow_the_last_colons(
    text: str, col: Column
) -> None:
    assert column(text) == col


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("O3:lag", "expected 1 to 1000 ticks, as in O3:lag=1"),
        ("O3:lag=0", "expected 1 to 1000 ticks"),
        ("O3:lag=1:lag=1", "expected lag of a number that is standardised, log1p or raw"),
        ("h:cyclic=24:diff=1", "expected diff of a number"),
        ("time:hour=2", "expected a period for cyclic alone"),
        ("hour:cyclic", "expected a period for cyclic alone"),
    ],
)
def test_what_no_lag_can_be(text: str, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        column(text)


def test_standardising_looks_at_the_past_alone() -> None:
    found = expand(Column("a"), NUMBERS, PAST)
    past = NUMBERS[:4]
    assert found.values[:5, 0] == pytest.approx((NUMBERS[:5] - past.mean()) / past.std())
    assert math.isnan(found.values[5, 0])
    assert found.recipe == "(a - 3) / 1.87083"
    assert found.labels == ("a",)


def test_log1p_is_standardised_afterwards() -> None:
    found = expand(Column("a", "log1p"), NUMBERS, PAST)
    assert found.values[:4].mean() == pytest.approx(0, abs=1e-12)
    assert found.values[:4].std() == pytest.approx(1)
    assert found.labels == ("log1p(a)",)


def test_log1p_of_minus_one_is_refused() -> None:
    with pytest.raises(InputError, match="holds -1, which has no log1p"):
        expand(Column("a", "log1p"), np.array([0.0, -1.0]), PAST[:2])


@pytest.mark.parametrize("value", [0.0, 1013.25])
def test_a_constant_has_no_spread(value: float) -> None:
    with pytest.raises(InputError, match="in the calibration period, so it has no spread"):
        expand(Column("a"), np.full(6, value), PAST)


def test_a_column_that_is_empty_in_the_past_is_told() -> None:
    with pytest.raises(InputError, match="has no value in the calibration period"):
        expand(Column("a"), np.where(PAST, np.nan, 1.0), PAST)


def test_cyclic_closes_the_circle() -> None:
    found = expand(Column("hour", "cyclic", "24"), np.array([0.0, 6.0, 24.0]), PAST[:3])
    assert found.values == pytest.approx(np.array([[0, 1], [1, 0], [0, 1]]), abs=1e-12)
    assert found.labels == ("sin hour", "cos hour")


def test_directions_by_name() -> None:
    found = expand(Column("wd", "compass"), np.array(["N", "e", "SW", ""]), PAST[:4])
    half = math.sqrt(0.5)
    assert found.values[:3] == pytest.approx(np.array([[0, 1], [1, 0], [-half, -half]]), abs=1e-12)
    assert np.isnan(found.values[3]).all()


def test_no_direction() -> None:
    with pytest.raises(InputError, match="'up', which is no direction"):
        expand(Column("wd", "compass"), np.array(["N", "up"]), PAST[:2])


def test_one_hot_knows_the_categories_of_the_past() -> None:
    names = np.array(["b", "a", "b", "a", "new", ""])
    found = expand(Column("kind", "one-hot"), names, PAST)
    assert found.labels == ("kind=a", "kind=b")
    np.testing.assert_array_equal(found.values[:5], [[0, 1], [1, 0], [0, 1], [1, 0], [0, 0]])
    assert np.isnan(found.values[5]).all()


@pytest.mark.parametrize(("name", "count"), [("a", "1 category"), ("", "no categories")])
def test_one_hot_needs_two_categories(name: str, count: str) -> None:
    with pytest.raises(InputError, match=f"has {count} in the calibration period"):
        expand(Column("kind", "one-hot"), np.full(6, name), PAST)


def test_one_hot_of_too_many_categories() -> None:
    names = np.arange(101).astype(np.str_)
    with pytest.raises(InputError, match="has 101 categories in the calibration period: expected"):
        expand(Column("id", "one-hot"), names, np.ones(101, dtype=bool))


@given(st.integers(0, 2**32 - 1), st.sampled_from(["standardise", "log1p", "one-hot"]))
def test_the_future_changes_nothing_before_it(seed: int, transform: str) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 5, size=40).astype(np.float64)
    values[:2] = 0, 1  # no constant
    past = np.arange(40) < 20
    other = np.concatenate([values[:25], rng.permutation(values[25:] * 10)])
    as_given = [v.astype(np.str_) if transform == "one-hot" else v for v in (values, other)]
    one, two = (expand(Column("a", transform), v, past).values for v in as_given)
    np.testing.assert_array_equal(one[:25], two[:25])
