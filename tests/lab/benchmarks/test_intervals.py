"""How often intervals held, counted."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from lab.benchmarks.intervals import HeldRow, agreed, held
from lab.commands import main
from paofed.live.model.reported import ReportedInterval
from paofed.world.realize import realize
from tests.natures import small_scenario


def test_quarters_make_the_whole_and_shares_are_of_readings() -> None:
    scenario = small_scenario()
    trace = realize(scenario)
    *quarters, every = held(scenario, trace)
    assert [row.quarter for row in (*quarters, every)] == ["1", "2", "3", "4", "all"]
    readings = np.array([row.readings for row in quarters])
    assert readings.sum() == every.readings <= trace.has_data.sum()
    shares = np.array([row.held for row in quarters])
    assert shares @ readings == pytest.approx(every.held * every.readings)
    squares = np.array([row.error**2 for row in quarters])
    assert squares @ readings == pytest.approx(every.error**2 * every.readings)
    for row in (*quarters, every):
        assert 0 <= row.least <= row.held <= row.most <= 1
        assert row.half_width > 0
    assert agreed(scenario, trace).features == trace.features


def test_a_wider_interval_holds_more(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = small_scenario()
    trace = realize(scenario)
    usual = held(scenario, trace)[-1]
    right = ReportedInterval.of

    def wide(levels: np.ndarray) -> ReportedInterval | None:
        found = right(levels)
        return found and found._replace(half_width=1e9)

    monkeypatch.setattr(ReportedInterval, "of", wide)
    assert held(scenario, trace)[-1].held == 1.0 > usual.held


def test_the_command_prints_and_writes_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small, out = tmp_path / "small.toml", tmp_path / "intervals.csv"
    small.write_text(small_scenario().to_toml(), encoding="utf-8")
    words = ["intervals", "--scenario", str(small), "--out", str(out)]
    assert main(words) == 0
    assert capsys.readouterr().out.splitlines()[0].split()[:4] == [
        "scenario",
        "quarter",
        "readings",
        "held",
    ]
    assert main([*words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert set(rows[0]) == set(HeldRow._fields)
    with out.open(encoding="utf-8") as file:
        written = list(csv.DictReader(file))
    assert [float(row["held"]) for row in written] == [row["held"] for row in rows]
