"""Gains over the life of a device, on records made by hand."""

import numpy as np
import pytest

from paofed.core.arrays import FloatArray
from paofed.report.run.lives import OverAlone, Stage, extremes, groups, stages, stops_paying
from paofed.simulate.results.estimates import Estimate, pooled_gain
from paofed.simulate.results.lives import Lives


def lives(joined: FloatArray, alone: FloatArray | None) -> Lives:
    """Squared errors by device and stage, one sample of each; one run."""
    devices, count = joined.shape
    learners = [("u1", "device")] + ([] if alone is None else [("alone", "baseline")])
    squared = np.stack([joined] if alone is None else [joined, alone]).reshape(len(learners), -1)
    return Lives(
        learners=np.array(learners),
        device=np.repeat(np.arange(devices), count),
        stage=np.tile(np.arange(count), devices),
        samples=np.ones(devices * count, dtype=np.int64),
        group=np.array(["odd" if k % 2 else "even" for k in range(devices)]),
        target=np.zeros((2, devices * count)),
        sums=np.stack([squared] * 5, axis=1)[None],
    )


def gains(*lows: float) -> list[Stage]:
    """Stages whose gains have these lower ends; all reach up to 9."""
    return [
        Stage(1 << b, (2 << b) - 1, OverAlone("alone", 2, 2, Estimate((low + 9) / 2, low, 9.0, 2)))
        for b, low in enumerate(lows)
    ]


def test_a_gain_is_that_of_pooled_errors_and_paired_over_devices() -> None:
    """Devices differ a hundredfold, and each gains 10 dB: the gain is certain."""
    alone = np.array([[1.0, 2.0], [100.0, 50.0], [10.0, 5.0]])
    first, second = stages(lives(alone / 10, alone), "u1")
    assert (first.first, first.last, second.first, second.last) == (1, 1, 2, 3)
    assert second.over[:3] == ("alone", 3, 3)
    assert second.gain.runs == 3
    for stage in (first, second):
        assert stage.gain[:3] == pytest.approx((10.0, 10.0, 10.0))
        assert stage.pays


def test_the_interval_covers_what_it_should() -> None:
    """300 fleets of 40 devices with a gain of 3 dB: 95 % intervals.

    At a true 95 %, fewer than 265 of 300 would be seen in less than one of a million times; the
    approximation to first order is a little worse.
    """
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(300):
        alone = rng.gamma(4.0, size=40)
        joined = alone * 10**-0.3 * rng.gamma(16.0, size=40) / 16.0
        found = pooled_gain(alone, joined)
        covered += found.low <= 3.0 <= found.high
    assert covered >= 265


def test_without_the_baseline_there_is_no_gain() -> None:
    (only,) = stages(lives(np.ones((2, 1)), None), "u1")
    assert np.isnan(only.gain.mean)
    assert not only.pays
    assert only.over.rival == ""


@pytest.mark.parametrize(
    ("lows", "stop"),
    [
        ((1.0, 2.0, 1.0), None),
        ((1.0, 2.0, -1.0, 0.0), 4),
        ((-1.0, 2.0, -1.0), 4),
        ((-1.0, 2.0, -1.0, 3.0, -1.0), 16),
        ((-1.0, 2.0), None),
        ((1.0, np.nan), None),
        ((1.0, np.nan, -1.0), 4),
        ((-1.0, 0.0), 1),
    ],
)
def test_where_it_stops_paying(lows: tuple[float, ...], stop: int | None) -> None:
    assert stops_paying(gains(*lows)) == stop


def test_where_it_gains_most_and_what_in_the_end() -> None:
    said = extremes(gains(1.0, 3.0, 2.0, np.nan), "u1")
    assert "(u1), taking part gains most at reading 2 to 3, 6.00 [3.00, 9.00] dB over" in said
    assert said.endswith("at the last ones, 4 to 7, 5.50 [2.00, 9.00] dB over alone.")
    short = extremes(gains(1.0, 3.0), "u1")
    assert short.endswith("gains most at reading 2 to 3, 6.00 [3.00, 9.00] dB over alone.")


def test_groups_pool_their_devices() -> None:
    """Devices 0 and 2 gain 10 dB, device 1 loses 3; two stages of one sample each."""
    alone = np.array([[1.0, 2.0], [8.0, 8.0], [10.0, 5.0]])
    even, odd = groups(lives(alone * [[0.1], [2.0], [0.1]], alone), "u1", "device")
    assert (even.name, *even.over[:3]) == ("even", "alone", 2, 4)
    assert (odd.name, *odd.over[:3]) == ("odd", "alone", 1, 2)
    assert even.db == pytest.approx(10 * np.log10(1.8 / 4))
    assert even.own.rmse == pytest.approx(np.sqrt(1.8 / 4))
    assert even.over.gain[:3] == pytest.approx((10.0, 10.0, 10.0))
    assert odd.over.gain.mean == pytest.approx(-10 * np.log10(2))
    assert np.isnan(odd.over.gain.low)
    (only, *_) = groups(lives(alone, None), "u1", "device")
    assert np.isnan(only.over.gain.mean)


def test_a_gain_too_small_to_matter_does_not_pay() -> None:
    tiny, wider = Estimate(0.02, 0.01, 0.03, 9), Estimate(0.2, 0.01, 0.39, 9)
    assert not Stage(1, 1, OverAlone("alone", 9, 9, tiny)).pays
    assert Stage(1, 1, OverAlone("alone", 9, 9, wider)).pays
