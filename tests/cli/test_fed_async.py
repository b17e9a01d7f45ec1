"""A fleet whose server has a published rule, as an operator meets it."""

from pathlib import Path

import pytest

from paofed.cli import main
from paofed.live.fleet.folder import Fleet
from paofed.live.protocol.manifest import Manifest
from paofed.simulate.montecarlo import run
from tests.cli import table_runs

Capsys = pytest.CaptureFixture[str]
NUMBERS = ["--input", "a", "--target", "y:10:4", "--features", "8", "--security", "none"]
MIND = "the server rule of fed-async bounds nobody's influence"


def init(folder: Path, *words: object) -> Manifest:
    assert main(["fleet", "init", str(folder), *map(str, words)]) == 0
    return agreed(folder)


def agreed(folder: Path) -> Manifest:
    with Fleet(folder).store() as store:
        return store.epochs.manifest()


def refusal(capsys: Capsys, *words: object) -> str:
    assert main(["fleet", *map(str, words)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err


def test_a_new_fleet_is_told_that_nobody_is_bounded(tmp_path: Path, capsys: Capsys) -> None:
    usual = init(tmp_path / "a", *NUMBERS, "--algorithm", "fed-async")
    assert (usual.shared, usual.clip, usual.bound, usual.options) == (8, None, 6.0, None)
    assert MIND in capsys.readouterr().out
    words = ("--algorithm", "fed-async:alpha=0.1", "--shared", 4, "--clip", "none")
    few = init(tmp_path / "b", *NUMBERS, *words)
    assert (few.shared, few.clip, few.options) == (4, None, {"alpha": 0.1})
    capsys.readouterr()
    assert main(["fleet", "status", str(tmp_path / "b")]) == 0
    assert "b: fed-async:alpha=0.1, tick " in capsys.readouterr().out
    init(tmp_path / "c", *NUMBERS)
    assert MIND not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("fed-async", "--clip", "6"), "clip is 6.0: expected none for fed-async, whose rule"),
        (("fed-async:alpha=2",), "alpha is 2: expected a number from 0 to 1"),
        (("fed-async:alhpa=1",), "unknown option 'alhpa': did you mean 'alpha'?"),
        (("pao-fed-u1:shared=4",), "options is {'shared': 4}: expected none for pao-fed-u1"),
        (("fed-buff:buffer=5",), "fed-buff cannot be served: its model may diverge"),
        (("pao-fed-u3:a=1",), "did you mean 'pao-fed-u"),
    ],
)
def test_what_cannot_be(words: tuple[str, ...], says: str, tmp_path: Path, capsys: Capsys) -> None:
    assert says in refusal(capsys, "init", tmp_path / "x", *NUMBERS, "--algorithm", *words)
    assert not (tmp_path / "x").exists()


def test_a_change_there_and_back(tmp_path: Path, capsys: Capsys) -> None:
    folder = tmp_path / "a"
    init(folder, *NUMBERS)
    change = ["fleet", "change", str(folder)]
    capsys.readouterr()
    assert main([*change, "--algorithm", "fed-async:alpha=0.1", "--shared", "4"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert {"algorithm: pao-fed-u1 -> fed-async", "options: none -> alpha 0.1"} <= set(told)
    assert {"clip: 6 -> none"} <= set(told)
    assert any(line.startswith("lost: the bound on what one device can do") for line in told)
    assert "expected none for fed-async" in refusal(capsys, "change", folder, "--clip", "6")
    assert main([*change, "--algorithm", "fed-async"]) == 0
    assert (agreed(folder).options, agreed(folder).shared) == (None, 4)
    assert main([*change, "--algorithm", "pao-fed-u2", "--clip", "6"]) == 0
    assert (agreed(folder).algorithm, agreed(folder).clip) == ("pao-fed-u2", 6.0)


def test_from_another_fleet(tmp_path: Path) -> None:
    """It has the bounds that it can have; under another algorithm, all of a new fleet's."""
    init(tmp_path / "a", *NUMBERS, "--algorithm", "fed-async:alpha=0.1", "--bound", "none")
    same = init(tmp_path / "b", "--from", tmp_path / "a", "--security", "none")
    assert (same.method, same.clip, same.bound) == ("fed-async:alpha=0.1", None, 6.0)
    words = ("--security", "none", "--algorithm", "pao-fed-u1")
    other = init(tmp_path / "c", "--from", tmp_path / "a", *words)
    assert (other.method, other.clip, other.shared) == ("pao-fed-u1", 6.0, 4)


def test_from_a_run(tmp_path: Path, capsys: Capsys) -> None:
    scenario, _ = table_runs.made(tmp_path)
    names = ["fed-async:alpha=0.2,shared=4", "fed-async", "fed-buff:shared=4"]
    once = run(scenario, names, engine="reference", baselines="none", workers=1)
    once.save(tmp_path / "run.npz")
    words = ("--from", tmp_path / "run.npz", "--security", "none", "--algorithm")
    few = init(tmp_path / "a", *words, names[0])
    assert (few.method, few.shared) == ("fed-async:alpha=0.2", 4)
    assert (few.clip, few.bound) == (None, 6.0)
    told = capsys.readouterr().out
    assert MIND in told
    assert "with bound 6 as in any new fleet" in told
    whole = init(tmp_path / "b", *words, names[1])
    assert (whole.method, whole.shared) == ("fed-async", whole.features)
    capsys.readouterr()
    said = refusal(capsys, "init", tmp_path / "c", *words, names[2])
    assert "fed-buff:shared=4 cannot be served" in said
