import csv
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.commands import main, tables
from lab.commands.tables import Compared, Score, compared
from paofed import run
from paofed.simulate.results.estimates import Estimate
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.table.baselines import USUAL
from paofed.world.scenario import Scenario
from tests.experiments.race.records import won_by
from tests.world.table.tables import fleet, hourly, table, write


def told(**changes: Any) -> Compared:
    values: dict[str, Any] = {
        "table": "t",
        "target": "y",
        "devices": 2,
        "readings": 100,
        "runs": 1,
        "setting": "pao-fed-u1:step_size=0.8",
        "choice": "chosen",
        "recommended": Score(-10.0, 1.0),
        "apart": Score(-9.5, 1.05),
        "shared": Estimate(0.5, 0.4, 0.6, 2),
        "before": Score(-8.0, 1.2),
        "gain": Estimate(2.0, 1.0, 3.0, 2),
        "baselines": {"last value": Score(-9.0, 1.1)},
        "best": "last value",
        "behind": Estimate(-1.0, -1.5, -0.5, 2),
    }
    return Compared(**{**values, **changes})


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    """Too small for a race: the first candidate is taken."""
    return fleet(table(write(tmp_path / "t.csv", hourly(3, 60))))


@pytest.fixture(autouse=True)
def _one_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """LMS alone: its kernel is compiled for other tests anyway."""
    monkeypatch.setattr(tables, "CANDIDATES", "pao-fed-u1:step_size=auto")


def test_numbers_are_those_of_the_runs(scenario: Scenario) -> None:
    heard: list[float] = []
    found = compared(scenario, runs=2, baselines="start-alone,last-value", report=heard.append)
    as_before = {"linear": False, "start": "zeros", "newcomers": "windows", "step_size": 0.4}
    then = run(Scenario.made({**scenario.model_dump(), **as_before}, ""), "pao-fed-u1", runs=2)
    now = run(scenario, found.setting, runs=2)  # over a table, the recommended start is usual
    assert found.before.db == pytest.approx(
        TableResult.of(then).progressive.final("alone", "baseline").db
    )
    (ours, _) = now.final(found.setting, "device")
    assert found.recommended.db == pytest.approx(ours)
    dbs = {name: score.db for name, score in found.baselines.items()}
    again = {name: TableResult.of(now).progressive.final(name, "baseline").db for name in dbs}
    assert dbs == pytest.approx(again)
    assert found.best == min(dbs, key=lambda name: dbs[name])
    assert found.behind.mean == pytest.approx(found.recommended.db - dbs[found.best])
    assert found.gain.mean == pytest.approx(found.before.db - found.recommended.db)
    assert found.apart.db == pytest.approx(found.baselines["start alone"].db, abs=1e-4)
    assert found.shared.mean == pytest.approx(found.apart.db - found.recommended.db)
    assert (found.devices, found.readings, found.runs) == (3, 150, 2)
    assert "as usual" in found.choice
    assert heard == sorted(heard)
    assert heard[-1] == pytest.approx(1.0)


def test_baselines_take_the_best_step_for_lms(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A race that says: 0.05 is best for two speeds, and 0.2 for LMS."""
    raced = won_by("learner=two-speed,step_size=0.05", "step_size=0.2", "step_size=1.6")
    won = replace(raced, winner="pao-fed-u1:step_size=1.6")
    monkeypatch.setattr(tables, "race", lambda *_, **__: won)
    found = compared(scenario, runs=1, baselines="alone")
    again = run(scenario.model_copy(update={"step_size": 0.2}), won.winner)
    assert found.baselines["alone"].db == pytest.approx(
        TableResult.of(again).progressive.final("alone", "baseline").db
    )
    assert found.recommended.db == pytest.approx(again.final(won.winner, "device").db)


@pytest.mark.parametrize(
    ("behind", "verdict"),
    [
        ((-1.0, -1.5, -0.5), "better than all"),
        ((-0.1, -0.5, 0.3), "within 0.3 dB"),
        ((0.3, 0.2, 0.4), "within 0.3 dB"),
        ((0.4, 0.1, 0.7), "last value is better"),
        ((math.inf, math.nan, math.nan), "last value is better"),
    ],
)
def test_the_verdict(behind: tuple[float, float, float], verdict: str) -> None:
    assert told(behind=Estimate(*behind, 2)).verdict == verdict


def test_an_interrupt_keeps_finished_tables(
    scenario: Scenario,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    toml = tmp_path / "fleet.toml"
    toml.write_text(scenario.to_toml(), encoding="utf-8")
    finished = iter([told(table="first")])

    def compared(*_: object, **__: object) -> Compared:
        for one in finished:
            return one
        raise KeyboardInterrupt

    monkeypatch.setattr(tables, "compared", compared)
    out = tmp_path / "tables.csv"
    words = ["tables", str(toml), str(toml), "--out", str(out)]
    assert main(words) == 130
    shown = capsys.readouterr()
    assert "kept what was finished, 1 of 2 tables" in shown.err
    assert "better than all" in shown.out
    with out.open(encoding="utf-8") as file:
        (line,) = csv.DictReader(file)
    assert (line["table"], float(line["recommended_db"])) == ("first", -10.0)
    assert float(line["last_value_rmse"]) == 1.1
    assert float(line["behind_high"]) == -0.5
    assert main(words) == 130  # nothing was finished: nothing is shown
    assert not capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [("setting-1", "has no table"), ("--baselines none", "nothing to compare with")],
)
def test_what_cannot_be_compared_is_refused(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tables", *words.split()]) == 2
    assert said in capsys.readouterr().err


ROWS = {
    "**recommended (dB)**": "recommended_db",
    "without contacts (dB)": "apart_db",
    "alone, as before (dB)": "before_db",
    **{f"{name} (dB)": f"{name.replace(' ', '_')}_db" for name in (*USUAL, "boost")},
    "gain by contacts (dB)": "gain_by_contacts",
    "gain over that (dB)": "gain_over_before",
    "behind it (dB)": "behind",
    "best baseline": "best",
    "verdict": "verdict",
}


def test_the_document_shows_what_was_measured() -> None:
    docs = Path(__file__).parents[3] / "docs"
    with (docs / "data" / "tables.csv").open(encoding="utf-8") as file:
        measured = {row["table"]: row for row in csv.DictReader(file)}
    text = (docs / "tables.md").read_text(encoding="utf-8")
    lines = [line.strip("| ").split(" | ") for line in text.splitlines()]
    shown = {cells[0]: cells[1:] for cells in lines if len(cells) == len(measured) + 1}
    for label, key in ROWS.items():
        for cell, row in zip(shown[label], measured.values(), strict=True):
            assert cell.strip("*") == _told(row, key), (row["table"], label)


def _told(row: dict[str, str], key: str) -> str:
    """A measured value as the document writes it: an estimate with half of its interval."""
    if f"{key}_low" in row:
        mean, low, high = (float(row[f"{key}_{part}"]) for part in ("db", "low", "high"))
        return f"{mean:+.2f} ± {(high - low) / 2:.2f}"
    return f"{float(row[key]):.2f}" if key.endswith("_db") else row[key]
