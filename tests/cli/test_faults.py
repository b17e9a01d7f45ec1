"""Faults from the command line to the page: what was asked for, what it cost, how to repeat it."""

import csv
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from paofed.cli import main
from paofed.simulate.results.result import Result
from paofed.world.realize import realize
from paofed.world.scenario import Scenario
from paofed.world.trace import Trace
from tests.natures import small_scenario
from tests.world.table.tables import fleet, hourly, table, write

FAULTS = ["--fault", "scaled:by=10,clients=0.25", "--fault", "liar:push=0.5,clients=2+7"]
ALGORITHMS = ["--algorithm", "pao-fed-u1", "online-fedsgd"]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("scenario") / "small.toml"
    path.write_text(small_scenario().to_toml(), encoding="utf-8")
    return str(path)


@pytest.mark.usefixtures("undrawn")
def test_what_faults_cost_is_shown_saved_and_written(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, out = tmp_path / "page", tmp_path / "r.npz"
    given = ["run", small, *FAULTS, "--runs", "3", "--out", str(out), *ALGORITHMS]
    assert main([*given, "--report", str(page)]) == 0
    said = capsys.readouterr()
    assert "everything is run without them, too" in said.err
    assert "faults: scaled:clients=0.25,by=10 liar:clients=2+7,push=0.5" in said.out
    result = Result.load(out)
    with (page / "faults.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["algorithm"], row["model"]) for row in rows] == [
        ("pao-fed-u1", "server"), ("online-fedsgd", "server")
    ]  # fmt: skip
    for row in rows:
        name = row["algorithm"]
        pair = 10 * np.log10(result.run_finals(name) / result.clean_finals(name))
        assert float(row["cost"]) == pytest.approx(pair.mean())
        assert float(row["low"]) < pair.mean() < float(row["high"])
        assert float(row["db"]) == pytest.approx(result.final(name).db)
        assert f"{float(row['clean_db']):.2f}" in said.out
    html = (page / "report.html").read_text(encoding="utf-8")
    assert "What faults do" in html
    assert "liar:clients=2+7,push=0.5" in html
    assert "--no-clean" not in html
    assert (
        Scenario.load(page / "scenario.toml").faults
        == Scenario.made(result.provenance["scenario"], "").faults
    )
    assert main(["result", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["faults"] == ["scaled:clients=0.25,by=10", "liar:clients=2+7,push=0.5"]
    assert [found["clean_db"] for found in told["damage"]] == [
        pytest.approx(float(row["clean_db"])) for row in rows
    ]


def test_without_its_clean_twin(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["run", small, *FAULTS, "--no-clean", *ALGORITHMS, "--report", str(tmp_path)]
    assert main(given) == 0
    said = capsys.readouterr()
    assert "too" not in said.err
    assert "with (dB)" not in said.out
    assert "faults: scaled:" in said.out
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "--no-clean" in html
    assert "cost (dB)" not in html
    assert not (tmp_path / "faults.csv").exists()


def test_without_faults_nothing_is_said_of_them(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", small, *ALGORITHMS, "--report", str(tmp_path)]) == 0
    assert "fault" not in "".join(capsys.readouterr()).replace(str(tmp_path), "")
    assert "ault" not in (tmp_path / "report.html").read_text("utf-8").replace("default", "")
    assert main(["run", small, *ALGORITHMS, "--json"]) == 0
    assert "faults" not in json.loads(capsys.readouterr().out)


def test_a_scenario_with_faults_can_be_shown_and_run(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["scenario", "show", small, *FAULTS]) == 0
    path = tmp_path / "faulty.toml"
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    faulty = Scenario.load(path)
    assert [fault.clients for fault in faulty.faults] == [0.25, (2, 7)]
    more = ["scenario", "show", str(path), "--fault", "stuck:clients=1", "--json"]
    assert main(more) == 0
    shown = json.loads(capsys.readouterr().out)["faults"]
    assert [fault["kind"] for fault in shown] == ["scaled", "liar", "stuck"]
    assert main(["trace", str(path), "--out", str(tmp_path / "t.npz")]) == 0
    assert "faults of what they send are no part of it" in capsys.readouterr().err
    np.testing.assert_array_equal(Trace.load(tmp_path / "t.npz").y, realize(faulty).y)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("scaled:by=x,clients=1", "--fault scaled:by=x,clients=1: by is 'x': expected a number"),
        ("stuck:clients=13", "--fault stuck:clients=13: clients is 13, but there are 12 clients"),
        ("stick:clients=1", "--fault stick:clients=1: unknown fault 'stick': did you mean 'stuck'"),
    ],
)
def test_a_wrong_fault_is_one_line(
    small: str, fault: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", small, "--fault", "noise:deviation=1,clients=1", "--fault", fault]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"paofed run: error: {says}")
    assert said.count("\n") == 1


@pytest.mark.usefixtures("undrawn")
def test_over_a_table_both_models_pay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    readings = write(tmp_path / "t.csv", hourly(4, 120))
    path = tmp_path / "t.toml"
    path.write_text(fleet(table(readings)).to_toml(), encoding="utf-8")
    words = f"run {path} --fault stuck:at=50,clients=0+ --runs 2 --algorithm pao-fed-u1 --report"
    assert main([*shlex.split(words), str(tmp_path / "page")]) == 0
    said = capsys.readouterr()
    assert "no cold starts: they are for fleets without faults" in said.err
    assert re.search(r"^pao-fed-u1 +device ", said.out, re.MULTILINE)
    assert re.search(r"^pao-fed-u1 +server ", said.out, re.MULTILINE)
    with (tmp_path / "page" / "faults.csv").open(encoding="utf-8") as file:
        device, server = csv.DictReader(file)
    assert (device["model"], server["model"]) == ("device", "server")
    assert float(server["cost"]) > 3
    assert main(["run", str(path), "--fault", "stuck:clients=1", "--cold-starts", "3"]) == 2
    assert "--cold-starts is 3, but they are for fleets without faults" in capsys.readouterr().err
