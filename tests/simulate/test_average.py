"""Averages over the runs of one world."""

import os

import numpy as np
import pytest

from paofed.algorithms.setup import resolve
from paofed.core.arrays import FloatArray
from paofed.simulate.average import Average, average
from paofed.simulate.engines.fast import family as fast
from paofed.simulate.results.outcome import RunRecord
from paofed.world.realize import make_world
from tests.natures import small_scenario

METHODS = [resolve(text) for text in ("pao-fed-u1", "online-fedsgd:step_size=0.2")]
ARRAYS = ("ticks", "models", "errors", "mse", "learning")


def separate(runs: int, every: int, seed: int, world: int) -> tuple[list[RunRecord], FloatArray]:
    """Every run on its own, and the models on its way: (R, P, A, D)."""
    records, paths = [], []
    for run in range(runs):
        path: list[FloatArray] = []

        def keep(models: FloatArray, path: list[FloatArray] = path) -> None:
            path.append(models.copy())

        record = fast.run(
            small_scenario(), METHODS, seed=seed, world=world, run=run, every=every,
            precision="float64", report=lambda _: None, watch=keep,
        )  # fmt: skip
        records.append(record)
        paths.append(np.array(path))
    return records, np.array(paths)


def test_it_is_the_average_over_separate_runs() -> None:
    found = average(small_scenario(), METHODS, runs=7, seed=3, world=2, every=40)
    records, paths = separate(7, 40, seed=3, world=2)
    assert found.runs == 7
    assert found.ticks.tolist() == [39, 79, 119, 149]
    models = np.swapaxes(paths, 1, 2)  # (R, A, P, D)
    assert np.ptp(models, axis=0).max() > 0.01
    # The averages are over runs in float32.
    np.testing.assert_allclose(found.models, models.mean(axis=0), rtol=0, atol=1e-5)
    errors = models.std(axis=0, ddof=1) / np.sqrt(7)
    np.testing.assert_allclose(found.errors, errors, rtol=2e-3, atol=1e-5)
    for a in range(2):
        np.testing.assert_allclose(models[:, a, -1], [record.models[a] for record in records])
    learning = np.mean([record.mse for record in records], axis=0)
    np.testing.assert_allclose(found.learning, learning, rtol=1e-4)


def test_a_changing_target_is_met_at_its_ticks() -> None:
    scenario = small_scenario(stream={"drifts": (79, 120)})
    found = average(scenario, METHODS, runs=2, seed=3, world=2, every=40)
    made = make_world(scenario, 3, 2)
    z = made.fourier_map(made.x_test)
    for point, drifts in enumerate((0, 1, 1, 2)):  # after the ticks 39, 79, 119 and 149
        squares = (made.test_targets.y[drifts] - found.models[:, point] @ z.T) ** 2
        np.testing.assert_allclose(found.mse[:, point], squares.mean(axis=-1), rtol=1e-12)


def test_errors_are_those_of_the_averaged_model_and_below_the_learning_curve() -> None:
    """The mean over runs of a square is at least the square of the mean."""
    found = average(small_scenario(), METHODS, runs=6, seed=3, world=2)
    made = make_world(small_scenario(), 3, 2)
    z = made.fourier_map(made.x_test)
    for a, point in np.ndindex(found.mse.shape):
        squares = (made.test_targets.y[0] - z @ found.models[a, point]) ** 2
        assert found.mse[a, point] == pytest.approx(squares.mean(), rel=1e-12)
    assert (found.mse < found.learning).all()


@pytest.mark.parametrize("cores", [1, 3, None])
def test_nothing_depends_on_the_number_of_cores(
    cores: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> Average:
        return average(small_scenario(), METHODS, runs=9, seed=4, every=30)

    before = found()
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    after = found()
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name), err_msg=name)


def test_models_that_diverge_are_no_warning() -> None:
    method = resolve("online-fedsgd:step_size=10")
    found = average(small_scenario(), [method], runs=2, every=1)
    assert not np.isfinite(found.learning[0, -1])
