"""`paofed sweep`: by a file, by options, again from what was saved, and interrupted."""

import json
from pathlib import Path
from typing import Any

import pytest

from paofed.cli import main
from paofed.core.metrics import decibels
from paofed.experiments.sweep.sweep import swept_by
from paofed.experiments.sweep.swept import Swept
from paofed.simulate.results.result import Result
from tests.natures import small_scenario

SWEEP = """\
scenario = "small.toml"
algorithms = ["pao-fed-u1"]
runs = 2

[over]
step_size = [0.1, 0.4]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(small_scenario().to_toml(), encoding="utf-8")
    Path("sweep.toml").write_text(SWEEP, encoding="utf-8")
    return tmp_path


@pytest.mark.usefixtures("undrawn", "folder")
def test_a_file_or_options_and_again_from_what_was_saved(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["sweep", "sweep.toml", "--fresh", "2"]) == 0
    said = capsys.readouterr()
    assert "2 points, each in 2 worlds" in said.err
    assert "open swept/report.html" in said.err
    assert "pao-fed-u1  step_size=0." in said.out
    assert "on 2 fresh worlds" in said.out
    found = Swept.load("swept/swept.npz")
    assert found.provenance["fresh_requested"] == 2
    options = "sweep small.toml --algorithm pao-fed-u1 --over step_size=0.1,0.4 --runs 2 --fresh 2"
    assert main([*options.split(), "--out", "other"]) == 0
    assert capsys.readouterr().out == said.out
    assert main(["sweep", "swept/swept.npz", "--out", "third", "--json"]) == 0
    (best,) = json.loads(capsys.readouterr().out)["best"]
    assert best["algorithm"] == found.algorithm(found.best().point)
    assert best["fresh"]["runs"] == 2
    for name in ("points.csv", "best.csv", "sweep.toml"):
        assert Path("swept", name).read_bytes() == Path("third", name).read_bytes()
    assert main(["sweep", "swept/sweep.toml", "--out", "fourth"]) == 0
    assert capsys.readouterr().out == said.out


@pytest.mark.usefixtures("undrawn", "folder")
def test_two_numbers_have_two_names(capsys: pytest.CaptureFixture[str]) -> None:
    """In the same worlds, `run` prints dB of the mean error, and `sweep` the mean of dB."""
    same = ["small.toml", "--algorithm", "pao-fed-u1:step_size=0.4", "--runs", "3"]
    assert main(["run", *same, "--out", "run.npz"]) == 0
    header, line = capsys.readouterr().out.splitlines()[2:4]
    finals = Result.load("run.npz").run_finals("pao-fed-u1:step_size=0.4")
    assert "error (dB)" in header
    assert "mean dB" not in header
    assert f" {decibels(finals.mean()):.2f} " in line
    assert main(["sweep", *same, "--over", "max_age=5"]) == 0
    header, line, *_ = capsys.readouterr().out.splitlines()
    finals = Swept.load("swept/swept.npz").finals[0, :, 1]
    assert "mean dB" in header
    assert "error (dB)" not in header
    assert f" {decibels(finals).mean():.2f} ± " in line
    assert decibels(finals).mean() < decibels(finals.mean()) - 0.01  # another number


@pytest.mark.usefixtures("undrawn", "folder")
def test_an_interrupt_keeps_what_was_finished(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def impatient(*args: Any, **keywords: Any) -> Swept:
        def heard(share: float) -> None:
            if share > 0.6:
                raise KeyboardInterrupt

        return swept_by(*args, **{**keywords, "report": heard})

    monkeypatch.setattr("paofed.experiments.sweep.sweep.swept_by", impatient)
    words = "sweep small.toml --algorithm pao-fed-u1 --over loss.up=0.0,0.2 --runs 2 --workers 1"
    assert main(words.split()) == 130
    said = capsys.readouterr()
    assert "Not finished: 1 of 2 points were run in all" in said.out
    assert "interrupted: what was finished is kept in swept" in said.err
    assert Swept.load("swept/swept.npz").finished.sum(axis=1).tolist()[0] == 2
    assert "Not finished" in Path("swept/report.html").read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("small.toml", "nothing to sweep over: give --over KEY=VALUES, or a TOML file"),
        ("small.toml --over shared=1", "no algorithm was given: name some with --algorithm"),
        ("sweep.toml --over shared=1", "sweep.toml says what is swept: leave out --over"),
        ("nowhere.toml --algorithm pao-fed-u1 --over shared=1", "unknown scenario 'nowhere.toml'"),
        ("small.toml --algorithm pao-fed-u1 --over shared", "--over 'shared' is nothing to sweep"),
        (
            "small.toml --algorithm pao-fed-u1 --over shared=1 shared=2",
            "--over shared=2: shared is given twice",
        ),
        ("sweep.toml --out sweep.toml", "sweep.toml cannot be made a directory"),
        ("nothing.npz", "nothing.npz does not exist"),
        ("nothing.npz --runs 3", "nothing.npz is a sweep that was run: leave out --runs"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_bad_input_is_one_line(words: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", *words.split()]) == 2
    said = capsys.readouterr().err.splitlines()
    assert told in said[-1]
    assert not Path("swept").exists()
