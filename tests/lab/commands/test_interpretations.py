"""`python -m lab interpretations` as a user meets it: what it leaves and prints, how it stops."""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.image
import numpy as np
import pytest

from lab.commands import main
from lab.interpretations.interpretations import AS_U1, DEFAULT, EVEN
from lab.interpretations.interpretations import INTERPRETATIONS as ALL
from lab.interpretations.study import LABELS
from paofed.report.shared.pages import number
from paofed.simulate.montecarlo import run as simulate
from paofed.simulate.results.result import Result
from paofed.simulate.stopping import Interrupted
from paofed.world.scenario import Scenario
from tests.effort import in_ci
from tests.natures import small_scenario

SETTINGS = ("setting-1", "setting-2")
INTERPRETATIONS = ALL if in_ci() else (DEFAULT, EVEN, AS_U1)  # rules of one's own compile long
_LAWS: dict[str, dict[str, Any]] = {
    "setting-1": {},
    "setting-2": {"delay": {"kind": "stepped", "base": 0.5, "step": 3}},
}


def small(name: str) -> Scenario:
    """A setting with few clients, at whose twentieth of the ticks something happens still."""
    stream = {"samples": (1000, 2000)}
    return small_scenario(name=name, features=200, ticks=2000, stream=stream, **_LAWS[name])


def interpretations(folder: Path, *options: str) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Scenario, "load", small)
        patch.setattr("lab.interpretations.interpretations.INTERPRETATIONS", INTERPRETATIONS)
        return main(
            ["interpretations", "--quick", "--workers", "1", "--out", str(folder), *options]
        )


class Left(NamedTuple):
    folder: Path
    printed: str


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Left:
    folder = tmp_path_factory.mktemp("interpretations") / "new" / "out"
    printed = io.StringIO()
    with redirect_stdout(printed):
        assert interpretations(folder, "--runs", "2", "--seed", "3") == 0
    return Left(folder, printed.getvalue())


def lines_of(left: Left) -> Iterator[dict[str, str]]:
    with (left.folder / "readings.csv").open(newline="") as file:
        yield from csv.DictReader(file)


def test_it_leaves_what_it_says_and_nothing_else(left: Left) -> None:
    shown = {f"interpretations.{kind}" for kind in ("html", "svg", "png")}
    written = {"readings.csv", "steps.csv", "about.json", "jobs"}
    assert {path.name for path in left.folder.iterdir()} == shown | written
    assert json.loads((left.folder / "about.json").read_text())["command"] == (
        "python -m lab interpretations --runs 2 --seed 3 --quick"
    )


def test_it_prints_a_table_for_each_statement(left: Left) -> None:
    marks = {"holds": "+", "does not hold": "-", "tie": "=", "inconclusive": "?"}
    by_interpretation: dict[str, list[str]] = {}
    for line in lines_of(left):
        said = f"{float(line['mean']):.2f} {marks[line['verdict']]}"
        by_interpretation.setdefault(line["reading"], []).append(said)
    for key, expected in by_interpretation.items():
        told = [x.split()[1:] for x in left.printed.splitlines() if x.split()[:1] == [key]]
        assert [word for row in told for word in row] == " ".join(expected).split()
    assert str(left.folder / "interpretations.html") in left.printed.splitlines()[-1]


def test_the_page_has_every_interval_and_loads_nothing(left: Left) -> None:
    page = unescape((left.folder / "interpretations.html").read_text())
    for line in lines_of(left):
        low, high = (number(float(line[column])) for column in ("low", "high"))
        assert f"[{low}, {high}]" in page
        assert f"<code>{line['reading']}</code>" in page
    for label in LABELS.values():
        assert label in page
    assert "src=" not in page
    assert "<link" not in page
    assert "<script" not in page


def test_the_figure_names_every_comparison_and_interpretation(left: Left) -> None:
    drawing = unescape((left.folder / "interpretations.svg").read_text())
    for label in LABELS.values():
        assert f">{label}<" in drawing
    for interpretation in INTERPRETATIONS:
        assert f">{interpretation.key.replace('+', ' + ')}<" in drawing
    pixels = matplotlib.image.imread(left.folder / "interpretations.png")
    assert pixels.shape[0] > 300
    assert len(np.unique(pixels[..., 0])) > 10


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_of_other_settings_is_refused_in_one_line(
    left: Left, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(left.folder)
    assert interpretations(left.folder, "--runs", "2", "--seed", "4") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "was made by `python -m lab interpretations --runs 2 --seed 3 --quick`" in err
    assert contents(left.folder) == before


def test_an_interrupt_keeps_what_was_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = iter(range(10))

    def interrupted(*args: Any, **options: Any) -> Result:
        if next(calls) == 1:
            raise Interrupted(None)
        return simulate(*args, **options)

    monkeypatch.setattr("paofed.experiments.experiment.run", interrupted)
    assert interpretations(tmp_path, "--runs", "2") == 130
    out, err = capsys.readouterr()
    assert out == ""
    assert "the same command goes on from there" in err
    assert {path.name for path in tmp_path.iterdir()} == {"about.json", "jobs"}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--runs", "1"], "runs is 1: expected at least 2"),
        (["--seed", "-1"], "seed -1"),
        (["--workers", "0"], "workers is 0"),
    ],
)
def test_bad_input_writes_nothing(
    options: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert interpretations(tmp_path / "out", *options) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert text in err
    assert not any(tmp_path.iterdir())
