import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.arrays import BoolArray
from paofed.errors import InputError
from paofed.simulate.results.progressive import ColdStart, Places, Progressive
from paofed.simulate.results.result import curve_ticks


def places(has_data: BoolArray, scored: int = 0) -> Places:
    """The samples that are there, on a grid of ticks and devices."""
    tick, device = np.nonzero(has_data)
    return Places(tick, device, has_data.shape[1], scored)


@given(st.integers(1, 60), st.integers(1, 20), st.data())
def test_a_tally_counts_every_sample_once(ticks: int, every: int, data: st.DataObject) -> None:
    scored = data.draw(st.integers(0, ticks - 1))
    values = np.random.default_rng(ticks).normal(size=(ticks, 3)) ** 2
    there = np.random.default_rng(every).random((ticks, 3)) < 0.6
    found = places(there, scored).tally(values[there], curve_ticks(ticks, every))
    values[~there] = 0.0
    assert found.over_time.sum() == pytest.approx(values.sum())
    assert found.by_device == pytest.approx(values[scored:].sum(axis=0))
    assert found.over_time[0] == pytest.approx(values[:every].sum())


def test_an_error_that_is_no_number_is_not_left_out() -> None:
    there = np.array([[True, True], [True, False], [True, True]])
    values = np.array([1.0, 2.0, np.inf, np.nan, 4.0])
    found = places(there).tally(values, np.array([0, 1, 2]))
    np.testing.assert_array_equal(found.over_time, [3, np.inf, np.nan])
    np.testing.assert_array_equal(found.by_device, [np.nan, 6])


def progressive() -> Progressive:
    return Progressive(
        learners=np.array([("a", "device"), ("a", "server"), ("b", "baseline")]),
        devices=np.array(["x", "y", "z"]),
        errors=np.array(
            [[[1.0, 2, 0], [10, 20, 0], [5, 5, 0]], [[3, 2, 0], [10, 20, 0], [5, 5, 0]]]
        ),
        samples=np.array([10, 20, 0]),
        device_errors=np.array(
            [[[1.0, 2, 0], [10, 20, 0], [5, 5, 0]], [[3, 2, 0], [10, 20, 0], [5, 5, 0]]]
        ),
        device_samples=np.array([10, 20, 0]),
    )


def test_errors_are_pooled_over_samples() -> None:
    found = progressive()
    assert found.run_finals("a", "device") == pytest.approx([3 / 30, 5 / 30])
    assert found.final("a", "server").db == 0
    assert found.final("a", "server").standard_error == 0
    assert found.final("a", "device").db == pytest.approx(10 * np.log10(4 / 30))


def test_over_time_and_by_device() -> None:
    found = progressive()
    for curve in (found.curve_db("a", "device"), found.by_device_db("a", "device")):
        assert curve[:2] == pytest.approx([10 * np.log10(0.2), -10])
        assert np.isnan(curve[2])


def test_the_error_until_then_is_of_all_samples_before() -> None:
    found = progressive()
    until = 10 ** (found.until_db("a", "device") / 10)
    assert until == pytest.approx([2 / 10, 4 / 30, 4 / 30])  # none came after the second point
    assert found.until_db("a", "device")[-1] == found.final("a", "device").db


def test_an_unknown_learner() -> None:
    with pytest.raises(InputError, match=r"unknown learner 'b \(server\)'.*a \(server\)"):
        progressive().final("b", "server")


def test_baselines_are_told_from_algorithms() -> None:
    assert progressive().baselines == ["b"]


def test_an_interval_without_samples_has_no_error() -> None:
    has_data = np.array([[True, True], [False, True], [False, False]])
    found = places(has_data).per_sample(np.array([[2.0, 3.0, 0.0]]), np.array([0, 1, 2]))
    np.testing.assert_array_equal(found, [[1, 3, np.nan]])


def test_newcomers_are_pooled_by_start() -> None:
    samples = np.array([[[1, 2], [3, 4]], [[1, 1], [0, 1]]])  # (S, K, H)
    found = ColdStart(
        algorithms=np.array(["a"]),
        devices=np.array([0, 1]),
        starts=np.array([0, 5]),
        horizons=np.array([1, 2]),
        errors=np.stack([np.stack([samples, 10 * samples])])[None] * 1.0,
        alone=100.0 * samples[None],
        last_value=samples * 1.0,
        samples=samples,
    )
    assert found.joined_db("a", "whole") == pytest.approx(np.zeros((2, 2)))
    assert found.joined_db("a", "windows") == pytest.approx(np.full((2, 2), 10.0))
    assert found.by_start_db(found.alone) == pytest.approx(np.full((2, 2), 20.0))
    assert found.by_start_db(found.last_value).shape == (2, 2)
