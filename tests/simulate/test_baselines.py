"""Every baseline against a literal loop, and none of them sees what is still to come."""

import numpy as np
import pytest

from paofed.core.features import FourierMap, draw_map
from paofed.core.random import key_of
from paofed.core.rules import lms_step
from paofed.simulate import baselines as module
from paofed.simulate.baselines import BASELINES, baselines, last_value, with_constant
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
def errors(readings: Readings, fourier_map: FourierMap) -> dict[str, np.ndarray]:
    return baselines(readings, fourier_map, STEP, REFITS)


def test_all_are_there_and_judged_on_the_same_samples(
    readings: Readings, errors: dict[str, np.ndarray]
) -> None:
    assert list(errors) == list(BASELINES)
    for squared in errors.values():
        np.testing.assert_array_equal(np.isfinite(squared), readings.has_data)


def test_the_last_value_may_be_from_a_reading_without_inputs() -> None:
    y = np.array([[np.nan, 1.0], [2.0, np.nan], [np.nan, 3.0], [5.0, 4.0]])
    before = np.array([np.nan, 7.0])  # nothing is known of the first device
    np.testing.assert_array_equal(last_value(y, before), [[0, 7], [0, 1], [2, 1], [2, 3]])


def test_alone(readings: Readings, fourier_map: FourierMap, errors: dict[str, np.ndarray]) -> None:
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


@pytest.mark.parametrize("name", ["batch fourier", "batch linear"])
def test_batch(
    readings: Readings, fourier_map: FourierMap, errors: dict[str, np.ndarray], name: str
) -> None:
    basis = fourier_map if name == "batch fourier" else with_constant
    for begin, end in [(0, 7), (7, 20), (20, 30)]:
        past = readings.has_data[:begin]
        x = np.vstack([readings.x_past, readings.x[:begin][past]])
        y = np.concatenate([readings.y_past, readings.y[:begin][past]])
        z = basis(x)
        ridge = 1e-6 * np.diag((z**2).sum(axis=0))
        w = np.linalg.solve(z.T @ z + ridge, z.T @ y)
        there = readings.has_data[begin:end]
        expected = (readings.y[begin:end][there] - basis(readings.x[begin:end][there]) @ w) ** 2
        assert errors[name][begin:end][there] == pytest.approx(expected, rel=1e-6)


def test_parts_too_large_to_hold_are_cut(
    readings: Readings,
    fourier_map: FourierMap,
    errors: dict[str, np.ndarray],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_MOST", 1)  # a tick at a time, so that fits are renewed at each
    found = baselines(readings, fourier_map, STEP, REFITS)
    for name in ("last value", "alone", "central"):
        assert found[name] == pytest.approx(errors[name], nan_ok=True)


@pytest.mark.parametrize("tick", [1, 12, 29])
def test_what_is_still_to_come_changes_no_prediction(
    readings: Readings, fourier_map: FourierMap, errors: dict[str, np.ndarray], tick: int
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
