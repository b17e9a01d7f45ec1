"""Nature over a table: readings are what was written, the rest is drawn as ever."""

from pathlib import Path

import numpy as np
import pytest

from paofed.algorithms import algorithm
from paofed.simulate.engines import reference
from paofed.simulate.engines.fast import family as fast
from paofed.world.realize import map_of, realize, run_key, world_key
from paofed.world.scenario import Scenario
from paofed.world.trace import Trace
from tests.world.table.tables import fleet, hourly, table, with_gaps, write

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
    trace, readings = realize(scenario), scenario.table.read()
    there = readings.has_data
    assert 0 < there.sum() < there.size
    np.testing.assert_array_equal(trace.has_data, there)
    np.testing.assert_array_equal(trace.x, readings.x)
    np.testing.assert_array_equal(trace.y[there], readings.y[there])
    assert np.isfinite(trace.y).all()
    assert not (trace.available & ~there).any()
    assert trace.drifts.size == 0


def test_the_test_set_is_spread_over_the_calibration_period(scenario: Scenario) -> None:
    readings = scenario.table.read()
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
    expected = map_of(scenario, world_key(0, 1), 2)
    np.testing.assert_array_equal(second.frequencies, expected.frequencies)
    np.testing.assert_array_equal(second.phases, expected.phases)


def test_a_run_has_events_of_its_own_in_its_world(scenario: Scenario) -> None:
    first, second = realize(scenario, 0, 0), realize(scenario, 0, 1)
    assert_same(first, second, (*READ, *MAP))
    assert_different(first, second, EVENTS)
    assert run_key(world_key(0, 0), 1) != world_key(0, 0)
    assert_same(realize(scenario, 0, 1), second, (*READ, *MAP, *EVENTS))


def test_a_seed_changes_chance_and_no_reading(scenario: Scenario) -> None:
    first, second = realize(scenario), realize(scenario, seed=1)
    assert_same(first, second, READ)
    assert_different(first, second, (*MAP, *EVENTS))


@pytest.mark.parametrize("clients", [[0, 1, 2, 3, 4], [4], [1, 3], [3, 1], [0, 1, 2], [0, 2, 1]])
def test_some_devices_alone_are_columns_of_the_whole(
    scenario: Scenario, clients: list[int]
) -> None:
    whole = realize(scenario, 2, 1)
    part = realize(scenario, 2, 1, clients=np.array(clients))
    for name in ("x", "y", "has_data", *EVENTS):
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[:, clients], name)
    assert_same(part, whole, (*MAP, "x_test", "y_test"))


def test_a_trace_of_a_table_is_saved_loaded_and_replayed_on_both_engines(
    scenario: Scenario, tmp_path: Path
) -> None:
    trace = realize(scenario)
    trace.save(tmp_path / "trace.npz")
    back = Trace.load(tmp_path / "trace.npz")
    assert_same(back, trace, (*READ, *MAP, *EVENTS))
    for name in ("online-fedsgd", "pao-fed-u1", "pao-fed-c2"):
        slow, quick = (engine.replay(back, algorithm(name)) for engine in (reference, fast))
        np.testing.assert_allclose(quick.mse, slow.mse, rtol=1e-9, atol=0)
        np.testing.assert_allclose(quick.server_model, slow.server_model, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(quick.traffic, slow.traffic)
