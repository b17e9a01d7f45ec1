"""What a device's model sees: the same as over a table, and what a manifest may say of it."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.core.columns.calendar import Calendar
from paofed.core.columns.categories import Compass, OneHot
from paofed.core.columns.numbers import Cyclic, Number
from paofed.core.columns.transform import Transform
from paofed.errors import InputError
from paofed.live.device.footprint import footprint
from paofed.live.device.state import load_state, save_state
from paofed.live.model.fleet_model import FleetModel
from paofed.live.protocol.change import Changes, changed_manifest
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.quantity import ManifestError, Quantity
from paofed.live.protocol.seen import agreed_on
from paofed.world.table.door import read
from tests.live.fleets import manifest
from tests.world.table.tables import table, write

HOUR = 3600.0
TARGET = Number("y", 1.0, 0.5, logarithm=True)
INPUTS = (Number("a", lag=1), Number("y", 1.0, 0.5, logarithm=True, lag=2), Compass("wind"))


def seeing(*columns: Transform, target: Number = TARGET, **changes: Any) -> Manifest:
    """A small fleet that sees some columns."""
    agreed = agreed_on([*(columns or INPUTS), target])
    told = {"inputs": agreed.inputs, "target": agreed.target, "seen": agreed.seen, **changes}
    return manifest(features=10, tick_seconds=HOUR, **told)


def test_a_device_sees_what_a_table_showed(tmp_path: Path) -> None:
    """The readings of one device, row by row, with all that a table may lack."""
    rng = np.random.default_rng(5)
    lines = []
    for hour in range(80):
        y, a = np.exp(rng.normal(size=2)).round(4).tolist()
        cells = [y, a, rng.choice(["N", "sw", "E"]), rng.choice(["wet", "dry"])]
        cells = ["" if rng.random() < 0.08 else cell for cell in cells]
        if rng.random() > 0.1 or hour in (0, 79):
            time = f"2024-05-{1 + hour // 24:02d} {hour % 24:02d}:00"
            lines.append(",".join(map(str, ["d0", time, *cells])))
    path = write(tmp_path / "t.csv", lines, "device,time,y,a,wind,kind")
    inputs = ["a", "a:log1p:lag=1", "a:diff=2", "y:log1p:lag=1", "wind:compass", "kind:one-hot",
              "time:hour", "time:weekday", "time:cyclic=1w"]  # fmt: skip
    told = table(path, inputs=inputs, target="y:log1p", calibration="30h", tick="1h")
    readings = read(told)
    begin, origin = 1_714_521_600.0, readings.timeline.origin
    agreed = agreed_on(readings.columns)
    edge = Edge(
        manifest(
            inputs=agreed.inputs,
            target=agreed.target,
            seen=agreed.seen,
            tick_seconds=HOUR,
            start=origin - HOUR / 2,
        ),
        0,
    )
    assert [number.name for number in agreed.inputs] == ["a", "wind", "kind"]
    found = {}
    for line in lines:
        _, time, y, *x = line.split(",")
        at = begin + HOUR * (24 * (int(time[8:10]) - 1) + int(time[11:13]))
        values = [float(x[0]) if x[0] else None, *(text or None for text in x[1:])]
        known = float(y) if y else None
        if known is not None and None not in values:
            sample: list[Any] = list(values)
            numbers = edge._numbers(sample, at)
            if np.isfinite(numbers).all() and at >= origin:
                found[round((at - origin) / HOUR)] = numbers
        edge.remember(values, known, at)
    assert sorted(found) == readings.tick.tolist()
    assert 5 < len(found) < 40
    np.testing.assert_allclose(np.stack([*found.values()]), readings.x, rtol=1e-12, atol=1e-12)


def test_plain_numbers_need_no_word_in_the_manifest() -> None:
    agreed = agreed_on([Number("a", 1.0, 2.0), Number("b"), Number("y", 3.0, 4.0)])
    assert agreed.seen is None
    assert agreed.inputs[0] == Quantity(name="a", offset=1.0, scale=2.0, low=-19.0, high=21.0)
    written = json.loads(manifest().to_json())
    assert written["wire"] == 2
    assert [*written][-3:] == ["aside", "bound", "probes"]


def test_a_manifest_that_sees_columns_survives_json() -> None:
    agreed = seeing(
        *INPUTS, OneHot("kind", ("x", "y")), Calendar("time", "hour"), Cyclic("a", 24.0)
    )
    text = agreed.to_json()
    assert json.loads(text)["wire"] == 3
    assert Manifest.from_json(text) == agreed
    assert agreed.numbers == 4 + 2 + 2 + 2


def _without(change: dict[str, Any]) -> str:
    values = json.loads(seeing().to_json())
    values["seen"] = {**values["seen"], **change}
    return json.dumps(values)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"inputs": [{"transform": "wavelet", "name": "a"}]}, "unknown transform.*upgrade paofed$"),
        ({"inputs": [{"transform": "compass", "name": "wind", "x": 1}]}, "upgrade paofed$"),
        ({"outputs": []}, "unknown key of seen 'outputs'.*upgrade paofed$"),
        ({"inputs": {}}, "seen inputs is {}: expected a list of columns"),
        ({"inputs": []}, "expected at least one column"),
        ({"target": {"transform": "compass", "name": "y"}}, "target is a compass: expected a num"),
        ({"target": {"transform": "number", "name": "z"}}, "seen target is 'z': expected y itself"),
        ({"inputs": [{"transform": "compass", "name": "wind"}]}, "'a': expected what some column"),
        ({"inputs": [{"transform": "number", "name": "y"}]}, "expected an input, or the target be"),
    ],
)
def test_what_cannot_be_seen(change: dict[str, Any], expected: str) -> None:
    with pytest.raises(ManifestError, match=expected) as refusal:
        Manifest.from_json(_without(change))
    assert "\n" not in str(refusal.value)


def test_a_column_is_of_numbers_or_of_texts() -> None:
    with pytest.raises(ManifestError, match="expected either numbers or texts"):
        seeing(Number("a"), Compass("a"))


def test_nothing_is_called_time_where_the_time_is_seen() -> None:
    seeing(Number("time"))
    with pytest.raises(ManifestError, match="another name, since the time of a sample is seen"):
        seeing(Number("time"), Calendar("x", "hour"))


def test_a_target_must_be_one_number() -> None:
    with pytest.raises(ManifestError, match="expected a target of one number"):
        agreed_on([Number("a"), Compass("wind")])


def test_a_prediction_is_in_the_unit_of_the_target() -> None:
    edge = Edge(seeing(Number("a")), 0)
    assert edge.predict([3.0], 0.0) == pytest.approx(math.expm1(1.0))  # a model of zeros
    for _ in range(200):
        edge.learn([3.0], 7.0)
    assert edge.predict([3.0]) == pytest.approx(7.0)
    with pytest.raises(InputError, match="predict with its `device`"):
        FleetModel(edge.manifest, 0, edge.w).predict(np.array([3.0]))
    assert FleetModel(edge.manifest, 0, edge.w).device().predict([3.0]) == edge.predict([3.0])


def test_samples_without_a_past_are_counted_apart() -> None:
    edge = Edge(seeing(), 0)
    y = 5.0
    assert not edge.learn([1.0, "N"], y, 0.0)
    assert not edge.learn([2.0, "N"], y, HOUR)
    assert edge.learn([2.0, "N"], y, 2 * HOUR)
    assert not edge.learn([2.0, "N"], y, 4 * HOUR)  # a tick was left out
    assert not edge.learn([1e9, "N"], y, 5 * HOUR)
    assert (edge.unknown_past, edge.implausible, edge.recent.samples) == (3, 1, 1)
    assert math.isnan(edge.predict([2.0, "N"], 6 * HOUR))  # what was not plausible is not known
    edge.remember([3.0, None], y, 6 * HOUR)
    assert math.isnan(edge.predict([2.0, "N"], 7 * HOUR + HOUR))
    edge.remember([3.0, None], None, 7 * HOUR)
    assert math.isfinite(edge.predict([2.0, "N"], 8 * HOUR))


def test_what_has_no_logarithm_is_not_plausible() -> None:
    columns = Number("a", logarithm=True)
    agreed = replace(seeing(columns), inputs=(Quantity(name="a"),), target=Quantity(name="y"))
    edge = Edge(agreed, 0)
    assert not edge.learn([-1.0], 3.0)
    assert not edge.learn([1.0], -2.0)
    assert edge.implausible == 2
    assert agreed.implausible([-1.0], 3.0) == "a is -1: expected more than -1, for its log1p"


@pytest.mark.parametrize(
    ("x", "at", "expected"),
    [
        ([1.0, "up"], 0.0, "column wind holds 'up', which is no direction"),
        ([1.0, ""], 0.0, "wind is '': expected a text"),
        ([1.0, 7.0], 0.0, "wind is 7.0: expected a text"),
        (["N", "N"], 0.0, "a is 'N': expected a finite number"),
        ([math.nan, "N"], 0.0, "a is nan: expected a finite number"),
        ([1.0], 0.0, "expected a, wind"),
        ([1.0, "N"], None, "the time of the sample is None: expected seconds since 1970"),
    ],
)
def test_what_no_device_can_read(x: list[Any], at: float | None, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        Edge(seeing(), 0).predict(x, at)


def test_what_is_remembered_survives_a_power_cut_and_no_new_manifest(tmp_path: Path) -> None:
    agreed = seeing()
    edge, again = Edge(agreed, 0), Edge(agreed, 0)
    for tick in range(3):
        edge.learn([float(tick), "N"], 5.0 + tick, tick * HOUR)
    save_state(tmp_path / "state.npz", edge)
    assert load_state(tmp_path / "state.npz", again)
    assert again.predict([1.0, "E"], 3 * HOUR) == edge.predict([1.0, "E"], 3 * HOUR)
    assert math.isfinite(again.predict([1.0, "E"], 3 * HOUR))
    other = edge.under(replace(agreed, epoch=agreed.next_epoch))
    assert math.isnan(other.predict([1.0, "E"], 3 * HOUR))
    plain = Edge(seeing(Number("a"), Compass("wind")), 0)
    assert load_state(tmp_path / "state.npz", plain)  # what is not looked back at is left


def test_a_clock_that_was_wrong_costs_a_few_samples() -> None:
    edge = Edge(seeing(), 0)
    for tick in (0, 1, 10**6, 2, 3):
        edge.remember([1.0, None], 5.0, tick * HOUR)
    assert math.isfinite(edge.predict([1.0, "N"], 4 * HOUR))
    assert len(edge.remembered.arrays()["past_ticks"]) == 2


def test_an_input_can_be_added() -> None:
    agreed = seeing()
    added = changed_manifest(agreed, Changes(inputs=(Quantity(name="b", offset=2.0, scale=3.0),)))
    assert added.seen is not None
    assert added.seen.inputs == (*INPUTS, Number("b", 2.0, 3.0))
    assert not added.means_the_same(agreed)


def test_memory_for_the_past_is_counted() -> None:
    plain, looking = (seeing(Number("a", lag=lag), Compass("wind")) for lag in (0, 100))
    difference = footprint(looking, "f", 0).memory - footprint(plain, "f", 0).memory
    assert difference == 8 * 100
