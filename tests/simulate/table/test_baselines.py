"""Every baseline against a literal loop, and none of them sees what is still to come."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray
from paofed.core.features import FourierMap, draw_map
from paofed.core.random import key_of
from paofed.core.rules import lms_step
from paofed.simulate.table import baselines as module
from paofed.simulate.table.baselines import BASELINES, Batch, baselines, last_value, with_constant
from paofed.world.table.readings import Readings
from tests.world.table.tables import hourly, table, write

STEP, REFITS = 0.4, [7, 20, 30]


@pytest.fixture(scope="module")
def readings(tmp_path_factory: pytest.TempPathFactory) -> Readings:
    lines = [line for i, line in enumerate(hourly(3, 40)) if i % 11]  # with gaps
    found = table(write(tmp_path_factory.mktemp("table") / "t.csv", lines)).read()
    assert not found.has_data.all()
    return found


@pytest.fixture(scope="module")
def fourier_map() -> FourierMap:
    return draw_map(key_of(1), inputs=2, features=20, width=2.0)


@pytest.fixture(scope="module")
def errors(readings: Readings, fourier_map: FourierMap) -> dict[str, FloatArray]:
    return baselines(readings, fourier_map, STEP, REFITS)


def test_all_are_there_and_judged_on_the_same_samples(
    readings: Readings, errors: dict[str, FloatArray]
) -> None:
    assert list(errors) == list(BASELINES)
    for squared in errors.values():
        np.testing.assert_array_equal(np.isfinite(squared), readings.has_data)


def test_the_last_value_may_be_from_a_reading_without_inputs() -> None:
    y = np.array([[np.nan, 1.0], [2.0, np.nan], [np.nan, 3.0], [5.0, 4.0]])
    before = np.array([np.nan, 7.0])  # nothing is known of the first device
    np.testing.assert_array_equal(last_value(y, before), [[0, 7], [0, 1], [2, 1], [2, 3]])


def test_alone(readings: Readings, fourier_map: FourierMap, errors: dict[str, FloatArray]) -> None:
    for k in range(3):
        w = np.zeros(20)
        for n in np.flatnonzero(readings.has_data[:, k]):
            z, y = fourier_map(readings.x[n, k]), float(readings.y[n, k])
            assert errors["alone"][n, k] == pytest.approx((y - w @ z) ** 2)
            w = lms_step(w, z, y, STEP)


@pytest.mark.parametrize("together", [1, 2, 64])
def test_central(
    readings: Readings,
    fourier_map: FourierMap,
    together: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_TOGETHER", together)
    found = baselines(readings, fourier_map, STEP, REFITS)["central"]
    w = np.zeros(20)
    for n, there in enumerate(readings.has_data):
        before = w
        for k in np.flatnonzero(there):
            z, y = fourier_map(readings.x[n, k]), float(readings.y[n, k])
            assert found[n, k] == pytest.approx((y - before @ z) ** 2)
            w = lms_step(w, z, y, STEP)


RIDGES = [10.0**power for power in range(1, -7, -1)]


def fit(z: FloatArray, y: FloatArray, ridge: float) -> NDArray[Any]:
    return np.linalg.solve(z.T @ z + ridge * np.diag((z**2).sum(axis=0)), z.T @ y)


@pytest.mark.parametrize("name", ["batch fourier", "batch linear"])
def test_batch(
    readings: Readings, fourier_map: FourierMap, errors: dict[str, FloatArray], name: str
) -> None:
    """A ridge is the one whose trials, weighed by what they had seen, have missed least so far."""
    basis = fourier_map if name == "batch fourier" else with_constant
    tenth = -(-len(readings.y_past) // 10)
    blocks: list[tuple[FloatArray, FloatArray, FloatArray | None]] = [
        (readings.x_past[i : i + tenth], readings.y_past[i : i + tenth], None)
        for i in range(0, len(readings.y_past), tenth)
    ]
    for begin, end in [(0, 7), (7, 20), (20, 30)]:
        there = readings.has_data[begin:end]
        x, y, found = readings.x[begin:end], readings.y[begin:end], errors[name][begin:end]
        blocks.append((x[there], y[there], found[there]))
    z, y = np.zeros((0, basis(readings.x_past).shape[1])), np.zeros(0)
    misses, tried = dict.fromkeys(RIDGES, 0.0), 0
    for x_new, y_new, judged in blocks:
        z_new = basis(x_new)
        if judged is not None:
            ridge = min(RIDGES, key=lambda ridge: misses[ridge])
            assert judged == pytest.approx((y_new - z_new @ fit(z, y, ridge)) ** 2, rel=1e-6)
        for ridge in RIDGES if tried else []:
            missed = y_new - z_new @ fit(z[:tried], y[:tried], ridge)
            misses[ridge] += tried * float(missed @ missed)
        z, y = np.vstack([z, z_new]), np.concatenate([y, y_new])
        tried = len(y) if len(y) > 1.1 * tried else tried


def test_a_batch_fit_to_few_readings_is_held_down() -> None:
    """As many features as readings: without a ridge, noise in the target becomes large errors."""
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(120, 40)), rng.normal(size=120)
    batch = Batch(np.asarray, z[:40], y[:40])
    plain = y[40:] - z[40:] @ fit(z[:40], y[:40], 1e-6)
    held = batch.follow(z[40:, None], y[40:, None], np.ones((80, 1), dtype=bool))
    assert np.mean(plain**2) > 3.0
    assert np.mean(held**2) < 1.2 * np.mean(y[40:] ** 2)


def test_a_batch_fit_to_clean_readings_is_not() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(400, 10))
    assert Batch(np.asarray, z, z @ rng.normal(size=10)).ridge == pytest.approx(1e-6)


def test_parts_too_large_to_hold_are_cut(
    readings: Readings,
    fourier_map: FourierMap,
    errors: dict[str, FloatArray],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_MOST", 1)  # a tick at a time, so that fits are renewed at each
    found = baselines(readings, fourier_map, STEP, REFITS)
    for name in ("last value", "alone", "central"):
        assert found[name] == pytest.approx(errors[name], nan_ok=True)


@pytest.mark.parametrize("tick", [1, 12, 29])
def test_what_is_still_to_come_changes_no_prediction(
    readings: Readings, fourier_map: FourierMap, errors: dict[str, FloatArray], tick: int
) -> None:
    rng = np.random.default_rng(tick)
    order = rng.permutation(np.arange(tick, 30))
    mixed = {
        name: np.concatenate([getattr(readings, name)[:tick], getattr(readings, name)[order]])
        for name in ("x", "y", "has_data")
    }
    kept = {name: getattr(readings, name) for name in readings.__dataclass_fields__}
    found = baselines(Readings(**{**kept, **mixed}), fourier_map, STEP, REFITS)
    for name, squared in found.items():
        np.testing.assert_array_equal(squared[:tick], errors[name][:tick], name)
