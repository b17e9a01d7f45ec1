"""`--on`, `--store` and `--workers`, as all verbs have them that compute for long."""

import sys
from pathlib import Path
from typing import Any

import pytest

from lab.commands import LAB
from paofed.cli import PAOFED, main
from paofed.simulate.montecarlo import run
from paofed.simulate.results.result import Result
from paofed.simulate.spread import jobs
from paofed.simulate.stopping import Interrupted
from tests.effort import some
from tests.natures import small_scenario


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A run that keeps its jobs."""
    monkeypatch.setattr(jobs, "MOST", 1)
    file = tmp_path / "small.toml"
    file.write_text(small_scenario().to_toml())
    store = str(tmp_path / "jobs")
    return ["run", str(file), "--algorithm", "pao-fed-u1", "--runs", "5", "--store", store]


def test_a_second_start_says_what_was_there(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "first.npz", tmp_path / "second.npz"
    assert main([*words, "--out", str(first)]) == 0
    out, err = capsys.readouterr()
    assert "already" not in err
    next((tmp_path / "jobs").rglob("*.npz")).unlink()
    assert main([*words, "--out", str(second)]) == 0
    again = capsys.readouterr()
    assert again.out == out
    assert again.err == f"{tmp_path / 'jobs'} had 4 of 5 runs already\n"
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("kept", [True, False])
def test_an_interrupt_is_told_how_to_go_on(
    words: list[str],
    kept: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(*args: Any, **options: Any) -> Result:
        found = run(*args, **{**options, "runs": 2})
        raise Interrupted(found if kept else None)

    monkeypatch.setattr("paofed.simulate.montecarlo.run", interrupted)
    assert main(words) == 130
    err = capsys.readouterr().err
    how = f"finished jobs are kept in {tmp_path / 'jobs'}: the same command goes on from there\n"
    assert err.count(how) == 1
    monkeypatch.undo()
    assert main(words) == 0
    assert "had 2 of 5 runs already" in capsys.readouterr().err


VERBS = ("run", "sweep", "plan", "reproduce", "compare", "interpretations")
REFUSED = {
    ("--on", "slurm"): "--on is 'slurm': expected dask, for processes on this machine, or ",
    ("--on", "dask:"): "--on is 'dask:': expected dask, ",
    ("--workers", "0"): "--workers is 0: expected a whole number from 1 on",
    ("--store", "file"): "file cannot be made a directory: file is a file",
}
# In everyday work every verb and every refusal, but not each with each.
CASES = some(((verb, more) for verb in VERBS for more in REFUSED), everyday=8)


@pytest.mark.parametrize(("verb", "more"), CASES)
def test_bad_input_is_one_line_and_writes_nothing(
    verb: str,
    more: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    asked = {
        "run": ["setting-1"],
        "sweep": ["setting-1", "--algorithm", "pao-fed-u1", "--over", "shared=1,4"],
        "plan": ["setting-1", "--error=-7dB"],
    }
    program = LAB if verb in LAB.verbs else PAOFED
    assert program.main([verb, *asked.get(verb, []), *more]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"{program.name} {verb}: error: {REFUSED[more]}")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_dask_is_an_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "paofed.simulate.spread.dask_cluster", raising=False)
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["run", "setting-1", "--on", "dask"]) == 2
    assert capsys.readouterr().err == (
        "paofed run: error: paofed run needs distributed, which is not installed: "
        "pip install 'paofed[cluster]'\n"
    )
