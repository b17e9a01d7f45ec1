"""The small file that counts what was confirmed: torn, damaged, written by several at once."""

import fcntl
import os
from pathlib import Path

import pytest

from paofed.live.journal import confirmed
from paofed.live.journal.confirmed import Confirmed

BEFORE, AFTER, LATER = Confirmed(7, 99, 3), Confirmed(7, 100, 3), Confirmed(7, 101, 4)


def nothing(_: str) -> None:
    """Let no power fail."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / f"file{confirmed.SUFFIX}"
    (tmp_path / "file").touch()
    confirmed.create(path, BEFORE)
    return path


def test_it_is_read_as_it_was_written(path: Path) -> None:
    assert confirmed.read(path) == BEFORE
    for known in (AFTER, LATER):
        confirmed.write(path, known, nothing)
        assert confirmed.read(path) == known
    confirmed.create(path, BEFORE)
    assert confirmed.read(path) == BEFORE


def test_it_is_text_of_two_lines_that_never_grows(path: Path) -> None:
    for lines in range(100, 120):
        confirmed.write(path, AFTER._replace(lines=lines), nothing)
    assert path.stat().st_size == 8192
    found = [line.split() for line in path.read_text().splitlines()]
    assert [line[:4] for line in found if line] == [
        ["paofed-confirmed-1", "7", lines, "3"] for lines in ("119", "118")
    ]


def test_a_write_that_is_torn_anywhere_leaves_one_of_both(path: Path) -> None:
    confirmed.write(path, AFTER, nothing)
    old = path.read_bytes()
    confirmed.write(path, LATER, nothing)
    new = path.read_bytes()
    changed = [place for place in range(len(old)) if old[place] != new[place]]
    assert changed
    for place in range(min(changed), max(changed) + 2):
        path.write_bytes(new[:place] + old[place:])
        assert confirmed.read(path) == (LATER if place > max(changed) else AFTER)


def test_a_bit_that_turns_anywhere_leaves_one_of_both_counts(path: Path) -> None:
    """Never a count that nobody wrote: most of the file is room, and each line has a checksum."""
    confirmed.write(path, AFTER, nothing)
    whole = path.read_bytes()
    lines = [place for place in range(len(whole)) if whole[place] not in b" "]
    room = [place for place in range(0, len(whole), 97) if whole[place] in b" "]
    for place in (*lines, *room):
        for bit in range(8):
            turned = whole[place] ^ 1 << bit
            path.write_bytes(whole[:place] + bytes([turned]) + whole[place + 1 :])
            found = confirmed.read(path)
            assert found == AFTER or (found == BEFORE and place in lines)


@pytest.mark.skipif(os.geteuid() != 0, reason="another's file is made by root alone")
def test_it_belongs_to_the_databases_owner(path: Path) -> None:
    os.chown(path.with_name("file"), 12345, 54321)
    confirmed.create(path, BEFORE)
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)
    assert path.stat().st_mode & 0o777 == 0o600


def test_it_never_counts_back(path: Path) -> None:
    confirmed.write(path, LATER, nothing)
    before = path.read_bytes()
    confirmed.write(path, AFTER, nothing)
    assert path.read_bytes() == before
    confirmed.write(path, Confirmed(7, 50, 5), nothing)
    assert confirmed.read(path) == Confirmed(7, 101, 5)


def test_it_is_on_disk_before_anybody_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []
    monkeypatch.setattr(confirmed, "_sync_data", lambda _: log.append("disk"))
    confirmed.write(path, AFTER, log.append)
    assert log == ["inside confirmation", "disk", "after confirmation"]


def test_another_process_waits_while_a_write_is_inside(path: Path) -> None:
    inside = []

    def look(where: str) -> None:
        with path.open() as file, pytest.raises(BlockingIOError):  # as another process would
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        inside.append(where)

    confirmed.write(path, AFTER, look)
    assert inside == ["inside confirmation", "after confirmation"]
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_line_that_is_damaged_leaves_the_other_and_is_written_next(path: Path) -> None:
    confirmed.write(path, AFTER, nothing)
    content = path.read_bytes()
    newest = content.index(b" 100 ")
    path.write_bytes(content[:newest] + b" 900 " + content[newest + 5 :])
    assert confirmed.read(path) == BEFORE
    confirmed.write(path, LATER, nothing)
    assert path.read_bytes().count(LATER.to_line()) == 1
    assert (
        path.read_bytes().index(LATER.to_line()) < newest < path.read_bytes().index(b"\n", newest)
    )


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"paofed-confirmed-1 7 99 3", bytes(8192), b"\xff" * 8192, b"9" * 8192],
)
def test_a_file_that_is_none(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    assert confirmed.read(path) is None
    with pytest.raises(OSError, match="damaged or replaced"):
        confirmed.write(path, AFTER, nothing)
    assert path.read_bytes() == content


def test_one_that_is_not_there(path: Path) -> None:
    path.unlink()
    assert confirmed.read(path) is None
    with pytest.raises(FileNotFoundError):
        confirmed.write(path, AFTER, nothing)


def test_one_of_another_history_is_not_written(path: Path) -> None:
    with pytest.raises(OSError, match="damaged or replaced"):
        confirmed.write(path, AFTER._replace(history=8), nothing)
    assert confirmed.read(path) == BEFORE
