import json
from pathlib import Path

import pytest

from paofed import algorithm
from paofed.bench.readings import cost
from paofed.cli import main
from tests.world.table.tables import fleet, hourly, table, write


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "t.csv", hourly(2, 60))


def test_every_stage_takes_some_time_and_memory(file: Path) -> None:
    found = cost(fleet(table(file)), [algorithm("pao-fed-u1")], workers=2)
    assert min(found.reading, found.baselines, found.newcomers, found.everything) > 0
    assert found.peak_megabytes > 50


def test_it_is_told_as_a_table_and_as_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = "--device device --time time --target y --inputs a,b --calibration 10h"
    words = ["bench", "table", "--table", str(file), *columns.split()]
    assert main(words) == 0
    assert "2 devices, 50 ticks" in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) >= {"reading", "peak_megabytes"}
