"""Forecasts that wait for their labels."""

import numpy as np
import pytest

from paofed.core import forecasts, weighing
from paofed.core.arrays import FloatArray
from paofed.core.forecasts import ROWS, WAITING, judge, keep

Z = np.random.default_rng(0).normal(size=(400, 6))


def kept(count: int) -> FloatArray:
    """Forecasts of so many samples: the first forecaster always says 0, the second counts."""
    waiting = forecasts.begin(2)
    for i in range(count):
        keep(waiting, Z[i], np.array([0.0, float(i)]))
    return waiting


def judged(waiting: FloatArray, z: FloatArray, y: float) -> FloatArray:
    record = weighing.begin(2)
    judge(waiting, record, z, y)
    return record


def record_of(waiting: FloatArray, sample: int, y: float) -> FloatArray:
    return judged(waiting, Z[sample], y)


@pytest.mark.parametrize("late", [0, 1, 7, WAITING - 1])
@pytest.mark.parametrize("samples", [WAITING, WAITING + 5, 3 * WAITING])
def test_a_late_label_judges_what_was_predicted_then(samples: int, late: int) -> None:
    then = samples - 1 - late
    expected = weighing.scored(weighing.begin(2), np.array([9.0, (3.0 - then) ** 2]))
    np.testing.assert_array_equal(record_of(kept(samples), then, 3.0), expected)


def test_of_older_forecasts_fewer_are_kept_but_always_some() -> None:
    """As a plain list would keep them: none of the newest left out, then twice as many each time.

    The second forecaster's words are the numbers of the samples.
    """
    samples, expected, apart, end = 3000, set[int](), 1, 3000
    while end > 0:
        begin = end - (WAITING if apart == 1 else 8 * apart)
        expected |= {n for n in range(max(begin, 0), end) if n % apart == 0}
        begin, end, apart = 0, begin, 2 * apart
    waiting = forecasts.begin(2)
    for n in range(samples):
        keep(waiting, np.array([float(n), 0.0]), np.array([0.0, float(n)]))
    found = {
        n
        for n in range(samples)
        if not np.array_equal(judged(waiting, np.array([float(n), 0.0]), 3.0), weighing.begin(2))
    }
    assert found == expected
    assert {int(n) for n in waiting[:ROWS, 3] if not np.isnan(n)} == expected


def test_a_forecast_of_a_week_ago_is_one_of_eight() -> None:
    for week in range(168, 400):
        waiting = kept(week)
        judged_now = [n for n in range(week - 168, week - 160) if n in waiting[:ROWS, 3]]
        assert len(judged_now) == 1


@pytest.mark.parametrize(("samples", "sample"), [(WAITING + 2, 1), (10, 11), (0, 0)])
def test_nobody_is_judged_by_a_forecast_that_is_not_kept(samples: int, sample: int) -> None:
    record = record_of(kept(samples), sample, 3.0)
    np.testing.assert_array_equal(record, weighing.begin(2))


def test_of_two_samples_that_look_alike_the_newer_counts() -> None:
    waiting = kept(5)
    keep(waiting, Z[1], np.array([0.0, 3.0]))
    record = record_of(waiting, 1, 3.0)
    expected = weighing.scored(weighing.begin(2), np.array([9.0, 0.0]))
    np.testing.assert_array_equal(record, expected)
