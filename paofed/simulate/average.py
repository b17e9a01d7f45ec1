"""The server's model in many runs of one world, and its errors: what theory predicts."""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from paofed.algorithms import Algorithm
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.metrics import curve_ticks
from paofed.simulate.engines.fast import family as fast
from paofed.words import ShapesShown
from paofed.world.realize import make_world
from paofed.world.scenario import Scenario
from paofed.world.worlds import Setting


@dataclass(frozen=True, eq=False, repr=False)
class Average(ShapesShown):
    """The average models and curves of A algorithms at P points, with D features."""

    runs: int
    ticks: IntArray  # (P,), 0-based
    models: FloatArray  # (A, P, D), averaged over the runs
    errors: FloatArray  # (A, P, D), standard error of each coordinate
    mse: FloatArray  # (A, P), of the averaged model on the test set
    # (A, P), the mean of the errors of the runs' own models: the learning curve.
    learning: FloatArray
    learning_errors: FloatArray  # (A, P), standard error of `learning`; NaN for a single run


def average(
    scenario: Scenario,
    methods: Sequence[Algorithm],
    *,
    runs: int,
    seed: int = 0,
    world: int = 0,
    every: int = 50,
    report: Callable[[float], None] = lambda _: None,
) -> Average:
    """Run algorithms of the family many times in one world, spread over the cores."""
    ticks = curve_ticks(scenario.ticks, every)
    heard = _added_up(report, runs)

    def one(run: int) -> tuple[FloatArray, FloatArray]:
        path: list[FloatArray] = []
        record = fast.run(
            scenario, methods, seed=seed, world=world, run=run, every=every, precision="float32",
            report=heard, watch=lambda models: path.append(models.copy()),
        )  # fmt: skip
        return np.stack(path, axis=1), record.mse

    shape = len(methods), ticks.size
    total, squares = (np.zeros((*shape, scenario.features)) for _ in range(2))
    learning, learning_squares = np.zeros(shape), np.zeros(shape)
    made = make_world(scenario, seed, world)
    z_test = made.fourier_map(made.x_test)
    y_test = made.test_targets.at(ticks)
    # Models that diverge have neither a finite mean nor a variance.
    with np.errstate(over="ignore", invalid="ignore"), ThreadPoolExecutor(os.cpu_count()) as pool:
        # In order of runs, so that sums do not depend on which run ends first.
        for path, mse in pool.map(one, range(runs)):
            total += path
            squares += path**2
            learning += mse
            learning_squares += mse**2
        models = total / runs
        variance = np.maximum(squares / runs - models**2, 0.0) * runs / max(runs - 1, 1)
        mse = np.mean((y_test - models @ z_test.T) ** 2, axis=-1)
        learning /= runs
        scatter = np.maximum(learning_squares / runs - learning**2, 0.0)
        learning_errors = np.sqrt(scatter / (runs - 1) if runs > 1 else np.full(shape, np.nan))
        errors = np.sqrt(variance / runs)
        return Average(runs, ticks, models, errors, mse, learning, learning_errors)


def errors_of_runs(
    setting: Setting,
    methods: Sequence[Algorithm],
    runs: Sequence[int],
    *,
    seed: int,
    world: int,
    every: int,
    report: Callable[[float], None] = lambda _: None,
) -> FloatArray:
    """Return the errors of algorithms of the family in some runs of one world, (A, R, P)."""
    heard = _added_up(report, len(runs))

    def one(run: int) -> FloatArray:
        return fast.run(
            setting, methods, seed=seed, world=world, run=run, every=every, precision="float32",
            report=heard,
        ).mse  # fmt: skip

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return np.stack(list(pool.map(one, runs)), axis=1)


def _added_up(report: Callable[[float], None], runs: int) -> Callable[[float], None]:
    """Return what each of `runs` runs tells the parts of it that it has done; reports their sum."""
    lock, done = threading.Lock(), 0.0

    def heard(part: float) -> None:
        nonlocal done
        with lock:
            done += part / runs
            report(min(done, 1.0))

    return heard
