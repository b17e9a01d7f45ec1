"""Forecasts that wait for their labels."""

import numpy as np
import pytest

from paofed.core import forecasts, weighing
from paofed.core.arrays import FloatArray
from paofed.core.forecasts import WAITING, judge, keep

Z = np.random.default_rng(0).normal(size=(3 * WAITING, 6))


def kept(count: int) -> FloatArray:
    """Forecasts of so many samples: the first forecaster always says 0, the second counts."""
    waiting = forecasts.begin(2)
    for i in range(count):
        keep(waiting, Z[i], np.array([0.0, float(i)]))
    return waiting


def record_of(waiting: FloatArray, sample: int, y: float) -> FloatArray:
    record = weighing.begin(2)
    judge(waiting, record, Z[sample], y)
    return record


@pytest.mark.parametrize("late", [0, 1, 7, WAITING - 1])
@pytest.mark.parametrize("samples", [WAITING, WAITING + 5, 3 * WAITING])
def test_a_late_label_judges_what_was_predicted_then(samples: int, late: int) -> None:
    then = samples - 1 - late
    expected = weighing.scored(weighing.begin(2), np.array([9.0, (3.0 - then) ** 2]))
    np.testing.assert_array_equal(record_of(kept(samples), then, 3.0), expected)


@pytest.mark.parametrize(("samples", "sample"), [(WAITING + 1, 0), (10, 11), (0, 0)])
def test_nobody_is_judged_by_a_forecast_that_is_not_kept(samples: int, sample: int) -> None:
    record = record_of(kept(samples), sample, 3.0)
    np.testing.assert_array_equal(record, weighing.begin(2))


def test_of_two_samples_that_look_alike_the_newer_counts() -> None:
    waiting = kept(5)
    keep(waiting, Z[1], np.array([0.0, 3.0]))
    record = record_of(waiting, 1, 3.0)
    expected = weighing.scored(weighing.begin(2), np.array([9.0, 0.0]))
    np.testing.assert_array_equal(record, expected)
