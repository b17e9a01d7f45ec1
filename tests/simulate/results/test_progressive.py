import numpy as np
import pytest

from paofed.simulate.results.progressive import Progressive


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
