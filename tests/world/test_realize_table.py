"""Nature over a table: readings are what was written, the rest is drawn as ever."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from paofed.cli import main
from paofed.core.ridge import Ridge
from paofed.errors import InputError
from paofed.world.realize import half_width_of, map_of, realize, table_map, world_key
from paofed.world.realize_samples import realize_samples
from paofed.world.scenario import Scenario
from paofed.world.table.door import read
from paofed.world.trace import SparseTrace, Trace
from tests.effort import effort, some
from tests.world.table.tables import fleet, hourly, on_grid, table, with_gaps, write

EVENTS = ("available", "delay", "lottery")
READ = ("x", "y", "has_data", "x_test", "y_test")
MAP = ("frequencies", "phases")


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    path = write(tmp_path_factory.mktemp("table") / "t.csv", with_gaps(hourly(5, 60)))
    return fleet(table(path), test_samples=20)


def assert_same(one: Trace, other: Trace, names: tuple[str, ...]) -> None:
    for name in names:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)


def assert_different(one: Trace, other: Trace, names: tuple[str, ...]) -> None:
    for name in names:
        assert not np.array_equal(getattr(one, name), getattr(other, name)), name


def test_samples_are_the_readings(scenario: Scenario) -> None:
    trace, readings = realize(scenario), on_grid(read(scenario.table))
    there = readings.has_data
    assert 0 < there.sum() < there.size
    np.testing.assert_array_equal(trace.has_data, there)
    np.testing.assert_array_equal(trace.x, readings.x)
    np.testing.assert_array_equal(trace.y, np.nan_to_num(readings.y))
    assert not (trace.available & ~there).any()
    assert trace.drifts.size == 0


def test_the_test_set_is_spread_over_the_calibration_period(scenario: Scenario) -> None:
    readings = read(scenario.table)
    past = np.column_stack([readings.x_past, readings.y_past])
    assert len(past) > 20
    for most in (1, 7, 20, len(past), 10_000):
        trace = realize(scenario.model_copy(update={"test_samples": most}))
        some = np.column_stack([trace.x_test, trace.y_test])
        assert len(some) == min(most, len(past))
        where = [int(np.flatnonzero((past == row).all(axis=1))[0]) for row in some]
        assert (np.diff(where) > 0).all()
    np.testing.assert_array_equal(some, past)


def test_a_world_has_a_map_of_its_own_over_the_same_readings(scenario: Scenario) -> None:
    first, second = realize(scenario, 0), realize(scenario, 1)
    assert_same(first, second, READ)
    assert_different(first, second, (*MAP, *EVENTS))
    expected = table_map(scenario, world_key(0, 1))
    np.testing.assert_array_equal(second.frequencies, expected.frequencies)
    np.testing.assert_array_equal(second.phases, expected.phases)


def test_a_run_has_events_of_its_own_and_a_seed_changes_chance_but_no_reading(
    scenario: Scenario,
) -> None:
    first, second, other = realize(scenario), realize(scenario, 0, 1), realize(scenario, seed=1)
    assert_same(first, second, (*READ, *MAP))
    assert_different(first, second, EVENTS)
    assert_same(first, other, READ)
    assert_different(first, other, (*MAP, *EVENTS))


@pytest.mark.parametrize("clients", [[4], [3, 1], [0, 2, 1]])
def test_some_devices_alone_are_columns_of_the_whole(
    scenario: Scenario, clients: list[int]
) -> None:
    whole = realize(scenario, 2, 1)
    part = realize(scenario, 2, 1, clients=np.array(clients))
    for name in ("x", "y", "has_data", *EVENTS):
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[:, clients], name)
    assert_same(part, whole, (*MAP, "x_test", "y_test"))


def test_a_trace_of_a_table_is_saved_and_loaded(scenario: Scenario, tmp_path: Path) -> None:
    trace = realize(scenario)
    trace.save(tmp_path / "trace.npz")
    back = Trace.load(tmp_path / "trace.npz")
    assert_same(back, trace, (*READ, *MAP, *EVENTS))


OFTEN = {"kind": "bernoulli", "probabilities": (0.8, 0.4)}
LAWS: dict[str, dict[str, Any]] = {
    "independent": {"availability": OFTEN},
    "never and always": {"availability": {"kind": "bernoulli", "probabilities": (0.0, 1.0)}},
    "bursts": {"availability": {"kind": "bursts", "mean_on": (7.0,), "mean_off": (3.0, 20.0)}},
    "long bursts": {"availability": {"kind": "bursts", "mean_on": (500.0,), "mean_off": (400.0,)}},
    "turns of one tick": {
        "availability": {"kind": "bursts", "mean_on": (1.0,), "mean_off": (1.2,)}
    },
    "delays by group": {"delay": {"kind": "geometric", "base": (0.1, 0.7, 0.0)}},
    "outages": {"outages": {"mean_length": 5.0, "mean_between": 9.0, "share": (0.5, 1.0)}},
    "batteries": {"battery": {"capacity": (3, 1), "fill": (0.1, 0.02), "start": (1, 0)}},
    "loss": {"loss": {"up": (0.3, 0.0), "down": 0.5}},
    "contacts that are used": {"contacts": 0.6},
}
LAWS["all"] = {key: law for laws in LAWS.values() for key, law in laws.items()}


@pytest.mark.parametrize(("share", "name"), some(product([0.5, 0.0, 0.98], LAWS), everyday=11))
def test_a_list_says_what_the_trace_says_wherever_there_is_a_sample(
    tmp_path: Path, name: str, share: float
) -> None:
    path = write(tmp_path / "t.csv", with_gaps(hourly(5, 150), share))
    scenario = fleet(table(path), **LAWS[name])
    for run in range(effort(everyday=1, thorough=3)):
        listed = realize_samples(scenario, 2, run, seed=7)
        assert_same_list(listed, realize(scenario, 2, run, seed=7).sparse())


def test_recorded_laws_are_read_where_there_is_a_sample(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", with_gaps(hourly(5, 60)))
    rng = np.random.default_rng(0)
    np.save(tmp_path / "there.npy", rng.random((50, 5)) < 0.5)
    np.save(tmp_path / "late.npy", rng.integers(0, 9, size=(50, 5)))
    laws = {
        law: {"kind": "recorded", "file": str(tmp_path / f"{name}.npy")}
        for law, name in (("availability", "there"), ("delay", "late"))
    }
    scenario = fleet(table(path), **laws)
    assert_same_list(realize_samples(scenario), realize(scenario).sparse())


def assert_same_list(one: SparseTrace, other: SparseTrace) -> None:
    for name, mine in vars(one).items():
        if name == "calibration":
            continue  # no trace has the samples from before tick 0
        theirs = getattr(other, name)
        parts = zip(mine, theirs, strict=True) if isinstance(mine, tuple) else [(mine, theirs)]
        for part, same in parts:
            np.testing.assert_array_equal(part, same, name)


def long_life(folder: Path) -> Scenario:
    """Two devices for two days, and one reading two thousand years later, in ticks of a minute."""
    lines = [*hourly(2, 40), "d0,3999-05-01 00:00,1,1,1"]
    return fleet(table(write(folder / "t.csv", lines), tick="1min"))


def test_a_list_goes_with_readings_not_with_cells(tmp_path: Path) -> None:
    scenario = long_life(tmp_path)
    assert scenario.ticks > 1_000_000_000
    sparse = realize_samples(scenario)
    for name in ("tick", "client", "x", "y", "available", "delay", "lottery"):
        assert len(getattr(sparse, name)) == 61


def test_a_trace_that_is_nearly_all_gaps_is_refused_with_its_size(tmp_path: Path) -> None:
    scenario = long_life(tmp_path)
    size = f"{2 * scenario.ticks:,} cells and needs {2 * scenario.ticks * 42 / 1e9:.1f} GB for 61"
    with pytest.raises(InputError, match=rf"a trace of fleet has {size} readings: .*longer ticks"):
        realize(scenario)
    out = tmp_path / "trace.npz"
    (tmp_path / "fleet.toml").write_text(scenario.to_toml())
    assert main(["trace", str(tmp_path / "fleet.toml"), "--out", str(out)]) == 2
    assert not out.exists()


def test_a_fleet_over_a_table_begins_with_a_fit_of_its_calibration_period(
    scenario: Scenario,
) -> None:
    """In the digits of float32; in every run of a world the same, made once."""
    readings, made = read(scenario.table), table_map(scenario, world_key(0, 1))
    expected = Ridge.over(made, readings.x_past, readings.y_past).model
    first, again = (realize_samples(scenario, 1, run) for run in (0, 1))
    np.testing.assert_allclose(first.start, expected, rtol=1e-6)
    np.testing.assert_array_equal(first.start, first.start.astype(np.float32))
    assert again.start is first.start
    np.testing.assert_array_equal(realize(scenario, 1).start, first.start)
    assert not np.array_equal(realize_samples(scenario, 2).start, first.start)


def test_intervals_begin_with_what_covers_the_errors_of_that_fit(scenario: Scenario) -> None:
    """Out of sample; where a fleet begins with zeros, the errors are the targets themselves."""
    readings, world = read(scenario.table), world_key(0, 1)
    made = Ridge.over(table_map(scenario, world), readings.x_past, readings.y_past)
    found = half_width_of(scenario, world)
    assert found == np.quantile(abs(made.foretold), 0.9)
    zeros = half_width_of(scenario.model_copy(update={"start": "zeros"}), world)
    assert zeros == np.quantile(abs(readings.y_past), 0.9) != found


def test_a_server_knows_the_calibration_period_with_what_foretold_it(scenario: Scenario) -> None:
    """The samples that were predicted before the fit had seen them, and these predictions."""
    readings, made = read(scenario.table), table_map(scenario, world_key(0, 1))
    known = realize_samples(scenario, 1).calibration
    assert known is not None
    errors = Ridge.over(made, readings.x_past, readings.y_past).foretold
    assert 0 < len(known.y) == errors.size < len(readings.y_past)
    np.testing.assert_array_equal(known.x, readings.x_past[-errors.size :])
    np.testing.assert_array_equal(known.y, readings.y_past[-errors.size :])
    np.testing.assert_allclose(known.y - known.foretold, errors, atol=1e-12)


def test_without_a_prediction_of_the_past_a_server_knows_nothing_of_it(
    scenario: Scenario, tmp_path: Path
) -> None:
    zeros = scenario.model_copy(update={"start": "zeros", "personal": False})
    assert realize_samples(zeros, 1).calibration is None
    lines = ["d0,2024-05-01 00:00,1,2,3", *hourly(1, 30)[12:]]
    raw: dict[str, Any] = {"inputs": ["a:raw", "b:raw"], "target": "y:raw"}
    stream = table(write(tmp_path / "t.csv", lines), **raw)
    short = fleet(stream, linear=False, personal=False, kernel_width=1.0)
    assert len(read(short.table).y_past) == 1
    assert realize_samples(short, 1).calibration is None


def test_linear_terms_follow_the_calibration_period(scenario: Scenario) -> None:
    trace, past = realize(scenario), read(scenario.table).x_past
    assert trace.features == 9 == trace.phases.size + 3
    low, high = np.quantile(past, [0.005, 0.995], axis=0)
    np.testing.assert_allclose((trace.linear_low, trace.linear_high), (low, high))


def test_the_old_way_is_there(scenario: Scenario) -> None:
    """Pure Fourier features, zeros and windows: the map that any fleet of this size would draw."""
    old = {"linear": False, "start": "zeros", "newcomers": "windows", "personal": False}
    trace = realize(scenario.model_copy(update=old), 1)
    expected = map_of(scenario, world_key(0, 1), 2)
    np.testing.assert_array_equal(trace.phases, expected.phases)
    np.testing.assert_array_equal(trace.frequencies, expected.frequencies)
    assert trace.linear_low.size == 0
    assert not trace.start.any()
    assert not trace.newcomers_whole.any()
    assert not trace.personal.any()
    assert realize(scenario, 1).newcomers_whole.all()
    assert realize(scenario, 1).personal.all()


def test_a_table_says_how_long_a_tick_is(tmp_path: Path) -> None:
    stream = table(write(tmp_path / "t.csv", hourly(3, 60)))
    assert fleet(stream).tick_seconds == 3600.0
    assert fleet(stream, tick="60min").tick_seconds == 3600.0
    with pytest.raises(ValidationError, match="tick is 2h, but the table's is 1h: leave it out"):
        fleet(stream, tick="2h")
