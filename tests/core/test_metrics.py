import numpy as np
import pytest

from paofed.core.metrics import decibels, mean_squared_error


def test_mean_squared_error() -> None:
    z = np.array([[1.0, 0.0], [0.0, 2.0]])
    assert mean_squared_error(np.array([1.0, 1.0]), z, np.array([2.0, 0.0])) == pytest.approx(2.5)


def test_decibels() -> None:
    np.testing.assert_allclose(decibels(np.array([1.0, 0.1, 100.0])), [0.0, -10.0, 20.0])
    assert decibels(0.0) == -np.inf
