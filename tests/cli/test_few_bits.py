"""A fleet whose values travel with few bits, as an operator meets it."""

from pathlib import Path

import pytest

from paofed.cli import main
from tests.cli.test_fed_async import NUMBERS, agreed, init

Capsys = pytest.CaptureFixture[str]


def test_a_new_fleet(tmp_path: Path, capsys: Capsys) -> None:
    few = init(tmp_path / "a", *NUMBERS, "--algorithm", "quantised:bits=8", "--shared", 6)
    assert (few.shared, few.clip, few.bound, few.options) == (6, 6.0, 6.0, {"bits": 8})
    assert init(tmp_path / "b", *NUMBERS, "--algorithm", "quantised").shared == 4
    assert "bounds nobody" not in capsys.readouterr().out
    assert main(["fleet", "status", str(tmp_path / "a")]) == 0
    assert "a: quantised:bits=8, tick " in capsys.readouterr().out
    same = init(tmp_path / "c", "--from", tmp_path / "a", "--security", "none")
    assert (same.method, same.shared) == ("quantised:bits=8", 6)


def test_a_change_there_and_back(tmp_path: Path, capsys: Capsys) -> None:
    folder = tmp_path / "a"
    init(folder, *NUMBERS)
    change = ["fleet", "change", str(folder), "--algorithm"]
    capsys.readouterr()
    assert main([*change, "quantised:bits=8,down_bits=8"]) == 0
    told = capsys.readouterr().out.splitlines()
    wanted = {"algorithm: pao-fed-u1 -> quantised", "options: none -> bits 8, down bits 8"}
    assert {line.replace("down_bits", "down bits") for line in told} >= wanted
    assert not any(line.startswith("lost: the bound") for line in told)
    assert main([*change, "quantised:bits=4"]) == 0
    assert (agreed(folder).options, agreed(folder).clip) == ({"bits": 4}, 6.0)
    assert main([*change, "pao-fed-u1"]) == 0
    assert (agreed(folder).options, agreed(folder).shared) == (None, 4)
