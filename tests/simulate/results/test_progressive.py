import numpy as np
import pytest

from paofed.errors import InputError
from paofed.simulate.results.progressive import ColdStart, Progressive


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
