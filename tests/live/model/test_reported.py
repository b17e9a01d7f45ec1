"""Intervals by what devices report."""

import math

import numpy as np
import pytest

from paofed.live.model.reported import NONE_REPORTED, ReportedInterval
from paofed.live.protocol.level import IMPLAUSIBLE, UNKNOWN
from tests.live.model.models import levels


def test_where_nobody_reports_there_is_none() -> None:
    assert ReportedInterval.of(NONE_REPORTED) is None
    assert ReportedInterval.of(levels(UNKNOWN, IMPLAUSIBLE, IMPLAUSIBLE)) is None


@pytest.mark.parametrize(("level", "size"), [(128, 1.0), (128 - 16, 10**-0.6), (254, 10**4.725)])
@pytest.mark.parametrize("devices", [1, 7])
def test_devices_that_agree_are_as_one(level: int, size: float, devices: int) -> None:
    found = ReportedInterval.of(levels(*[level] * devices, UNKNOWN))
    assert found is not None
    assert (found.coverage, found.devices) == (0.9, devices)
    assert found.half_width == pytest.approx(1.6448536269514722 * size, rel=1e-9)


def test_nine_of_ten_errors_of_devices_that_differ_are_inside() -> None:
    """The errors are normal; the share is off by more than 0.01 once in 10^10 tries or less."""
    said = [100, 112, 118, 128, 128]
    found = ReportedInterval.of(levels(*said))
    assert found is not None
    random = np.random.default_rng(0)
    sizes = 10 ** ((random.choice(said, 100_000) - 128) * 0.75 / 20)
    inside = np.abs(sizes * random.normal(size=sizes.size)) <= found.half_width
    assert inside.mean() == pytest.approx(0.9, abs=0.01)


def test_one_that_is_far_worse_does_not_widen_it_without_end() -> None:
    alone = ReportedInterval.of(levels(*[110] * 30))
    beside = ReportedInterval.of(levels(*[110] * 30, 254))
    assert alone is not None
    assert beside is not None
    assert alone.half_width < beside.half_width < 1.5 * alone.half_width
    assert math.isfinite(beside.half_width)
