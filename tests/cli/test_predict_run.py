"""`paofed predict` with what a run over a table has left."""

from pathlib import Path

import numpy as np
import pytest

from paofed import run
from paofed.cli import main
from paofed.core.columns.numbers import Number
from paofed.live.model.fleet_model import FleetModel
from paofed.simulate.results.result import Result
from paofed.world.realize_samples import realize_samples
from paofed.world.scenario import Scenario
from paofed.world.table.door import read
from tests.cli import table_runs
from tests.cli.table_runs import LINEUP, SEED, final, rows
from tests.live.fleets import manifest
from tests.natures import small_scenario

Capsys = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Scenario, Result]:
    return table_runs.made(tmp_path_factory.mktemp("run"))


@pytest.fixture
def file(ran: tuple[Scenario, Result], tmp_path: Path) -> Path:
    ran[1].save(tmp_path / "run.npz")
    return tmp_path / "run.npz"


def predicted(capsys: Capsys, file: Path, table: str | Path, *words: str) -> list[str]:
    assert main(["predict", str(file), "--input", str(table), *words]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out.splitlines()


@pytest.mark.parametrize("name", [*LINEUP, None])
def test_the_rows_of_its_own_table(
    name: str | None, ran: tuple[Scenario, Result], file: Path, capsys: Capsys
) -> None:
    """Rows that are no complete readings have no prediction; others that of the final model."""
    scenario, result = ran
    best = min(LINEUP, key=lambda one: final(result, one, "server"))
    readings, fourier_map = read(scenario.table), realize_samples(scenario, seed=SEED).fourier_map
    model, unit = result.models[0, LINEUP.index(name or best)], readings.columns[-1]
    assert isinstance(unit, Number)
    y = unit.measured(fourier_map(readings.x) @ model)
    cells = zip(readings.device.tolist(), readings.tick.tolist(), strict=True)
    expected = dict(zip(cells, y.tolist(), strict=True))
    found = predicted(capsys, file, scenario.table.file, *(["--algorithm", name] if name else []))
    line, compared = readings.timeline, 0
    for row, text in zip(rows(scenario.table.file), found, strict=True):
        tick = round((row.time - line.origin) / line.tick)
        cell = readings.devices.index(row.device), tick
        if cell in expected:
            assert np.isclose(float(text), expected[cell], rtol=1e-8, atol=0)
            compared += 1
        elif tick >= 0 and row.y is not None:  # something that it is predicted from is missing
            assert text == ""
    assert compared == len(expected) > 60


def test_rows_to_come(
    ran: tuple[Scenario, Result], file: Path, tmp_path: Path, capsys: Capsys
) -> None:
    """The target of a row itself is not looked at, and need not be there; other columns may."""
    scenario, _ = ran
    before = predicted(capsys, file, scenario.table.file)
    content = Path(scenario.table.file).read_text().splitlines()
    *cells, _, a, wind = content[-1].split(",")
    other = tmp_path / "new.csv"
    lines = [f"{line},{'x' if i else 'more'}" for i, line in enumerate(content[:-1])]
    other.write_text("\n".join([*lines, ",".join([*cells, "", a, wind, "x"])]) + "\n")
    assert predicted(capsys, file, other) == before
    assert before[-1]


def test_a_device_that_the_run_did_not_know(file: Path, tmp_path: Path, capsys: Capsys) -> None:
    """Its first rows have no past; the last has."""
    lines = [f"new,2024-06-01 0{n}:00,{2 + n},{20 + n},SW" for n in range(3)]
    (tmp_path / "new.csv").write_text("\n".join([table_runs.HEADER, *lines]) + "\n")
    found = predicted(capsys, file, tmp_path / "new.csv")
    assert found[:2] == ["", ""]
    assert float(found[2]) > -1


def refusal(capsys: Capsys, *words: object) -> str:
    assert main(["predict", *map(str, words)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err.removeprefix("paofed predict: error: ").rstrip("\n")


def test_what_cannot_be(file: Path, tmp_path: Path, capsys: Capsys) -> None:
    table = tmp_path / "x.csv"
    assert "is a run over a table: give another such table (--input)" in refusal(capsys, file)
    asked = refusal(capsys, file, "--input", table, "--algorithm", "pao-fed-u1")
    assert "unknown algorithm 'pao-fed-u1'" in asked
    assert "x.csv cannot be read" in refusal(capsys, file, "--input", table)
    for content, says in (
        ("device,time,y,a\nd0,2024-06-01,1,1\n", "unknown column 'wind'"),
        ("time,y,a,wind\n2024-06-01,1,1,N\n", "unknown column 'device'"),
        (
            "device,time,y,a,wind\nd0,17,1,1,N\n",
            "its times are plain numbers, and those of the run were those of a calendar",
        ),
        ("device,time,y,a,wind\nd0,2024-06-01,1,1,UP\n", "holds 'UP', which is no direction"),
        (
            "device,time,y,a,wind\nd0,2024-06-01,1,1,N\nd0,2024-06-01,1,1,N\n",
            "a second reading of d0 in one tick",
        ),
    ):
        table.write_text(content)
        assert says in refusal(capsys, file, "--input", table)


def test_a_run_without_a_table_is_told_as_such(tmp_path: Path, capsys: Capsys) -> None:
    run(small_scenario(), "pao-fed-u1", engine="reference").save(tmp_path / "run.npz")
    assert "which has no table: expected one over a table" in refusal(capsys, tmp_path / "run.npz")


def test_a_fleets_model_is_of_one_algorithm(tmp_path: Path, capsys: Capsys) -> None:
    FleetModel(manifest(), 0, np.zeros(8)).save(tmp_path / "model.npz")
    said = refusal(capsys, tmp_path / "model.npz", "--algorithm", "pao-fed-u1")
    assert "leave out --algorithm" in said
