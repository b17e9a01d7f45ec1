"""`paofed reproduce` as a user meets it: what it leaves, what it prints, how it stops."""

import csv
import io
import json
import os
import re
import shlex
from contextlib import nullcontext, redirect_stdout
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from paofed.cli import main
from paofed.experiments.experiment import Experiment
from paofed.experiments.paper.claims import QUICK
from paofed.experiments.paper.stages import Stages
from paofed.files import write_text
from paofed.simulate.montecarlo import run as simulate
from paofed.simulate.results.result import Result
from paofed.simulate.spread.crew import HERE
from paofed.simulate.stopping import Interrupted
from paofed.table import number
from paofed.world.scenario import Scenario
from tests.drawing import without_drawing
from tests.effort import effort, long
from tests.natures import small_scenario

SETTINGS = ("setting-1", "setting-2", "ideal")
_LAWS: dict[str, dict[str, Any]] = {
    "setting-1": {},
    "setting-2": {"delay": {"kind": "stepped", "base": 0.5, "step": 3}},
    "ideal": {
        "availability": {"kind": "bernoulli", "probabilities": (1.0,)},
        "delay": {"kind": "none"},
    },
}


def small(name: str) -> Scenario:
    """A setting of the study with fewer clients and ticks; in CI, models of the paper's size."""
    features = effort(everyday=60, thorough=200)
    return small_scenario(name=name, features=features, **_LAWS[name])


def reproduce(folder: Path, *options: str) -> int:
    """Run the whole study on the small settings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Scenario, "load", small)
        return main(["reproduce", *options, "--out", str(folder)])


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


class Left(NamedTuple):
    folder: Path
    printed: str
    pages: list[str]  # report.html, as often as it was written


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Left:
    folder = tmp_path_factory.mktemp("reproduce") / "new" / "out"
    printed, pages = io.StringIO(), []

    def written(path: Path, text: str) -> None:
        if path.name == "report.html":
            pages.append(text)
        write_text(path, text)

    with pytest.MonkeyPatch.context() as patch, without_drawing(), redirect_stdout(printed):
        patch.setattr("paofed.reproduction.write_text", written)
        patch.setattr("paofed.experiments.paper.stages.FIRST_LOOK", 2)
        assert reproduce(folder, "--quick", "--runs", "3", "--seed", "3") == 0
    assert pages[-1] == (folder / "report.html").read_text()
    return Left(folder, printed.getvalue(), pages)


def test_it_prints_the_settings_and_what_it_writes_of_a_claim(left: Left) -> None:
    lines = left.printed.splitlines()
    for name in ("setting-1", "setting-2"):
        assert any(line.startswith(f"{name}, 3 runs") for line in lines)
    assert str(left.folder / "report.html") in lines[-1]
    for claim in read_csv(left.folder / "claims.csv"):
        (line,) = (line for line in lines if line.split()[:1] == [claim["claim"]])
        assert line.endswith(f"  {claim['verdict']}")
        mean, low, high = (float(claim[column]) for column in ("mean", "low", "high"))
        if claim["claim"].startswith("tenfold"):  # traffic is told as so many times less
            mean, low, high = (10 ** (end / 10) for end in (mean, low, high))
            assert "  times less  " in line
        assert line.split()[1:4] == [number(mean), f"[{number(low)},", f"{number(high)}]"]


def test_it_leaves_what_it_says_and_nothing_else(left: Left) -> None:
    kinds: dict[str, set[str]] = {}
    for path in left.folder.iterdir():
        kinds.setdefault(path.suffix, set()).add(path.stem)
    assert kinds.pop(".html") == {"report"}
    assert kinds.pop(".json") == {"about"}
    assert kinds.pop(".npz") == set(SETTINGS)
    assert kinds.pop(".svg") == kinds.pop(".png")
    tables = {"finals", "claims", "grid", "exchanges", "best-steps", "theory", "step-sizes"}
    assert kinds.pop(".csv") == tables | {f"curves-{name}" for name in SETTINGS}
    assert not kinds


@pytest.mark.parametrize("name", SETTINGS)
def test_the_results_are_those_of_the_settings(left: Left, name: str) -> None:
    """Setting I is run in two parts, of which the first gives the first look."""
    found = Result.load(left.folder / f"{name}.npz")
    at_once = simulate(small(name), found.algorithms, runs=3, seed=3, every=10)
    for array in ("mse", "traffic", "models"):
        assert np.array_equal(getattr(found, array), getattr(at_once, array))
    assert found.provenance == json.loads(json.dumps(at_once.provenance))


def test_the_page_is_filled_as_stages_finish(left: Left) -> None:
    first, look, beyond, one, *_, last = left.pages
    assert "<svg" in first
    assert "Still coming: setting-1, setting-2, ideal, the grid" in first
    assert "Verdicts" not in first
    assert "first figure after 2 runs" in look
    assert "Still coming: setting-1, setting-2, ideal, the grid" in look
    assert "Beyond the paper" not in look
    assert "Beyond the paper" in beyond
    assert "Still coming: setting-2, ideal, the grid" in one
    assert "Verdicts" in one
    assert "after 2 runs" not in one
    assert "Still coming" not in last
    assert ["http-equiv='refresh'" in page for page in (first, one, last)] == [True, True, False]
    sizes = [page.count("<svg") for page in left.pages]
    assert sizes == sorted(sizes)


@long
@pytest.mark.usefixtures("without_png")
def test_the_command_on_the_page_gives_the_same_files_again(
    left: Left, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (left.folder / "report.html").read_text()
    command = unescape(page[page.rindex("paofed reproduce ") :].partition("<")[0])
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # on a machine of another size
    assert reproduce(tmp_path, *shlex.split(command)[2:]) == 0
    for path in left.folder.iterdir():
        if path.suffix in (".csv", ".svg", ".html", ".json"):
            assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


def test_it_says_what_made_the_files(left: Left) -> None:
    about = json.loads((left.folder / "about.json").read_text())
    assert about["command"] == "paofed reproduce --runs 3 --seed 3 --quick"
    assert about["versions"] == Result.load(left.folder / "ideal.npz").provenance["versions"]


class _Interrupted:
    """Simulates until a stage in which Ctrl-C is pressed, before or after its first run."""

    def __init__(self, at: int, *, kept: int = 0) -> None:
        self._left, self._kept = at, kept

    def __call__(self, *args: Any, runs: int, **options: Any) -> Result:
        self._left -= 1
        if self._left:
            return simulate(*args, runs=runs, **options)
        kept = simulate(*args, runs=self._kept, **options) if self._kept else None
        raise Interrupted(kept)


@pytest.mark.usefixtures("without_png")
@pytest.mark.parametrize(
    ("stage", "kept"), [(1, 0), pytest.param(2, 1, marks=long), pytest.param(5, 1, marks=long)]
)
def test_an_interrupt_keeps_what_was_finished(
    stage: int,
    kept: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("paofed.experiments.experiment.run", _Interrupted(at=stage, kept=kept))
    assert reproduce(tmp_path / "out", "--quick", "--runs", "2") == 130
    out, err = capsys.readouterr()
    assert out == ""
    assert "interrupted" in err.splitlines()[-1]
    assert "Traceback" not in err
    finished, lacking = SETTINGS[: stage - 1], SETTINGS[stage - 1 :]
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert {name for name in files if name.endswith(".npz")} == {f"{x}.npz" for x in finished}
    for name in finished:
        assert Result.load(tmp_path / "out" / f"{name}.npz").runs == 2
    assert not any(name.endswith((".csv", ".json")) for name in files)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "realised.svg" in files
    (said,) = re.findall("Interrupted before these were finished: ([^.]*)[.]", page)
    assert said.split(", ")[:-2] == list(lacking)
    assert ("Verdicts" in page) == bool(finished)
    assert page.count("<figure>") == sum(name.endswith(".svg") for name in files)


def test_cells_of_the_grid_are_the_scenario_with_their_numbers() -> None:
    effort = QUICK._replace(steps=(0.2, 0.6))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Scenario, "load", small)
        stages = Stages(1, Experiment(5, HERE), lambda _: nullcontext(lambda _: None))
        row = stages.run_row("setting-1", 2.0, effort)
    assert list(row) == [0.2, 0.6]
    for step, found in row.items():
        scenario = small("setting-1").model_copy(update={"kernel_width": 2.0, "step_size": step})
        alone = simulate(scenario, found.algorithms, runs=effort.grid_runs, seed=5, every=40)
        for array in ("mse", "traffic", "models"):
            assert np.array_equal(getattr(found, array), getattr(alone, array))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--runs", "1"], "runs is 1"),
        (["--runs", "two"], "'two'"),
        (["--seed", str(2**64)], "out of range"),
        (["--theory-ticks", "0"], "theory-ticks is 0"),
        (["--quik"], "did you mean --quick?"),
    ],
)
def test_bad_input_writes_nothing(
    options: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _refused(tmp_path / "out", options, text, capsys)
    assert not any(tmp_path.iterdir())


def test_a_file_in_the_way_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").write_text("mine")
    _refused(tmp_path / "out" / "deeper", ["--quick"], "cannot be made a directory", capsys)
    assert (tmp_path / "out").read_text() == "mine"


def _refused(
    folder: Path, options: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = reproduce(folder, *options)
    except SystemExit as stop:
        code = int(str(stop.code))
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("paofed reproduce: error: ")
    assert err.count("\n") == 1
    assert text in err
