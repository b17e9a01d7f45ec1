import csv
from pathlib import Path
from typing import Any

import pytest

from lab.commands import labels, main
from paofed import run
from paofed.experiments.race.race import race
from paofed.experiments.race.record import Race
from paofed.report.run.by_labels import by_labels
from paofed.simulate.results.result import Result
from paofed.simulate.results.table_result import TableResult
from paofed.world.scenario import Scenario
from tests.natures import small_scenario
from tests.world.table.tables import fleet, hourly, table, write

LAWS = ["all", "30%,devices=50%"]


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    scenario = fleet(table(write(tmp_path / "t.csv", hourly(4, 80))))
    path = tmp_path / "fleet.toml"
    path.write_text(scenario.to_toml(), encoding="utf-8")
    return path


def words(toml: Path, out: Path) -> list[str]:
    asked = ["--algorithm", "pao-fed-u1", "--runs", "2", "--seed", "3", "--out", str(out)]
    return ["labels", str(toml), "--labels", *LAWS, *asked]


def rows_of(out: Path) -> list[dict[str, str]]:
    with out.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_rows_are_those_of_runs_under_each_law(
    toml: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "labels.csv"
    assert main(words(toml, out)) == 0
    rows = rows_of(out)
    whom = [(row["labels"], row["whom"]) for row in rows]
    assert whom == [
        ("all", "with labels"),
        ("30%,devices=50%", "with labels"),
        ("30%,devices=50%", "without labels"),
    ]
    scenario = Scenario.load(str(toml)).replace(labels={"share": 0.3, "devices": 0.5})
    found = run(scenario, "pao-fed-u1", runs=2, seed=3, baselines=labels.BASELINES)
    for row, worth in zip(rows[1:], by_labels(TableResult.of(found).progressive), strict=True):
        assert float(row["db"]) == pytest.approx(worth.db)
        assert float(row["gain"]) == pytest.approx(worth.alone.gain.mean)
        assert row["over"] == worth.alone.name
        assert row["pooled"] == worth.pooled.name
        assert (row["first"], float(row["first_gain"])) == ("pao-fed-u1", 0.0)  # it is alone
    assert "30%,devices=50%" in capsys.readouterr().out


def test_what_is_auto_is_raced_once_for_a_table_with_all_labels(
    toml: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raced = []

    def watched(scenario: Scenario, *args: Any, **given: Any) -> Race:
        raced.append(race(scenario, *args, **given))
        assert scenario.labels is None
        return raced[-1]

    monkeypatch.setattr(labels, "race", watched)
    out = tmp_path / "labels.csv"
    asked = ["--algorithm", "pao-fed-u1:step_size=auto", "--runs", "1", "--out", str(out)]
    assert main(["labels", str(toml), "--labels", *LAWS, *asked]) == 0
    assert {row["algorithm"] for row in rows_of(out)} == {one.winner for one in raced}
    assert len(raced) == 1


def test_a_day_is_a_tick_where_times_are_plain_numbers() -> None:
    laws = ["all", "10%,late=1d", "late=10d", "late=1d"]
    assert labels.laws_over(laws, small_scenario(tick="1h")) == laws
    assert labels.laws_over(laws, small_scenario()) == ["all", "10%,late=1", "late=10d", "late=1"]


def test_an_interrupt_keeps_what_was_finished(
    toml: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    calls = 0

    def once(*args: Any, **given: Any) -> Result:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        return run(*args, **given)

    monkeypatch.setattr(labels, "simulate", once)
    out = tmp_path / "labels.csv"
    assert main(words(toml, out)) == 130
    assert [row["labels"] for row in rows_of(out)] == ["all"]
    assert "kept what was finished, 1 of 2 runs" in capsys.readouterr().err
    calls = 1
    assert main(words(toml, tmp_path / "none.csv")) == 130  # nothing was finished
    assert not (tmp_path / "none.csv").exists()


@pytest.mark.parametrize(
    ("asked", "said"),
    [(["--labels", "all", "ten"], "--labels"), (["setting-1"], "setting-1 has no table")],
)
def test_what_cannot_be_is_refused_before_all_work(
    toml: Path,
    asked: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delattr(labels, "simulate")
    assert main(["labels", str(toml), *asked]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("name", "tables"), [("labels", 7), ("labels-six-more", 6)])
def test_the_document_shows_what_was_measured(name: str, tables: int) -> None:
    docs = Path(__file__).parents[3] / "docs"
    found = rows_of(docs / "data" / f"{name}.csv")
    text = (docs / "tables.md").read_text(encoding="utf-8")
    lines = [line.strip("| ").split(" | ") for line in text.splitlines()]
    begin = next(
        i for i, cells in enumerate(lines) if cells[:1] == ["labels"] and len(cells) == 3 + tables
    )
    head, _, *shown = lines[begin : begin + 12]
    assert len(shown) * tables == len(found) == 10 * tables
    for law, whom, method, *cells in shown:
        for table_name, cell in zip(head[3:], cells, strict=True):
            (row,) = (
                row
                for row in found
                # A day is a tick, late=1, where times are plain numbers.
                if (row["table"], row["whom"]) == (table_name, whom)
                and row["labels"] in (law, law.removesuffix("d"))
                and row["algorithm"].startswith(method)
            )
            gain, low, high = (float(row[key]) for key in ("gain", "low", "high"))
            assert cell == f"{gain:+.2f} ± {(high - low) / 2:.2f}", (table_name, law, method)
