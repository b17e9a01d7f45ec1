import json

import pytest

from paofed import Scenario, algorithm
from paofed.bench.readings import cost
from paofed.cli import main


def test_every_stage_takes_some_time_and_memory() -> None:
    found = cost(Scenario.load("air-quality"), [algorithm("pao-fed-u1")])
    assert all(part > 0 for part in found)
    assert found.everything > found.reading + found.algorithms
    assert 50 < found.peak_megabytes < 2000


def test_it_is_told_as_a_table_and_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "table", "air-quality"]) == 0
    assert "12 devices, 1,368 ticks" in capsys.readouterr().out
    assert main(["bench", "table", "air-quality", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) >= {"reading", "peak_megabytes"}
