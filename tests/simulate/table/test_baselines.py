"""Every baseline against a literal loop, and none of them sees what is still to come."""

import sys
from collections import Counter
from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray
from paofed.core.features import FourierMap, draw_map
from paofed.core.random import key_of
from paofed.core.ridge import Ridge
from paofed.core.rules import lms_step
from paofed.errors import InputError, MissingExtraError
from paofed.simulate.montecarlo import run
from paofed.simulate.table import baselines as module
from paofed.simulate.table.baselines import (
    ALONE,
    AT_ONE_PLACE,
    BASELINES,
    ON_REQUEST,
    USUAL,
    baselines,
    chosen,
    repeated,
    with_constant,
    work_of,
)
from paofed.simulate.table.comparisons import require_times
from paofed.world.table.door import read
from paofed.world.table.readings import Readings
from tests.world.table.tables import fleet, hourly, on_grid, table, with_gaps, write

STEP, REFITS = 0.4, [7, 20, 30]


@pytest.fixture(scope="module", params=[11, 2, 17], ids="every {}th is missing or there".format)
def readings(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Readings:
    """With some gaps, with many, and with hardly anything else after calibration."""
    step, lines = request.param, hourly(3, 40)
    kept = [(i % step == 0) == (step == 17) or i < 30 or i == 119 for i in range(120)]
    lines = list(compress(lines, kept))
    found = read(table(write(tmp_path_factory.mktemp("table") / "t.csv", lines), tick="1h"))
    assert not on_grid(found).has_data.all()
    return found


@pytest.fixture(scope="module")
def fourier_map() -> FourierMap:
    return draw_map(key_of(1), inputs=2, features=20, width=2.0)


@pytest.fixture(scope="module")
def errors(readings: Readings, fourier_map: FourierMap) -> dict[str, FloatArray]:
    return baselines(readings, fourier_map, STEP, REFITS)


def test_the_last_value_is_the_previous_one_or_the_mean_of_the_past(readings: Readings) -> None:
    few = replace(readings, y=np.array([5.0, 6.0]), previous=np.array([4.5, np.nan]))
    np.testing.assert_array_equal(repeated(few), [0.5, 6.0])


def test_seasonal_naive_is_the_newest_value_of_the_same_time_of_day(
    fourier_map: FourierMap, tmp_path: Path
) -> None:
    """Of a day ago, or of more; of the last value where the device has measured none then."""
    lines = with_gaps(hourly(3, 120), 0.5)
    readings = read(table(write(tmp_path / "t.csv", lines), tick="1h"))
    found = baselines(readings, fourier_map, STEP, REFITS, names=["seasonal naive"])[
        "seasonal naive"
    ]
    last, ages = repeated(readings), Counter[int]()
    newest: dict[tuple[int, int], int] = {}
    for i, (n, k) in enumerate(zip(readings.tick.tolist(), readings.device.tolist(), strict=True)):
        before = newest.get((k, n % 24))
        assert found[i] == (last[i] if before is None else readings.y[i] - readings.y[before])
        ages[0 if before is None else n - int(readings.tick[before])] += 1
        newest[k, n % 24] = i
    assert {0, 24, 48, 72} <= set(ages)


@pytest.mark.parametrize("tick", [None, "5min"])
def test_without_a_calendar_no_day_is_known(tmp_path: Path, tick: str | None) -> None:
    """Plain numbers are refused in one line; with a length of a tick or not."""
    lines = [f"d{i % 2},{300 * (i // 2)},{i % 7},{i % 5},{i % 3}" for i in range(80)]
    path = write(tmp_path / "t.csv", lines)
    plain = table(path, calibration="10%", time_format="number")
    with pytest.raises(InputError) as caught:
        run(fleet(plain), "pao-fed-u1", baselines=["seasonal naive"])
    assert str(caught.value) == (
        f"the baseline seasonal naive needs times of a calendar, but the time of {path} is a plain "
        f"number: give its `time_format`, or leave the baseline out"
    )
    require_times(USUAL, plain)
    require_times(["seasonal naive"], table(path, calibration="1h", time_format="unix", tick=tick))


def test_alone(readings: Readings, fourier_map: FourierMap, errors: dict[str, FloatArray]) -> None:
    for k in range(3):
        w = np.zeros(20)
        for i in np.flatnonzero(readings.device == k):
            z, y = fourier_map(readings.x[i]), float(readings.y[i])
            assert errors["alone"][i] == pytest.approx(y - w @ z)
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
    for n in range(readings.ticks):
        before = w
        for i in np.flatnonzero(readings.tick == n):
            z, y = fourier_map(readings.x[i]), float(readings.y[i])
            assert found[i] == pytest.approx(y - before @ z)
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
        there = (begin <= readings.tick) & (readings.tick < end)
        blocks.append((readings.x[there], readings.y[there], errors[name][there]))
    z, y = np.zeros((0, basis(readings.x_past).shape[1])), np.zeros(0)
    misses, tried = dict.fromkeys(RIDGES, 0.0), 0
    for x_new, y_new, judged in blocks:
        z_new = basis(x_new)
        if judged is not None:
            ridge = min(RIDGES, key=lambda ridge: misses[ridge])
            expected = y_new - z_new @ fit(z, y, ridge)
            assert judged == pytest.approx(expected, rel=1e-6, abs=1e-9)
        for ridge in RIDGES if tried else []:
            missed = y_new - z_new @ fit(z[:tried], y[:tried], ridge)
            misses[ridge] += tried * float(missed @ missed)
        z, y = np.vstack([z, z_new]), np.concatenate([y, y_new])
        tried = len(y) if len(y) > 1.1 * tried else tried


def test_parts_too_large_to_hold_are_cut(
    readings: Readings,
    fourier_map: FourierMap,
    errors: dict[str, FloatArray],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_MOST", 1)  # a tick at a time, so that fits are renewed at each
    found = baselines(readings, fourier_map, STEP, REFITS)
    for name in ("last value", "alone", "rls", "start", "start alone", "central"):
        assert found[name] == pytest.approx(errors[name])


@pytest.mark.parametrize("tick", [1, 12, 29])
def test_what_is_still_to_come_changes_no_prediction(
    readings: Readings, fourier_map: FourierMap, errors: dict[str, FloatArray], tick: int
) -> None:
    rng, later = np.random.default_rng(tick), readings.tick >= tick
    x, y = (
        np.where(later.reshape(-1, *(1,) * (a.ndim - 1)), rng.normal(size=a.shape), a)
        for a in (readings.x, readings.y)
    )
    found = baselines(replace(readings, x=x, y=y), fourier_map, STEP, REFITS)
    for name, missed in found.items():
        np.testing.assert_array_equal(missed[~later], errors[name][~later], name)
        assert (missed[later] != errors[name][later]).all()


@pytest.mark.parametrize("name", ["start", "start alone"])
def test_a_start_is_the_fit_of_the_calibration_period(
    readings: Readings, fourier_map: FourierMap, errors: dict[str, FloatArray], name: str
) -> None:
    start = Ridge.over(fourier_map, readings.x_past, readings.y_past).model
    for k in range(3):
        w = start
        for i in np.flatnonzero(readings.device == k):
            z, y = fourier_map(readings.x[i]), float(readings.y[i])
            assert errors[name][i] == pytest.approx(y - w @ z)
            w = lms_step(w, z, y, STEP) if name == "start alone" else w


def test_some_are_chosen_and_others_left_out(readings: Readings, fourier_map: FourierMap) -> None:
    assert chosen(None) == USUAL
    assert chosen("none") == chosen(["none"]) == chosen([]) == ()
    assert chosen("rls, last-value") == chosen(["last value", "rls"]) == ("last value", "rls")
    with pytest.raises(InputError, match="did you mean 'central'"):
        chosen("centrl")
    found = baselines(readings, fourier_map, STEP, REFITS, names=("last value", "rls"))
    assert list(found) == ["last value", "rls"]


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("boost", "sklearn", "boost"),
        ("mondrian", "river", "river"),
        ("adaptive-forest", "river", "river"),
    ],
)
def test_trees_are_only_for_those_who_have_the_package(
    name: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module_name in [one for one in sys.modules if one.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, module_name, None)
    monkeypatch.setitem(sys.modules, package, None)
    said = rf"^the baseline .* needs {package}.*, which is not .*'paofed\[{extra}\]'$"
    with pytest.raises(MissingExtraError, match=said):
        chosen(f"alone,{name}")


def test_what_takes_long_or_a_calendar_is_only_for_those_who_ask() -> None:
    assert ON_REQUEST == ("seasonal naive", "boost", "mondrian", "adaptive forest")
    assert set(USUAL) == set(BASELINES) - set(ON_REQUEST)
    assert set(ALONE) | set(AT_ONE_PLACE) == set(BASELINES)
    assert work_of(["mondrian"]) > 50 * work_of(["rls"])
