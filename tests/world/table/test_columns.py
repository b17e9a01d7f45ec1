import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from paofed.core.arrays import BoolArray, FloatArray
from paofed.errors import InputError
from paofed.world.table.columns import Column, column, duration_text, fit, seconds

PAST = np.array([True, True, True, True, False, False])
NUMBERS = np.array([1.0, 2.0, 3.0, 6.0, 100.0, np.nan])


class Expanded(NamedTuple):
    labels: tuple[str, ...]
    recipe: str
    values: FloatArray


def expand(col: Column, values: NDArray[Any], past: BoolArray) -> Expanded:
    record = fit(col, past, values)
    return Expanded(record.labels, record.recipe, record.numbers(values))


def test_a_column_without_a_word_is_standardised() -> None:
    assert column("PM2.5") == Column("PM2.5", "standardise", "")


def test_a_transform_follows_the_last_colon() -> None:
    assert column("site:O3:log1p") == Column("site:O3", "log1p", "")


def test_what_is_no_transform_is_part_of_the_name() -> None:
    assert column("site:O3") == Column("site:O3")


@pytest.mark.parametrize(
    ("text", "col"),
    [
        ("O3:lag=1", Column("O3", lag=1)),
        ("site:O3:diff=24", Column("site:O3", diff=24)),
        ("O3:log1p:lag=2", Column("O3", "log1p", lag=2)),
        ("O3:raw:diff=1", Column("O3", "raw", diff=1)),
        ("time:weekday", Column("time", "weekday")),
    ],
)
def test_lags_differences_and_the_calendar_follow_a_colon(text: str, col: Column) -> None:
    assert column(text) == col


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("O3:lag", "expected 1 to 1000 ticks, as in O3:lag=1"),
        ("O3:lag=0", "expected 1 to 1000 ticks"),
        ("O3:diff=1001", "expected 1 to 1000 ticks"),
        ("O3:lag=-1", "expected 1 to 1000 ticks"),
        ("O3:lag=1:lag=1", "expected lag of a number that is standardised, log1p or raw"),
        ("wd:compass:lag=1", "expected lag of a number"),
        ("h:cyclic=24:diff=1", "expected diff of a number"),
        ("time:hour=2", "expected a period for cyclic alone"),
    ],
)
def test_what_no_lag_can_be(text: str, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        column(text)


@pytest.mark.parametrize("text", ["hour:cyclic", "O3:log1p=3"])
def test_a_period_belongs_to_cyclic_alone(text: str) -> None:
    with pytest.raises(InputError, match="expected a period for cyclic alone"):
        column(text)


def test_standardising_looks_at_the_past_alone() -> None:
    found = expand(Column("a"), NUMBERS, PAST)
    past = NUMBERS[:4]
    assert found.values[:5, 0] == pytest.approx((NUMBERS[:5] - past.mean()) / past.std())
    assert math.isnan(found.values[5, 0])
    assert found.recipe == "(a - 3) / 1.87083"
    assert found.labels == ("a",)


def test_a_recipe_subtracts_a_negative_mean_with_a_plus() -> None:
    assert expand(Column("a"), -NUMBERS, PAST).recipe == "(a + 3) / 1.87083"


def test_log1p_is_standardised_afterwards() -> None:
    found = expand(Column("a", "log1p"), NUMBERS, PAST)
    assert found.values[:4].mean() == pytest.approx(0, abs=1e-12)
    assert found.values[:4].std() == pytest.approx(1)
    assert found.labels == ("log1p(a)",)


def test_log1p_of_minus_one_is_refused() -> None:
    with pytest.raises(InputError, match="holds -1, which has no log1p"):
        expand(Column("a", "log1p"), np.array([0.0, -1.0]), PAST[:2])


def test_raw_is_left_alone() -> None:
    found = expand(Column("a", "raw"), NUMBERS, PAST)
    np.testing.assert_array_equal(found.values[:, 0], NUMBERS)


@pytest.mark.parametrize("value", [0.0, 1013.25, -0.1])
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


@given(st.sampled_from(["ms", "s", "min", "h", "d", "w"]), st.integers(1, 10_000))
def test_a_duration_is_read_back(unit: str, count: int) -> None:
    length = seconds(f"{count}{unit}")
    assert length is not None
    assert seconds(duration_text(length)) == pytest.approx(length)


@pytest.mark.parametrize("text", ["", "h", "1", "-1h", "1y", "0h", "2014-03-01"])
def test_what_is_no_duration(text: str) -> None:
    assert seconds(text) is None


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
