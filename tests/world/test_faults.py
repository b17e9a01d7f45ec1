"""Faults of sensors, against what each kind says; see tests/world/test_laws.py for the bounds."""

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.core.arrays import BoolArray, FloatArray
from paofed.core.parts import keys_of
from paofed.errors import ScenarioError
from paofed.world.faults import KINDS, Fault, FaultyReadings, Hits, column_of
from paofed.world.realize import realize
from paofed.world.realize_samples import realize_samples
from paofed.world.scenario import Scenario
from paofed.world.table.door import read
from paofed.world.trace import Trace
from tests.effort import effort, some
from tests.world.table.tables import fleet as fleet_of
from tests.world.table.tables import hourly, table, write
from tests.world.test_laws import assert_binomial, assert_normal, fleet

TICKS, CLIENTS = 200, 12
RUNS = effort(everyday=700, thorough=2000)
START, END = 50, 120
SENSORS: dict[str, dict[str, Any]] = {
    "stuck": {},
    "scaled": {"by": 10.0},
    "spikes": {"size": 1e6, "probability": 0.3},
    "drift": {"per_tick": 0.02},
    "noise": {"deviation": 5.0},
}


def small(*faults: dict[str, Any], samples: int = TICKS) -> Scenario:
    """Twelve clients with samples at some ticks, or all."""
    return fleet(CLIENTS, TICKS, stream={"samples": [samples]}, faults=list(faults))


def fault(kind: str, **changes: Any) -> dict[str, Any]:
    timed = {"start": START, "end": END, "clients": [2, 5]}
    return {"kind": kind, **timed, **SENSORS.get(kind, {}), **changes}


def hit_cells(right: Trace, wrong: Trace) -> BoolArray:
    cells: BoolArray = (wrong.y != right.y) | (wrong.x != right.x).any(axis=-1)
    return cells


def values(trace: Trace, client: int = 2) -> FloatArray:
    y: FloatArray = trace.y[START:END, client]
    return y


def test_there_are_five_kinds_of_readings_and_two_of_messages() -> None:
    assert {kind for kind, law in KINDS.items() if issubclass(law, FaultyReadings)} == set(SENSORS)
    assert set(KINDS) - set(SENSORS) == {"garbage", "liar"}


@pytest.mark.parametrize(("kind", "what"), some(product(SENSORS, ["target", 0, 3]), everyday=8))
def test_only_who_is_hit_and_only_then_and_only_that(kind: str, what: str | int) -> None:
    right, wrong = realize(small(samples=120)), realize(small(fault(kind, what=what), samples=120))
    cells = hit_cells(right, wrong)
    outside = np.ones((TICKS, CLIENTS), dtype=bool)
    outside[START:END, [2, 5]] = False
    assert not cells[outside].any()
    assert cells[START:END, [2, 5]].sum() > 10
    target = what == "target"
    assert np.array_equal(wrong.x, right.x) == target
    assert np.array_equal(wrong.y, right.y) != target
    others = [i for i in range(4) if i != what]
    np.testing.assert_array_equal(wrong.x[..., others], right.x[..., others])
    for name in ("has_data", "available", "delay", "lottery", "x_test", "y_test", "phases"):
        np.testing.assert_array_equal(getattr(wrong, name), getattr(right, name), name)


def test_stuck_at_a_value_or_at_the_last_one_before() -> None:
    at = realize(small(fault("stuck", at=50.0)))
    assert set(values(at)) == {50.0}
    right, wrong = realize(small()), realize(small(fault("stuck")))
    assert set(values(wrong)) == {right.y[START - 1, 2]}
    assert right.y[START - 1, 2] != right.y[START - 1, 5]
    assert set(values(wrong, 5)) == {right.y[START - 1, 5]}


def test_without_a_value_before_it_is_stuck_at_the_first() -> None:
    wrong = realize(small(fault("stuck", start=0), samples=60))
    there = wrong.has_data[:END, 2]
    first = realize(small(samples=60)).y[:END, 2][there][0]
    assert set(wrong.y[:END, 2][there]) == {first}


def test_scaled_and_drift_are_arithmetic() -> None:
    right = realize(small())
    np.testing.assert_array_equal(values(realize(small(fault("scaled")))), 10 * values(right))
    drifted = realize(small(fault("drift")))
    np.testing.assert_array_equal(
        values(drifted), values(right) + 0.02 * np.arange(1, END - START + 1)
    )


def test_spikes_of_a_size_in_both_directions_as_often_as_said() -> None:
    """3 comparisons: false-alarm rate below 2e-9."""
    everybody = fault("spikes", clients=list(range(CLIENTS)))
    right, wrong = realize(small()), realize(small(everybody))
    off = (wrong.y - right.y)[START:END]
    assert_binomial(off != 0, 0.3)
    assert_binomial(off[off != 0] > 0, 0.5)
    np.testing.assert_allclose(np.abs(off[off != 0]), 1e6, rtol=1e-12)
    assert_binomial(off[1:][off[:-1] != 0] != 0, 0.3)


def test_a_single_spike() -> None:
    one = fault("spikes", probability=1.0, count=1)
    cells = hit_cells(realize(small(samples=60)), realize(small(one, samples=60)))
    assert cells.sum(axis=0).tolist() == [0, 0, 1, 0, 0, 1] + [0] * 6
    there = realize(small(samples=60)).has_data[START:END, 2]
    assert np.flatnonzero(cells[START:, 2])[0] == np.flatnonzero(there)[0]
    rare = hit_cells(realize(small()), realize(small(fault("spikes", count=3))))
    assert rare.sum(axis=0)[[2, 5]].tolist() == [3, 3]


def test_noise_is_normal() -> None:
    """False-alarm rate below 1e-8."""
    everybody = fault("noise", clients=list(range(CLIENTS)))
    off = (realize(small(everybody)).y - realize(small()).y)[START:END]
    assert_normal(off.ravel() / 5.0)


def test_faults_come_one_after_the_other() -> None:
    both = realize(small(fault("scaled"), fault("drift")))
    other = realize(small(fault("drift"), fault("scaled")))
    grown = 0.02 * np.arange(1, END - START + 1)
    right = values(realize(small()))
    np.testing.assert_array_equal(values(both), 10 * right + grown)
    np.testing.assert_array_equal(values(other), 10 * (right + grown))


@pytest.mark.parametrize(("clients", "count"), [(7, 7), (12, 12), (0.25, 3), (0.01, 1)])
def test_as_many_as_said_are_hit_anew_in_every_run(clients: float, count: int) -> None:
    scenario = small(fault("scaled", clients=clients))
    hits = []
    for world, run in [(0, 0), (0, 1), (1, 0), (2, 0), (3, 0), (4, 0)]:
        right = realize(small(), world, run, seed=9)
        wrong = realize(scenario, world, run, seed=9)
        cells = hit_cells(right, wrong)
        hits.append(tuple(bool(cells[:, k].any()) for k in range(CLIENTS)))
        again = realize(scenario, world, run, seed=9)
        np.testing.assert_array_equal(again.y, wrong.y)
        key = keys_of(9, world, run).up
        assert hits[-1] == tuple(scenario.faults[0].picked(0, key, CLIENTS).tolist())
    assert {sum(hit) for hit in hits} == {count}
    assert (len(set(hits)) > 1) == (count < CLIENTS)


def test_everybody_is_picked_equally_often_and_faults_pick_for_themselves() -> None:
    """60 + 1 comparisons: false-alarm rate below 4e-8."""
    law = Fault(clients=0.2)
    picked = np.array([law.picked(0, keys_of(i).up, 60) for i in range(RUNS)])
    for client in range(60):
        assert_binomial(picked[:, client], 0.2)
    other = np.array([law.picked(1, keys_of(i).up, 60) for i in range(RUNS)])
    assert_binomial(other[:, 7][picked[:, 7]], 0.2)


def test_clients_alone_see_what_they_see_in_the_fleet() -> None:
    scenario = small(*(fault(kind, clients=0.5) for kind in SENSORS), samples=120)
    whole, some = realize(scenario), realize(scenario, clients=np.array([7, 2, 5]))
    np.testing.assert_array_equal(some.y, whole.y[:, [7, 2, 5]])
    np.testing.assert_array_equal(some.x, whole.x[:, [7, 2, 5]])


@pytest.fixture(scope="module")
def readings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The target of this table is never negative."""
    lines = [line.replace(",-", ",") for line in hourly(5, 60)]
    return write(tmp_path_factory.mktemp("table") / "t.csv", lines)


@pytest.mark.parametrize("target", ["y", "y:log1p"])
def test_values_of_a_table_are_those_measured(readings: Path, target: str) -> None:
    stream = table(readings, target=target)
    law = {"kind": "scaled", "by": 1000.0, "clients": [1]}
    scenario = fleet_of(stream, faults=[law])
    raw = read(table(readings, target="y:raw")).y
    listed, (_, unit) = realize_samples(scenario), column_of("target", scenario.units)
    mine = listed.client == 1
    np.testing.assert_allclose(unit.measured(listed.y[mine]), 1000 * raw[mine], rtol=1e-9)
    np.testing.assert_array_equal(listed.y[~mine], listed.truth[~mine])
    np.testing.assert_array_equal(listed.truth, read(stream).y)
    np.testing.assert_array_equal(realize(scenario).sparse().y, listed.y)


def test_an_input_of_a_table_goes_by_its_column(readings: Path) -> None:
    stream = table(readings, inputs=["a", "b:log1p"])
    scenario = fleet_of(stream, faults=[{"kind": "stuck", "at": 3.0, "clients": [0], "what": "b"}])
    listed = realize_samples(scenario)
    mine = listed.client == 0
    place, b = column_of("b", scenario.units)
    assert place == 1
    np.testing.assert_allclose(b.measured(listed.x[mine, 1]), 3.0)
    np.testing.assert_array_equal(listed.x[:, 0], read(stream).x[:, 0])
    np.testing.assert_array_equal(listed.y, read(stream).y)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"what": "c"}, "faults.0.what is 'c': expected target or an input (a, hour, 0 to 2)"),
        ({"what": 3}, "faults.0.what is 3: expected target or an input"),
        ({"what": "hour"}, "hour is not one number, or has lags: expected target or another input"),
        ({"clients": [5]}, "faults.0.clients is [5], but there are 5 clients, 0 to 4"),
    ],
)
def test_what_a_table_does_not_have(readings: Path, changes: dict[str, Any], says: str) -> None:
    lines = readings.read_text(encoding="utf-8").splitlines()
    hours = [f"{line},{i % 24}" for i, line in enumerate(lines[1:])]
    path = write(readings.with_name("hours.csv"), hours, f"{lines[0]},hour")
    stream = table(path, inputs=["a", "hour:cyclic=24"])
    wrong = {"kind": "scaled", "by": 10.0, "clients": [1], **changes}
    with pytest.raises(ScenarioError) as refusal:
        Scenario.made({**fleet_of(stream).model_dump(), "faults": [wrong]}, "fleet.toml")
    assert says in str(refusal.value)


def test_a_share_is_rounded() -> None:
    assert [Fault(clients=0.1).how_many(k) for k in (1, 6, 24, 256)] == [1, 1, 2, 26]
    assert math.isclose(sum(Fault(clients=0.1).picked(0, keys_of(0).up, 256)), 26)


@pytest.mark.parametrize("what", ["target", "a"])
def test_what_has_lags_cannot_be_faulty(readings: Path, what: str) -> None:
    """The lags would have to be faulty as well."""
    stream = table(readings, inputs=["a", "a:lag=1", "y:lag=1"])
    wrong = {"kind": "scaled", "by": 10.0, "clients": [1], "what": what}
    with pytest.raises(ScenarioError, match="lags"):
        Scenario.made({**fleet_of(stream).model_dump(), "faults": [wrong]}, "fleet.toml")


def test_a_fault_of_a_sensor_must_say_what_it_changes() -> None:
    """A kind that forgets to would otherwise leave all readings right, and nobody would notice."""
    nothing = np.zeros(0, dtype=np.int64)
    hits = Hits(nothing, nothing, nothing, np.zeros((4, 0), dtype=np.uint64))
    with pytest.raises(NotImplementedError):
        FaultyReadings(clients=1).changed(np.zeros(0), hits)
    for kind in KINDS.values():
        if issubclass(kind, FaultyReadings):
            assert kind.changed is not FaultyReadings.changed
