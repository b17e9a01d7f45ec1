"""`paofed fleet backup` and `paofed fleet restore` as an operator meets them."""

import json
from pathlib import Path

import pytest

from paofed.cli import main
from paofed.live.fleet.folder import Fleet
from paofed.live.journal.database import FILE, locked
from tests.cli.operators import UNTOLD, Capsys, done, refusal


@pytest.fixture
def folder(tmp_path: Path, capsys: Capsys) -> Path:
    place = tmp_path / "greenhouse"
    words = f"fleet init {place} --input a --target y --features 8 --security password".split()
    assert main(words) == 0
    assert main(["fleet", "add", str(place), "north", "south"]) == 0
    capsys.readouterr()
    return place


def test_there_and_back_in_words(folder: Path, tmp_path: Path, capsys: Capsys) -> None:
    file = tmp_path / "b.tar"
    with locked(folder):  # its server is at work
        told = done(capsys, "backup", folder, file)
    size = file.stat().st_size
    assert told == f"wrote {folder} to {file} ({size:,} bytes, with all its secrets)\n"
    done(capsys, "quarantine", folder, "south", warns=UNTOLD)
    first, second, third, last = done(capsys, "restore", file, folder).splitlines()
    assert first.startswith(f"{folder} has the model of tick 0, 20")
    assert second.startswith(f"what was there is now {folder}.before-20")
    assert third == "quarantined, since the broker refuses them: south"
    assert last == "start its broker and its server again; all devices begin from this model"
    assert done(capsys, "verify", folder)
    with Fleet(folder).store() as store:
        assert store.roster.member("south").quarantined


def test_there_and_back_as_json(folder: Path, tmp_path: Path, capsys: Capsys) -> None:
    file, place = tmp_path / "b.tar", tmp_path / "new"
    answer = json.loads(done(capsys, "backup", folder, file, "--json"))
    assert (answer["out"], answer["bytes"]) == (str(file), file.stat().st_size)
    answer = json.loads(done(capsys, "restore", file, place, "--json"))
    with Fleet(folder).store() as store:
        epoch = store.epochs.manifest().epoch
    assert (answer["tick"], answer["aside"], answer["quarantined"]) == (0, None, [])
    assert answer["epoch"] != epoch


def test_what_cannot_be_done_is_told_in_one_line(
    folder: Path, tmp_path: Path, capsys: Capsys
) -> None:
    file = tmp_path / "b.tar"
    assert "is not a directory" in refusal(capsys, "backup", folder, tmp_path / "no" / "b.tar")
    assert "holds no fleet" in refusal(capsys, "backup", tmp_path, file)
    assert "cannot be read" in refusal(capsys, "restore", file, folder)
    done(capsys, "backup", folder, file)
    with locked(folder):
        assert "is running: stop it first" in refusal(capsys, "restore", file, folder)
    (folder / FILE).write_bytes(b"x" * 5000)
    assert "restore a backup with `paofed fleet restore`" in refusal(capsys, "verify", folder)
    done(capsys, "restore", file, folder)
    assert done(capsys, "verify", folder)
