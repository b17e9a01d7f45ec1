"""What learning together gains, over lives, by group and for newcomers, on records made by hand."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from paofed.core.arrays import FloatArray
from paofed.core.metrics import curve_ticks
from paofed.report.run.gains import (
    OverAlone,
    Stage,
    extremes,
    gain,
    groups,
    horizons,
    newcomers,
    periods,
    stages,
    stops_paying,
)
from paofed.simulate.results.estimates import Estimate, estimate, pooled_gain
from paofed.simulate.results.lives import Lives
from paofed.simulate.results.progressive import ColdStart, Progressive
from paofed.simulate.results.world_result import WorldResult


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


def stages_of(*lows: float) -> list[Stage]:
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
    assert stops_paying(stages_of(*lows)) == stop


def test_where_it_gains_most_and_what_in_the_end() -> None:
    said = extremes(stages_of(1.0, 3.0, 2.0, np.nan), "u1")
    assert "(u1), taking part gains most at reading 2 to 3, 6.00 [3.00, 9.00] dB over" in said
    assert said.endswith("at the last ones, 4 to 7, 5.50 [2.00, 9.00] dB over alone.")
    short = extremes(stages_of(1.0, 3.0), "u1")
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


HOUR, DAY = 3600.0, 86_400.0
BEGIN = datetime(2024, 5, 1, tzinfo=UTC)


def result(ticks: int = 100, every: int = 1, **about: Any) -> WorldResult:
    """A result that knows when it was, and nothing else."""
    known = {"calendar": True, "begin": BEGIN.timestamp(), "tick": HOUR}
    nothing: Any = np.zeros(0)
    return WorldResult(
        provenance={"table": {**known, **about}},
        ticks=curve_ticks(ticks, every),
        mse=nothing,
        traffic=nothing,
        models=nothing,
    )


def progressive(device: list[list[float]], alone: list[list[float]], points: int) -> Progressive:
    """Errors by run and device, one sample of each device; an error of 1 at every point."""
    device_errors = np.stack([np.array(device), np.array(alone)], axis=1)
    runs, learners, devices = device_errors.shape
    return Progressive(
        learners=np.array([("u1", "device"), ("alone", "baseline")]),
        devices=np.array([f"d{k}" for k in range(devices)]),
        errors=np.ones((runs, learners, points)),
        samples=np.ones(points, dtype=np.int64),
        device_errors=device_errors,
        device_samples=np.ones(devices, dtype=np.int64),
    )


def cold_start(joined: list[float], alone: list[float], samples: list[int]) -> ColdStart:
    """One device, one horizon of 24 ticks, one run; `joined` with the whole model, by start."""
    whole = np.array(joined).reshape(1, 1, 1, -1, 1, 1)
    return ColdStart(
        algorithms=np.array(["u1"]),
        devices=np.arange(1),
        starts=24 * np.arange(len(joined)),
        horizons=np.array([24]),
        errors=np.concatenate([whole, np.ones_like(whole), np.ones_like(whole)], axis=2),
        alone=np.array(alone).reshape(1, -1, 1, 1),
        last_value=np.array(alone).reshape(-1, 1, 1),
        samples=np.array(samples).reshape(-1, 1, 1),
    )


def test_a_gain_is_that_of_every_run() -> None:
    found = gain(progressive([[0.1, 0.1], [0.01, 0.01]], [[1.0, 1.0]] * 2, 1), "u1", "device",
                 "alone")  # fmt: skip
    assert found == pytest.approx(estimate(np.array([10.0, 20.0])))
    assert found.runs == 2


@pytest.mark.parametrize("wrong", [np.inf, np.nan])
def test_where_both_diverged_there_is_no_gain(wrong: float) -> None:
    found = gain(progressive([[wrong], [0.1]], [[wrong], [1.0]], 1), "u1", "device", "alone")
    assert np.isnan(found.mean)


def test_newcomers_are_pooled_over_starts() -> None:
    """Errors first, then dB: 1.1 in 2 samples, against 20 in 2."""
    whole, windows, old = newcomers(cold_start([1.0, 0.1], [10.0, 10.0], [1, 1]))
    assert (whole.name, whole.way, windows.way, old.way) == ("u1", "whole", "windows", "old")
    assert whole.errors == pytest.approx((10 * np.log10(0.55),))
    assert whole.gains[0].mean == pytest.approx(10 * np.log10(20 / 1.1))
    assert windows.gains[0].mean == pytest.approx(10.0)
    # A start that is predicted without any error was -inf dB, and so was the mean.
    (still, *_) = newcomers(cold_start([1.0, 0.0], [2.0, 2.0], [1, 1]))
    assert still.errors == pytest.approx((10 * np.log10(0.5),))
    assert still.gains[0].mean == pytest.approx(10 * np.log10(4.0))
    assert np.isfinite(still.gains[0].low)


def test_the_order_of_newcomers_is_that_of_their_errors() -> None:
    """One day that is easy to predict does not outweigh one on which everything goes wrong."""
    easy = next(newcomers(cold_start([100.0, 0.001], [10.0, 10.0], [1, 1])))
    sound = next(newcomers(cold_start([5.0, 5.0], [10.0, 10.0], [1, 1])))
    assert easy.errors[0] > sound.errors[0]
    assert easy.gains[0].mean < 0 < sound.gains[0].mean


def test_the_interval_is_that_of_the_ratio_of_pooled_errors() -> None:
    """Against the spread of the gain over many drawings of twelve starts."""
    rng = np.random.default_rng(0)

    def drawn() -> ColdStart:
        alone = rng.gamma(9.0, 1.0, size=12)
        joined = alone * rng.gamma(16.0, 0.5 / 16, size=12)
        return cold_start(joined.tolist(), alone.tolist(), [1] * 12)

    found = [next(newcomers(drawn())).gains[0] for _ in range(400)]
    true = 10 * np.log10(2.0)
    covered = np.mean([gain.low < true < gain.high for gain in found])
    assert 0.90 < covered < 0.98  # 400 times 95 %, give or take 1.1 %: it fails once in 10^4
    assert np.mean([gain.mean for gain in found]) == pytest.approx(true, abs=0.1)


def test_equal_shares_at_every_start_leave_no_doubt() -> None:
    whole = next(newcomers(cold_start([1.0, 3.0, 7.0], [2.0, 6.0, 14.0], [1, 2, 3]))).gains[0]
    assert whole == pytest.approx((10 * np.log10(2), 10 * np.log10(2), 10 * np.log10(2), 3))


def test_starts_that_overlap_do_not_count_as_several() -> None:
    cold = replace(cold_start([1.0, 3.0, 1.0, 3.0], [4.0] * 4, [1] * 4), starts=np.arange(4) * 8)
    whole = next(newcomers(cold)).gains[0]  # starts 0 to 24: two of them share no sample
    assert whole.mean == pytest.approx(10 * np.log10(2))
    pulls = 10 / np.log(10) * np.array([0.5, -0.5, 0.5, -0.5])
    half = 12.706 * pulls.std(ddof=1) / np.sqrt(2)
    assert (whole.low, whole.high) == pytest.approx((whole.mean - half, whole.mean + half))
    together = replace(cold, starts=np.arange(4))
    whole = next(newcomers(together)).gains[0]
    assert whole.mean == pytest.approx(10 * np.log10(2))
    assert np.isnan([whole.low, whole.high]).all()


def test_all_devices_and_samples_of_a_start_count_alike() -> None:
    pooled = ColdStart(
        algorithms=np.array(["u1"]),
        devices=np.arange(2),
        starts=np.array([0]),
        horizons=np.array([2]),
        errors=np.array([1.0, 3.0]).reshape(1, 1, 1, 1, 2, 1).repeat(3, axis=2),
        alone=np.zeros((1, 1, 2, 1)),
        last_value=np.zeros((1, 2, 1)),
        samples=np.array([1, 3]).reshape(1, 2, 1),
    )
    assert next(iter(newcomers(pooled))).errors == pytest.approx((0.0,))


def test_a_start_without_samples_does_not_count() -> None:
    whole = next(newcomers(cold_start([1.0, 0.0, 0.1], [10.0, 0.0, 10.0], [1, 0, 1])))
    assert whole.errors == pytest.approx((10 * np.log10(0.55),))
    plain = cold_start([1.0, 0.1], [10.0, 10.0], [1, 1])
    assert whole.gains == next(newcomers(replace(plain, starts=np.array([0, 48])))).gains


def test_without_any_samples_nothing_is_known() -> None:
    cold = cold_start([0.0, 0.0], [0.0, 0.0], [0, 0])
    whole = next(newcomers(cold))
    assert np.isnan([*whole.errors, whole.gains[0].mean]).all()
    assert np.isnan(cold.pooled_db(cold.alone)).all()


@pytest.mark.parametrize("wrong", [np.inf, np.nan])
def test_a_newcomer_that_diverged_is_not_left_out(wrong: float) -> None:
    whole = next(newcomers(cold_start([wrong, 0.1], [10.0, 10.0], [1, 1])))
    assert whole.errors == (np.inf,)
    assert whole.gains[0].mean == -np.inf
    both = next(newcomers(cold_start([wrong, 0.1], [wrong, 10.0], [1, 1])))
    assert both.errors == (np.inf,)
    assert np.isnan(both.gains[0].mean)  # there is no difference between them


@pytest.mark.parametrize(
    ("about", "ticks", "said"),
    [
        ({}, [24, 168, 720], ["day", "week", "30 days"]),
        ({"tick": 7 * HOUR}, [3, 24], ["21h", "week"]),
        ({"tick": 7 * DAY}, [1, 4], ["week", "4w"]),
        ({"calendar": False, "tick": 1.0}, [24, 168], ["24 ticks", "168 ticks"]),
    ],
)
def test_horizons_as_people_say_them(
    about: dict[str, Any], ticks: list[int], said: list[str]
) -> None:
    cold = cold_start([1.0], [1.0], [1])
    object.__setattr__(cold, "horizons", np.array(ticks))
    assert horizons(result(**about), cold) == said


def test_periods_are_whole_days() -> None:
    made = result(ticks=30 * 24)
    when, errors = periods(made, progressive([[1.0]], [[1.0]], 720), "u1", "device")
    assert len(when) == len(errors) == 30
    assert when[0] == datetime(2024, 5, 2, tzinfo=UTC)
    assert when[-1] == datetime(2024, 5, 31, tzinfo=UTC)
    np.testing.assert_allclose(errors, 0.0, atol=1e-12)


def test_there_are_about_fifty_periods_at_most() -> None:
    for days in (49, 50, 51, 99, 730):
        made = result(ticks=days * 24)
        when, _ = periods(made, progressive([[1.0]], [[1.0]], days * 24), "u1", "device")
        assert 25 <= len(when) <= 50
        assert all(one < two for one, two in pairwise(map(str, when)))
        assert when[-1] == datetime.fromtimestamp(BEGIN.timestamp() + days * DAY, UTC)


def test_periods_of_plain_numbers() -> None:
    made = result(ticks=100, calendar=False, begin=1000.0, tick=0.5)
    when, errors = periods(made, progressive([[1.0]], [[1.0]], 100), "u1", "device")
    assert len(errors) == 50
    assert (when[0], when[-1]) == (1001.0, 1050.0)


def test_a_time_shorter_than_a_period_is_one() -> None:
    made = result(ticks=5, every=10)
    when, errors = periods(made, progressive([[1.0]], [[1.0]], 1), "u1", "device")
    assert when == [datetime(2024, 5, 1, 5, tzinfo=UTC)]
    assert len(errors) == 1


def test_a_period_without_samples_is_a_gap() -> None:
    judged = progressive([[1.0]], [[1.0]], 48)
    judged.samples[:24] = 0
    judged.errors[:, :, :24] = 0.0
    _, errors = periods(result(ticks=48), judged, "u1", "device")
    np.testing.assert_allclose(errors, [np.nan, 0.0], atol=1e-12)
