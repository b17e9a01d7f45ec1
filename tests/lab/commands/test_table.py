import json
from pathlib import Path

import pytest

from lab.commands import main
from lab.commands.table import cost, long_life, many_readings
from paofed import algorithm
from paofed.world.scenario import Scenario
from paofed.world.table.door import read
from tests.effort import long
from tests.world.table.tables import fleet, hourly, table, write


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "t.csv", hourly(2, 60))


def test_every_stage_takes_some_time_and_memory(file: Path) -> None:
    found = cost(fleet(table(file)), [algorithm("pao-fed-u1")], workers=2)
    assert min(found.reading, found.baselines, found.newcomers, found.everything) > 0
    assert found.peak_megabytes > 50


@long
def test_it_is_told_as_a_table_and_as_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = "--device device --time time --target y --inputs a,b --calibration 10h"
    words = ["table", "--table", str(file), *columns.split()]
    assert main(words) == 0
    assert "2 devices, 50 ticks: 100 cells, 100 readings" in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) >= {"reading", "peak_megabytes"}


def test_a_long_life_is_nearly_all_gaps(tmp_path: Path) -> None:
    scenario = long_life(tmp_path)
    readings = read(scenario.table)
    assert len(readings.y) + len(readings.y_past) == 17_000
    assert scenario.clients == 655
    assert scenario.clients * scenario.ticks > 2_500 * len(readings.y)
    assert scenario.availability == Scenario.load("setting-1").availability


def test_a_table_made_for_it_is_the_only_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", "air-quality", "--sparse"]) == 2
    assert "leave every other one out" in capsys.readouterr().err
    assert main(["table", "--sparse", "--readings", "100"]) == 2
    assert "leave every other one out" in capsys.readouterr().err
    assert main(["table", "air-quality", "--devices", "3"]) == 2
    assert "give its --readings, too" in capsys.readouterr().err
    assert main(["table", "--readings", "2", "--devices", "3"]) == 2
    assert "a reading or more of each" in capsys.readouterr().err


def test_a_fleet_of_many_readings_has_as_many_as_were_asked_for(tmp_path: Path) -> None:
    scenario = many_readings(tmp_path, 120, 3)
    readings = read(scenario.table)
    assert len(readings.y) + len(readings.y_past) == 120
    assert scenario.clients == 3


@long
def test_the_algorithms_named_are_run_over_a_table_made_for_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["--readings", "300", "--devices", "3", "--algorithm", "pao-fed-u1"]
    assert main(["table", *words]) == 0
    told = capsys.readouterr().out
    assert "3 devices" in told
    assert "1 algorithms" in told
