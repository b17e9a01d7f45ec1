import json
from pathlib import Path

import pytest

from lab.commands import main
from lab.commands.table import cost, long_life
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
    assert "leave SCENARIO and --table out" in capsys.readouterr().err
