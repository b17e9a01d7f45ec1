"""A scenario over a table of readings: what it takes from the table, and what it refuses."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.core.features import median_distance
from paofed.errors import ScenarioError
from paofed.world.realize import realize
from paofed.world.scenario import Scenario
from paofed.world.table.door import read
from tests.world.table.tables import fleet, hourly, table, with_gaps, write

TEXT = """\
name = "greenhouse"
features = 9
step_size = 0.4
max_age = 3

[stream]
kind = "table"
file = "readings.csv"
device = "device"
time = "time"
target = "y"
inputs = ["a", "b"]
calibration = "10h"

[availability]
kind = "bernoulli"
probabilities = [0.8, 0.4]

[delay]
kind = "none"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three devices, 40 hours, of which 10 calibrate."""
    write(tmp_path / "readings.csv", with_gaps(hourly(3, 40)))
    return tmp_path


def complaint(text: str, folder: Path) -> tuple[str, str]:
    """The line of the file that a refusal points at, and what it says: one line."""
    with pytest.raises(ScenarioError) as refusal:
        Scenario.parse(text, "fleet.toml", folder)
    place, _, says = str(refusal.value).partition(": ")
    assert "\n" not in says
    name, _, number = place.partition(":")
    assert name == "fleet.toml"
    return text.split("\n")[int(number) - 1] if number else "", says


def changed(old: str, new: str) -> str:
    assert TEXT.count(old) == 1
    return TEXT.replace(old, new)


def test_the_table_says_how_large_the_fleet_is_and_how_wide_the_kernel(folder: Path) -> None:
    (folder / "fleet.toml").write_text(TEXT)
    scenario = Scenario.load(folder / "fleet.toml")
    readings = read(scenario.table)
    assert (scenario.ticks, scenario.clients, scenario.test_samples) == (30, 3, 500)
    assert scenario.kernel_width == median_distance(readings.x_past) == readings.kernel_width
    between = [
        np.linalg.norm(one - other)
        for i, one in enumerate(readings.x_past)
        for other in readings.x_past[:i]
    ]
    assert scenario.kernel_width == pytest.approx(np.median(between))


def test_what_the_scenario_says_itself_wins(folder: Path) -> None:
    text = "kernel_width = 2.5\ntest_samples = 7\nticks = 30\nclients = 3\n" + TEXT
    scenario = Scenario.parse(text, "fleet.toml", folder)
    assert (scenario.kernel_width, scenario.test_samples) == (2.5, 7)


def test_a_target_does_not_predict_itself(folder: Path) -> None:
    at, says = complaint(changed('inputs = ["a", "b"]', 'inputs = ["a", "y:raw"]'), folder)
    assert at == "[stream]"
    assert says == (
        "y is the target and an input: expected other inputs, or an earlier value of y, as in "
        "y:lag=1"
    )


@pytest.mark.parametrize("target", ["y:lag=1", "y:diff=1", "time:hour"])
def test_a_target_is_of_the_reading_itself(folder: Path, target: str) -> None:
    _, says = complaint(changed('target = "y"', f'target = "{target}"'), folder)
    assert says.endswith("expected a target of one number: standardised, log1p or raw")


def test_a_weekday_is_that_of_the_time(folder: Path) -> None:
    _, says = complaint(changed('inputs = ["a", "b"]', 'inputs = ["a", "b:weekday"]'), folder)
    assert says == (
        "b:weekday is no input: expected time:weekday, since the weekday is that of the time of a "
        "reading"
    )


def test_inputs_that_are_mostly_equal_need_a_kernel_width(folder: Path) -> None:
    keys = [line.rsplit(",", 2)[0] for line in hourly(3, 40)]
    rare = [f"{key},{i % 20 == 0:d},1" for i, key in enumerate(keys)]
    write(folder / "readings.csv", rare)
    text = changed('inputs = ["a", "b"]', 'inputs = ["a:raw", "b:raw"]')
    at, says = complaint(text, folder)
    assert at == "[stream]"
    assert says.endswith("is no kernel width: give `kernel_width`")
    assert Scenario.parse("kernel_width = 1.5\n" + text, "fleet.toml", folder).kernel_width == 1.5


@pytest.mark.parametrize(("line", "has"), [("ticks = 31", 30), ("clients = 2", 3)])
def test_what_contradicts_the_table_is_refused(folder: Path, line: str, has: int) -> None:
    key, _, value = line.split()
    expected = line, f"{key} is {value}, but the table has {has}: leave it out"
    assert complaint(f"{line}\n{TEXT}", folder) == expected


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('target = "y"', 'target = "y:compass"', "stream.target is 'y:compass': expected a target"),
        ('inputs = ["a", "b"]', 'inputs = ["a:raw=2"]', "stream.inputs.0 is 'a:raw=2': 'a:raw=2' "),
        ('time = "time"', "time = 3", "stream.time is 3: expected a list"),
        ('device = "device"', 'devise = "device"',
         "unknown key 'devise': did you mean 'device'? (known: kind, file, device, wide, time, "),
        ('calibration = "10h"', 'score_form = "20h"',
         "unknown key 'score_form': did you mean 'score_from'?"),
    ],
)  # fmt: skip
def test_a_bad_value_is_told_with_its_key_and_line(
    folder: Path, old: str, new: str, says: str
) -> None:
    # What a table would say is not known then, so nothing contradicts it.
    for text in (changed(old, new), f"ticks = 30\nclients = 3\n{changed(old, new)}"):
        at, said = complaint(text, folder)
        assert at == new
        assert said.startswith(says)


def test_a_missing_key(folder: Path) -> None:
    assert complaint(changed('target = "y"\n', ""), folder) == (
        "[stream]",
        "stream.target is missing",
    )


def test_a_table_says_where_its_devices_are(folder: Path) -> None:
    at, says = complaint(changed('device = "device"\n', ""), folder)
    assert at == "[stream]"
    assert says == (
        "expected `device`, the column that names the device, or `wide`, what all columns but the "
        "time measure: one of the two"
    )


def unlike(line: int, *cells: str) -> list[str]:
    """The readings with one line changed; where a cell is empty, the old one stays."""
    lines = hourly(3, 40)
    old = lines[line - 2].split(",")
    lines[line - 2] = ",".join(new or was for new, was in zip(cells, old, strict=True))
    return lines


CONSTANT = [",".join([*line.split(",")[:3], "7", line.split(",")[4]]) for line in hourly(3, 40)]


@pytest.mark.parametrize(
    ("old", "new", "lines", "says"),
    [
        ('target = "y"', 'target = "z"', hourly(3, 40),
         "unknown column 'z' (known: device, time, y, a, b)"),
        ("", "", unlike(50, "", "noon", "", "", ""), ", line 50: 'noon' is no time: expected one "),
        ("", "", CONSTANT, "a is always 7 in the calibration period, so it has no spread"),
        ('calibration = "10h"', 'calibration = "soon"', hourly(3, 40),
         "calibration is 'soon': expected a time such as "),
        ('file = "readings.csv"', 'file = "nowhere.csv"', hourly(3, 40),
         "nowhere.csv cannot be read: No such file or directory"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_table_points_at_the_stream(
    folder: Path, old: str, new: str, lines: list[str], says: str
) -> None:
    write(folder / "readings.csv", lines)
    at, said = complaint(changed(old, new) if old else TEXT, folder)
    assert at == (new if "calibration" in new else "[stream]")
    assert says in said


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"score_from": "50%", "tick": "1h", "missing": ("?", "é"), "duplicates": "last"},
        {"inputs": ("a:log1p", "time:cyclic=1d", "b:raw"), "target": "y:raw"},
    ],
)
def test_written_and_read_it_is_itself(tmp_path: Path, changes: dict[str, Any]) -> None:
    lines = [line.replace(",-", ",") for line in hourly(3, 40)]  # log1p takes no -1
    scenario = fleet(table(write(tmp_path / 'a "b" ü.csv', lines), **changes), test_samples=5)
    text = scenario.to_toml()
    assert "ticks" not in text  # nor anything else that the table says
    assert "clients" not in text
    assert Scenario.parse(text, "again", tmp_path / "other") == scenario
    assert Scenario.model_validate(scenario.model_dump()) == scenario


def test_what_needs_laws_refuses_a_table_and_what_needs_a_table_refuses_laws(folder: Path) -> None:
    scenario = Scenario.parse(TEXT, "fleet.toml", folder)
    with pytest.raises(ScenarioError, match="greenhouse takes its samples from a table, whose law"):
        _ = scenario.synthetic
    with pytest.raises(ScenarioError, match="ideal has no table of readings: expected a stream of"):
        _ = Scenario.load("ideal").table


def test_groups_of_presence_go_round_the_devices_of_a_table(folder: Path) -> None:
    """Nobody can choose how many devices a table has, so groups need not divide them."""
    text = changed("[0.8, 0.4]", "[1.0, 0.0]")
    trace = realize(Scenario.parse(text, "fleet.toml", folder))
    there = trace.available.sum(axis=0)
    np.testing.assert_array_equal(there, trace.has_data.sum(axis=0) * [1, 0, 1])
    more = Scenario.parse(changed("[0.8, 0.4]", "[1.0, 1.0, 1.0, 0.0]"), "fleet.toml", folder)
    np.testing.assert_array_equal(realize(more).available, trace.has_data)


def test_recorded_presence_and_delays_over_a_table(folder: Path) -> None:
    rng = np.random.default_rng(0)
    there, late = rng.random((30, 3)) < 0.5, rng.integers(0, 9, size=(30, 3))
    np.save(folder / "there.npy", there)
    np.savetxt(folder / "late.csv", late, fmt="%d", delimiter=",")
    recorded = '[availability]\nkind = "recorded"\nfile = "there.npy"\n'
    recorded += '[delay]\nkind = "recorded"\nfile = "late.csv"\n'
    text = TEXT.split("[availability]")[0] + recorded
    trace = realize(Scenario.parse(text, "fleet.toml", folder))
    np.testing.assert_array_equal(trace.available, trace.has_data & there)
    np.testing.assert_array_equal(trace.delay, late)
    np.save(folder / "there.npy", there[:29])
    at, said = complaint(text, folder)
    assert at == 'file = "there.npy"'
    assert said.endswith("expected one row per tick and one column per client, (30, 3)")


def test_the_preset_over_a_real_sample() -> None:
    scenario = Scenario.load("air-quality")
    assert (scenario.clients, scenario.kernel_width, scenario.test_samples) == (12, 3.0, 500)
    readings = read(scenario.table)
    assert (readings.ticks, len(readings.devices)) == (scenario.ticks, 12)
    assert 0.5 < len(readings.y) / (12 * scenario.ticks) < 1


def test_how_a_fleet_over_a_table_begins(folder: Path) -> None:
    """Defaults of tables; said otherwise, the old way; written out and read back either way."""
    usual = Scenario.parse(TEXT, "fleet.toml", folder)
    assert (usual.linear, usual.start, usual.newcomers) == (True, "calibration", "whole")
    assert usual.personal
    said = 'linear = false\nstart = "zeros"\nnewcomers = "windows"\npersonal = false\n' + TEXT
    old = Scenario.parse(said, "fleet.toml", folder)
    assert (old.linear, old.start, old.newcomers) == (False, "zeros", "windows")
    assert not old.personal
    for scenario in (usual, old):
        assert Scenario.parse(scenario.to_toml(), "again", folder) == scenario


def test_linear_terms_need_room(folder: Path) -> None:
    at, says = complaint(changed("features = 9", "features = 4"), folder)
    assert at == "features = 4"
    assert says.startswith("features is 4: expected at least 5, since the linear terms of 2 inputs")
    small = "linear = false\n" + changed("features = 9", "features = 4")
    assert Scenario.parse(small, "fleet.toml", folder).features == 4


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("personal = true", "personal is true, but a synthetic stream has no calibration period"),
        ("linear = true", "linear is true, but a synthetic stream has no calibration period"),
        ('start = "calibration"', "start is 'calibration', but a synthetic stream has no"),
    ],
)
def test_what_needs_a_calibration_period_needs_a_table(line: str, says: str) -> None:
    text = f"{line}\n{Scenario.load('ideal').to_toml()}"
    for key in ("linear = false\n", "personal = false\n", 'start = "zeros"\n'):
        if line.startswith(key[:5]):
            text = text.replace(key, "")
    with pytest.raises(ScenarioError, match=f"^here:1: {says}"):
        Scenario.parse(text, "here")


def test_a_table_has_the_laws_of_another_scenario(tmp_path: Path) -> None:
    path = write(tmp_path / "green.house.csv", hourly(3, 60))
    said = {"device": "device", "time": "time", "target": "y", "inputs": ["a", "b"]}
    alone = Scenario.of_table(path, said)
    assert (alone.name, alone.clients, alone.linear) == ("green", 3, True)
    assert alone.availability.kind == Scenario.load("ideal").availability.kind
    other = Scenario.of_table(str(path), said, "setting-1", features=9)
    assert other == alone.replace(
        **{key: getattr(Scenario.load("setting-1"), key) for key in ("availability", "delay")},
        features=9,
    )
    with pytest.raises(ScenarioError, match=r"unknown key 'stream\.targett'|targett"):
        Scenario.of_table(path, {**said, "targett": "y"})
