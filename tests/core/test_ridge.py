"""The ridge that a past asks for; how it is chosen is held against a plain loop over tables
(tests/simulate/table/test_baselines.py).
"""

import numpy as np
import pytest

from paofed.core import ridge as module
from paofed.core.arrays import FloatArray
from paofed.core.ridge import Ridge


def drawn(count: int, features: int, noise: float = 0.0) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(count, features))
    return z, z @ rng.normal(size=features) + noise * rng.normal(size=count)


def test_a_fit_to_few_samples_is_held_down() -> None:
    """As many features as samples: without a ridge, noise in the target becomes large errors."""
    z = drawn(120, 40)[0]
    y = np.random.default_rng(1).normal(size=120)
    plain = y[40:] - z[40:] @ np.linalg.solve(z[:40], y[:40])
    held = y[40:] - z[40:] @ Ridge.over(np.asarray, z[:40], y[:40]).model
    assert np.mean(plain**2) > 3.0
    assert np.mean(held**2) < 1.2 * np.mean(y[40:] ** 2)


def test_the_model_is_that_of_least_squares_with_its_ridge() -> None:
    z, y = drawn(90, 5, noise=1.0)
    made = Ridge.over(np.asarray, z, y)
    held = z.T @ z + made.ridge * np.diag((z**2).sum(axis=0))
    np.testing.assert_allclose(made.model, np.linalg.solve(held, z.T @ y), rtol=1e-9)


def test_without_samples_the_model_is_zero() -> None:
    np.testing.assert_array_equal(Ridge(3).model, np.zeros(3))


def test_what_comes_last_chooses_no_ridge_for_itself() -> None:
    """The last part is predicted, never fitted, when ridges are compared."""
    z, y = drawn(100, 20, noise=0.3)
    made = Ridge(20)
    made.add(z[:60], y[:60])
    made.add(z[60:], y[60:])
    tried = {r: np.linalg.solve(_held(z[:60], r), z[:60].T @ y[:60]) for r in _ridges()}
    missed = {r: float(((y[60:] - z[60:] @ w) ** 2).sum()) for r, w in tried.items()}
    assert made.ridge == min(missed, key=lambda r: missed[r])


def test_a_past_is_foretold_part_by_part() -> None:
    """But for the first of ten: by a fit with the chosen ridge to all that came before."""
    z, y = drawn(97, 8, noise=0.5)
    made = Ridge.over(np.asarray, z, y)
    expected = [
        y[b : b + 10] - z[b : b + 10] @ np.linalg.solve(_held(z[:b], made.ridge), z[:b].T @ y[:b])
        for b in range(10, 97, 10)
    ]
    np.testing.assert_allclose(made.foretold, np.concatenate(expected), rtol=1e-9, atol=1e-12)
    assert Ridge.over(np.asarray, z[:1], y[:1]).foretold.size == Ridge(8).foretold.size == 0


def test_a_past_too_large_to_hold_is_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    z, y = drawn(50, 4, noise=0.5)
    monkeypatch.setattr(module, "_MOST", 8)
    sizes: list[int] = []

    def basis(x: FloatArray) -> FloatArray:
        sizes.append(len(x))
        return x

    Ridge.over(basis, z, y)
    assert (max(sizes), sum(sizes)) == (2, 51)  # and one row, for the number of features


def _ridges() -> list[float]:
    return [10.0**power for power in range(1, -7, -1)]


def _held(z: FloatArray, ridge: float) -> FloatArray:
    held: FloatArray = z.T @ z + ridge * np.diag((z**2).sum(axis=0))
    return held
