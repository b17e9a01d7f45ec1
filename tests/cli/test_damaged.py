"""Damaged and forged files as a user meets them: one line, exit code 2, nothing written."""

from collections.abc import Callable
from pathlib import Path

import pytest

from paofed.cli import main
from paofed.live.model.fleet_model import FleetModel
from tests.forgery import FLAGS, METHOD, SIZE, archive, claiming, lie, members_of
from tests.live.fleets import server
from tests.natures import small_trace
from tests.simulate.results.test_result import TWO_RUNS

COMMANDS: dict[str, tuple[Callable[[Path], None], list[str]]] = {
    "replay": (small_trace(1).save, ["--algorithm", "pao-fed-u1", "--out", "out.npz"]),
    "theory": (small_trace(1).save, ["--csv", "out.npz"]),
    "result": (TWO_RUNS.save, ["--csv", "out.npz"]),
    "predict": (FleetModel.of(server()).save, ["--input", "file.npz"]),
}


def claim(path: Path) -> None:
    """An absurd shape in the first array."""
    members = members_of(path)
    archive(path, {**members, next(iter(members)): claiming("(1000000000, 1000000000, 4)")})


def flip(path: Path) -> None:
    """A byte of a header."""
    members = members_of(path)
    name, content = next(iter(members.items()))
    archive(path, {**members, name: content.replace(b"'descr'", b"'dascr'")})


DAMAGE: dict[str, Callable[[Path], object]] = {
    "method": lambda path: lie(path, METHOD, 12),
    "encrypted": lambda path: lie(path, FLAGS, 1),
    "size": lambda path: lie(path, SIZE, 2**32 - 2),
    "shape": claim,
    "header": flip,
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-30]),
    "foreign": lambda path: archive(path, {"w.npy": claiming("()", "<f8", bytes(8))}),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_damaged_file_is_one_line(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    save, options = COMMANDS[command]
    path = Path("file.npz")
    for damage, harm in DAMAGE.items():
        save(path)
        harm(path)
        assert main([command, str(path), *options]) == 2, damage
        said = capsys.readouterr()
        assert said.err.count("\n") == 1, damage
        assert "file.npz" in said.err
        assert not said.out
        assert not Path("out.npz").exists()
