"""Sums over samples, held against sums that are taken one sample at a time."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.arrays import BoolArray, FloatArray
from paofed.core.columns.numbers import Number
from paofed.core.intervals import Interval
from paofed.core.metrics import curve_ticks
from paofed.simulate.results.lives import Lives
from paofed.simulate.results.places import Places, Sums

UNIT = Number("y", 2.0, 3.0, logarithm=True)


def places(has_data: BoolArray, scored: int = 0) -> Places:
    """The samples that are there, on a grid of ticks and devices."""
    tick, device = np.nonzero(has_data)
    y = np.random.default_rng(tick.size).normal(size=tick.size)
    return Places(tick, device, scored, y, UNIT.measured)


def grid(ticks: int, seed: int) -> tuple[Places, FloatArray]:
    """Some samples of three devices, and errors of two learners."""
    rng = np.random.default_rng(seed)
    there = rng.random((ticks, 3)) < 0.6
    there[-1] = True
    found = places(there, scored=int(rng.integers(0, ticks)))
    return found, rng.normal(size=(2, found.tick.size))


def lives_of(found: Places, errors: FloatArray) -> Lives:
    """One run of learners a and b."""
    sums = found.judged(errors, np.array([found.tick.max()])).cells
    learners = np.array([("a", "device"), ("b", "baseline")])
    group = np.array(["a", "b", "a"])
    return Lives(learners=learners, sums=sums[None], group=group, **found.cells._asdict())


@given(st.integers(1, 60), st.integers(1, 20), st.integers(0, 99))
def test_every_sample_is_summed_once(ticks: int, every: int, seed: int) -> None:
    found, errors = grid(ticks, seed)
    points = curve_ticks(ticks, every)
    judged = found.judged(errors, points)
    assert judged.over_time.shape == (2, points.size)
    assert judged.over_time.sum(axis=-1) == pytest.approx((errors**2).sum(axis=-1))
    first = found.tick < every
    assert judged.over_time[:, 0] == pytest.approx((errors[:, first] ** 2).sum(axis=-1))
    counts = found.tick >= found.scored
    own = UNIT.measured(found.y) - UNIT.measured(found.y - errors)
    for sums, values in zip(
        Sums(*np.moveaxis(judged.cells, 1, 0))[:3], (errors**2, own**2, abs(own)), strict=True
    ):
        assert sums.sum(axis=-1) == pytest.approx(values[:, counts].sum(axis=-1))


@given(st.integers(1, 60), st.integers(0, 99))
def test_cells_go_by_device_and_readings_until_then(ticks: int, seed: int) -> None:
    found, errors = grid(ticks, seed)
    had: dict[int, int] = defaultdict(int)
    expected: dict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for tick, device, error in zip(found.tick, found.device, errors[0], strict=True):
        had[device] += 1
        if tick >= found.scored:
            cell = expected[int(device), had[device].bit_length() - 1]
            cell[0] += 1
            cell[1] += error**2
    cells = found.cells
    assert list(zip(cells.device.tolist(), cells.stage.tolist(), strict=True)) == sorted(expected)
    sums = lives_of(found, errors).mean_sums("a", "device").squared
    told = np.stack([cells.samples, sums], axis=1)
    np.testing.assert_allclose(told, [expected[key] for key in sorted(expected)])


@given(st.integers(2, 60), st.integers(0, 99))
def test_errors_in_the_own_unit(ticks: int, seed: int) -> None:
    found, errors = grid(ticks, seed)
    lives, counts = lives_of(found, errors), found.tick >= found.scored
    truth, device = UNIT.measured(found.y)[counts], found.device[counts]
    missed = truth - UNIT.measured(found.y - errors[1])[counts]
    rmse, mae, r2, *_ = lives.own_unit("b", "baseline")
    assert rmse == pytest.approx(np.sqrt(np.mean(missed**2)))
    assert mae == pytest.approx(np.mean(abs(missed)))
    assert r2 == pytest.approx(1 - np.mean(missed**2) / truth.var())
    by_device = lives.own_unit_by("b", "baseline", lives.device, 3)
    for k in np.unique(device):
        own = device == k
        assert by_device.rmse[k] == pytest.approx(np.sqrt(np.mean(missed[own] ** 2)))
        if own.sum() > 1:
            spread = truth[own].var()
            expected = 1 - np.mean(missed[own] ** 2) / spread
            # Sums are of differences to all devices' mean, which may be far from this device's.
            lost = np.finfo(float).eps * np.mean((truth[own] - truth.mean()) ** 2) / spread
            assert by_device.r2[k] == pytest.approx(expected, rel=1e-6 + 4 * lost)
        else:  # one sample has no variance but for rounding
            assert not by_device.r2[k] > 0


@given(st.integers(1, 60), st.integers(0, 99))
def test_intervals_are_those_of_a_device(ticks: int, seed: int) -> None:
    found, errors = grid(ticks, seed)
    kept, covered, widths = [Interval(0.7)] * 3, [], []
    found = replace(found, half_width=np.array([0.7, 3.0]))  # of each learner
    for tick, k, y, e in zip(found.tick, found.device, found.y, errors[0], strict=True):
        half = kept[k].half_width
        if tick >= found.scored:
            covered.append(abs(e) <= half)
            widths.append(np.diff(UNIT.measured(y - e + np.array([-half, half])))[0])
        kept[k] = kept[k].after(e)
    told = lives_of(found, errors).own_unit("a", "device")
    assert told.coverage == pytest.approx(np.mean(covered))
    assert told.width == pytest.approx(np.mean(widths))


def test_errors_of_many_learners_are_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    found, errors = grid(40, 1)
    whole = found.judged(errors, np.array([20, 39]))
    monkeypatch.setattr("paofed.simulate.results.places._MOST", 1)
    for part, same in zip(found.judged(errors, np.array([20, 39])), whole, strict=True):
        np.testing.assert_array_equal(part, same)
    assert found.judged(errors[:0], np.array([39])).cells.shape[0] == 0


def test_errors_by_group_are_those_of_its_devices() -> None:
    found, errors = grid(30, 3)
    lives, counts = lives_of(found, errors), found.tick >= found.scored
    names, by = lives.groups
    assert names == ["a", "b"]
    in_b = counts & (found.device == 1)
    expected = [np.mean(errors[0, some] ** 2) for some in (counts & ~in_b, in_b)]
    assert lives.db_by("a", "device", by, 2) == pytest.approx(10 * np.log10(expected))


def test_errors_at_every_stage() -> None:
    """Three devices with a reading at each of four ticks, whose errors grow."""
    found = places(np.ones((4, 3), dtype=bool))
    errors = np.repeat([1.0, 2.0, 2.0, 10.0], 3)
    lives = lives_of(found, np.stack([errors, errors]))
    assert lives.stages == 3
    assert lives.stage_db("a", "device") == pytest.approx(10 * np.log10([1, 4, 100]))


def test_an_interval_without_samples_has_no_error() -> None:
    has_data = np.array([[True, True], [False, True], [False, False]])
    found = places(has_data).per_sample(np.array([[2.0, 3.0, 0.0]]), np.array([0, 1, 2]))
    np.testing.assert_array_equal(found, [[1, 3, np.nan]])
