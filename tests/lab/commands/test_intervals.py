"""How often intervals held, counted."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from lab.commands import intervals, main
from lab.commands.intervals import HeldRow, held
from paofed.live.model.reported import ReportedInterval
from paofed.world.realize import realize
from tests.natures import small_scenario

SCENARIO = small_scenario()
TRACE = realize(SCENARIO)


@pytest.fixture(scope="module")
def found() -> list[HeldRow]:
    return held(SCENARIO, TRACE)


def test_quarters_make_the_whole_and_shares_are_of_readings(found: list[HeldRow]) -> None:
    *quarters, every = found
    assert [row.quarter for row in found] == ["1", "2", "3", "4", "all"]
    readings = np.array([row.readings for row in quarters])
    assert readings.sum() == every.readings <= TRACE.has_data.sum()
    shares = np.array([row.held for row in quarters])
    assert shares @ readings == pytest.approx(every.held * every.readings)
    squares = np.array([row.error**2 for row in quarters])
    assert squares @ readings == pytest.approx(every.error**2 * every.readings)
    for row in found:
        assert 0 <= row.least <= row.held <= row.most <= 1
        assert row.half_width > 0


def test_a_wider_interval_holds_more(found: list[HeldRow], monkeypatch: pytest.MonkeyPatch) -> None:
    right = ReportedInterval.of

    def wide(levels: np.ndarray) -> ReportedInterval | None:
        usual = right(levels)
        return usual and usual._replace(half_width=1e9)

    monkeypatch.setattr(ReportedInterval, "of", wide)
    assert held(SCENARIO, TRACE)[-1].held == 1.0 > found[-1].held


def test_the_command_prints_and_writes_them(
    found: list[HeldRow],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(intervals, "held", lambda *_: found)
    small, out = tmp_path / "small.toml", tmp_path / "intervals.csv"
    small.write_text(SCENARIO.to_toml(), encoding="utf-8")
    words = ["intervals", "--scenario", str(small), "--out", str(out)]
    assert main(words) == 0
    head = capsys.readouterr().out.splitlines()[0]
    assert head.split()[:4] == ["scenario", "quarter", "readings", "held"]
    assert main([*words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows == [row._asdict() for row in found]
    with out.open(encoding="utf-8") as file:
        written = list(csv.DictReader(file))
    assert [float(row["held"]) for row in written] == [row.held for row in found]
