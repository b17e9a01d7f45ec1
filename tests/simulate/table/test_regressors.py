"""Baselines over plain inputs, held against what they are by definition."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingRegressor

from paofed.algebra import one_thread_algebra
from paofed.core.arrays import FloatArray
from paofed.simulate.table.baselines import SampleBatch
from paofed.simulate.table.regressors import (
    FORGETTING,
    Boost,
    Forest,
    Forgetting,
    OnlineRegressor,
    adaptive_forest,
    boosting,
    mondrian,
)


def samples(count: int, devices: int, seed: int) -> SampleBatch:
    rng = np.random.default_rng(seed)
    return SampleBatch(
        rng.normal(size=(count, 3)),
        rng.normal(size=count),
        np.arange(count),
        rng.integers(0, devices, size=count),
    )


def some_of(part: SampleBatch, some: slice) -> SampleBatch:
    return SampleBatch(part.z[some], part.y[some], part.tick[some], part.device[some])


def weighted(z: FloatArray, y: FloatArray, factor: float) -> FloatArray:
    """The least weighted squares plus |w|^2, all at once."""
    weight: FloatArray = factor ** np.arange(len(y), dtype=np.float64)[::-1]
    gram = (z * weight[:, None]).T @ z + np.eye(z.shape[1])
    found: FloatArray = np.linalg.solve(gram, (z * weight[:, None]).T @ y).astype(np.float64)
    return found


@given(st.integers(1, 40), st.integers(1, 3), st.integers(0, 99), st.integers(0, 40))
def test_recursive_least_squares_are_weighted_least_squares(
    count: int, devices: int, seed: int, cut: int
) -> None:
    """Fitted anew before every sample, each factor; the one with the least misses predicts."""
    part, cut = samples(count, devices, seed), min(cut, count)
    learner = Forgetting(devices, 3)
    parts = [some_of(part, some) for some in (slice(cut), slice(cut, None))]
    found = np.concatenate([learner.follow(some) for some in parts if some.y.size])
    for k in range(devices):
        own = np.flatnonzero(part.device == k)
        misses = np.zeros(FORGETTING.size)
        for n, i in enumerate(own):
            z, y = part.z[own[:n]], part.y[own[:n]]
            e = np.array([part.y[i] - part.z[i] @ weighted(z, y, f) for f in FORGETTING])
            assert found[i] == pytest.approx(e[np.argmin(misses)])
            misses += e**2


def test_nothing_grows_while_a_device_measures_the_same() -> None:
    """Ten thousand equal readings: old ones are forgotten in all other directions."""
    learner = Forgetting(1, 3)
    learner.follow(samples(50, 1, 0))
    same = SampleBatch(
        np.tile([1.0, 2.0, 0.5], (10_000, 1)),
        np.ones(10_000),
        np.arange(10_000),
        np.zeros(10_000, dtype=np.int64),
    )
    errors = learner.follow(same)
    assert np.abs(errors[-1]) < 0.01
    assert np.abs(learner.models).max() < 1
    surprise = SampleBatch(
        np.array([[-2.0, 1.0, 0.0]]), np.ones(1), np.zeros(1, int), np.zeros(1, int)
    )
    learner.follow(surprise)
    assert np.abs(learner.models).max() < 1


class Mean:
    """Predicts the mean of what it was fitted to."""

    fits = 0

    def fit(self, x: FloatArray, y: FloatArray) -> None:
        assert len(x) == len(y)
        Mean.fits += 1
        self.mean = y.mean()

    def predict(self, x: FloatArray) -> Any:
        return np.full(len(x), self.mean)


def test_a_regressor_is_fitted_anew_as_the_past_grows() -> None:
    part, past = samples(60, 2, 1), samples(10, 2, 2)
    Mean.fits = 0
    learner = Boost(Mean, past.z, past.y)
    seen, fitted = past.y, past.y.mean()
    size, fits = 10, 1
    for i in range(60):
        now = some_of(part, slice(i, i + 1))
        assert learner.follow(now) == pytest.approx(part.y[i] - fitted)
        seen = np.append(seen, part.y[i])
        if seen.size > 1.2 * size:
            fitted, size, fits = seen.mean(), seen.size, fits + 1
    assert Mean.fits == fits


def test_trees_are_those_of_scikit_learn() -> None:
    """As they come: of the past, then of the past with what has come since; the same every time."""
    z = np.random.default_rng(3).uniform(-1, 1, size=(120, 3))
    part = samples(120, 2, 3)._replace(z=z, y=np.sign(z[:, 0] * z[:, 1]))
    past, first, then = (some_of(part, slice(b, b + 40)) for b in (0, 40, 80))
    plain = HistGradientBoostingRegressor(random_state=0)
    with one_thread_algebra():  # as baselines are judged
        learner = Boost(boosting, past.z, past.y)
        plain.fit(past.z, past.y)
        np.testing.assert_array_equal(learner.follow(first), first.y - plain.predict(first.z))
        plain.fit(part.z[:80], part.y[:80])
        errors = learner.follow(then)
        np.testing.assert_array_equal(errors, then.y - plain.predict(then.z))
    assert np.mean(errors**2) < 0.8 * np.mean(then.y**2)  # no linear function would do this


class MeanSoFar:
    """Predicts the mean of what it has learned."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def learn_one(self, x: dict[int, float], y: float) -> None:
        assert list(x) == [0, 1, 2]
        self.seen.append(y)

    def predict_one(self, x: dict[int, float]) -> float:
        assert list(x) == [0, 1, 2]
        return float(np.mean(self.seen))


def test_a_tick_is_predicted_before_it_is_learned() -> None:
    """After the calibration period; work may end at every sample that is learned."""
    part, past = samples(60, 4, 1)._replace(tick=np.arange(60) // 4), samples(10, 2, 2)
    heard: list[float] = []
    learner = Forest(MeanSoFar(), past.z, past.y, heard.append)
    assert len(heard) == 10
    errors = np.concatenate([learner.follow(some_of(part, s)) for s in (slice(20), slice(20, 60))])
    for i in range(60):
        known = np.append(past.y, part.y[: i // 4 * 4])
        assert errors[i] == pytest.approx(part.y[i] - known.mean())
    assert heard == [0.0] * 70


@pytest.mark.parametrize("make", [mondrian, adaptive_forest])
def test_a_forest_learns_what_is_not_linear(make: Callable[[], OnlineRegressor]) -> None:
    """Whatever the units of the inputs are, and the same every time."""
    z = np.random.default_rng(3).uniform(-1, 1, size=(600, 3)) * [1.0, 1000.0, 0.001]
    part = samples(600, 2, 3)._replace(z=z, y=np.where(z[:, 0] > 0, 1.0, -1.0) * (z[:, 1] > 0))
    past, then = some_of(part, slice(200)), some_of(part, slice(200, 600))
    one, two = (Forest(make(), past.z, past.y).follow(then) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    linear, *_ = np.linalg.lstsq(z, part.y, rcond=None)
    assert np.mean(one**2) < 0.8 * np.mean((part.y - z @ linear) ** 2)
