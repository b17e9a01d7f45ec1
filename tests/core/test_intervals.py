"""Intervals that hold whatever the errors are: coverage, and both forms of the same thing."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.intervals import MISS, RATE, Interval, first_half_width, half_widths

sizes = st.floats(1e-3, 1e3)


def followed(errors: list[float], start: float) -> Interval:
    found = Interval(start)
    for error in errors:
        found = found.after(error)
    return found


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=300), sizes)
def test_misses_are_no_more_than_agreed_whatever_happens(errors: list[float], start: float) -> None:
    """It widens beyond the largest error at most by one step: so misses are bounded, too."""
    found = followed(errors, start)
    largest = max(start, *map(abs, errors)) * math.exp(RATE * (1 - MISS))
    most = math.log(largest / start) / RATE
    assert found.misses <= MISS * found.samples + most + 1e-9


@given(st.lists(sizes, min_size=1, max_size=300), sizes)
def test_nor_less_as_long_as_errors_stay_above_a_bound(errors: list[float], start: float) -> None:
    found = followed(errors, start)
    smallest = min(start, *errors) * math.exp(-RATE * MISS)
    most = math.log(start / smallest) / RATE
    assert found.misses >= MISS * found.samples - most - 1e-9


@pytest.mark.parametrize(
    "adversary",
    [
        lambda q, _: 1.01 * q if q < 50 else 0.01,  # just outside, until it may not be
        lambda q, _: 0.99 * q if q > 0.02 else 50.0,  # just inside, until it may not be
        lambda _, n: 50.0 if n % 1000 < 500 else 0.01,  # quiet and loud in turn
        lambda _, n: 0.01 * 1.0016**n,  # ever larger
        lambda _, n: 50.0 * (n % 10 == 0),  # one of ten is beyond, the others are 0
    ],
)  # fmt: skip
def test_coverage_tends_to_what_was_agreed_against_an_adversary(
    adversary: Callable[[float, int], float],
) -> None:
    """Errors between 0.01 and 60, chosen in view of the interval; 5,000 of them."""
    found = Interval(1.0)
    for n in range(5_000):
        found = found.after(adversary(found.half_width, n))
    assert found.coverage == pytest.approx(1 - MISS, abs=0.01)


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.floats(-10, 10), st.floats(-10, 10)),
        min_size=1,
        max_size=60,
    ),
    st.tuples(st.floats(0.1, 10.0), st.floats(0.1, 10.0)),
)
def test_both_forms_are_the_same(
    samples: list[tuple[int, float, float]], starts: tuple[float, float]
) -> None:
    """Sample by sample on each device, and all at once; each learner has a start of its own."""
    device = np.array([k for k, *_ in samples], dtype=np.int64)
    errors = np.array([e for _, *e in samples]).reshape(-1, 2).T
    found = half_widths(errors, device, np.array(starts))
    assert found.shape == errors.shape
    np.testing.assert_array_equal(half_widths(errors, device, starts[0])[0], found[0])
    for learner, widths, start in zip(errors, found, starts, strict=True):
        kept = {k: Interval(start) for k in range(4)}
        for k, error, width in zip(device.tolist(), learner.tolist(), widths, strict=True):
            assert kept[k].half_width == pytest.approx(width, rel=1e-12)
            kept[k] = kept[k].after(error)


def test_what_is_no_number_is_missed_in_both_forms() -> None:
    errors = np.array([0.5, math.nan, 0.5, math.nan, 0.5])
    widths = half_widths(errors, np.zeros(5, dtype=np.int64), 1.0)
    assert widths.tolist() == [followed([*errors[:n]], 1.0).half_width for n in range(5)]


def test_the_share_of_misses_follows_from_the_width() -> None:
    found = followed(np.random.default_rng(0).normal(size=500).tolist(), 1.0)
    excess = math.log(found.half_width / found.start) / (RATE * found.samples)
    assert 1 - found.coverage == pytest.approx(MISS + excess)


@given(st.integers(2, 200), st.integers(0, 99))
def test_the_first_covers_the_past_as_agreed(count: int, seed: int) -> None:
    errors = np.random.default_rng(seed).normal(size=count)
    missed = np.mean(abs(errors) > first_half_width(errors))
    assert MISS - 1 / count < missed <= MISS + 1 / count


def test_without_an_error_to_go_by_the_first_is_one_wide() -> None:
    assert first_half_width(np.zeros(5)) == first_half_width(np.zeros(0)) == 1.0


@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 99))
def test_a_width_is_known_before_its_error(count: int, cut: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    device, (one, two) = rng.integers(0, 3, size=count), rng.normal(size=(2, 1, count))
    two[:, :cut] = one[:, :cut]
    upto = cut + 1  # that of the first other error is known, too
    np.testing.assert_array_equal(
        half_widths(one, device, 1.0)[:, :upto], half_widths(two, device, 1.0)[:, :upto]
    )
