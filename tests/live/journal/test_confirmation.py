"""The small file that counts what was confirmed: torn, damaged, written by several at once."""

import fcntl
import os
from pathlib import Path

import pytest

from paofed.live.journal import confirmation
from paofed.live.journal.confirmation import CONFIRMED
from paofed.live.journal.database import FILE, Counts, nothing

BEFORE, AFTER, LATER = Counts(7, 99, 3), Counts(7, 100, 3), Counts(7, 101, 4)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / CONFIRMED
    (tmp_path / FILE).touch()
    confirmation.create(path, BEFORE)
    return path


def test_it_is_text_of_two_lines_that_never_grows(path: Path) -> None:
    for lines in range(100, 120):
        confirmation.write(path, AFTER._replace(lines=lines), nothing)
    assert path.stat().st_size == 8192
    found = [line.split() for line in path.read_text().splitlines()]
    assert [line[:4] for line in found if line] == [
        ["paofed-confirmed-1", "7", lines, "3"] for lines in ("119", "118")
    ]


def test_a_write_that_is_torn_anywhere_leaves_one_of_both(path: Path) -> None:
    confirmation.write(path, AFTER, nothing)
    old = path.read_bytes()
    confirmation.write(path, LATER, nothing)
    new = path.read_bytes()
    changed = [place for place in range(len(old)) if old[place] != new[place]]
    assert changed
    for place in range(min(changed), max(changed) + 2):
        path.write_bytes(new[:place] + old[place:])
        assert confirmation.read(path) == (LATER if place > max(changed) else AFTER)


def test_a_bit_that_turns_anywhere_leaves_one_of_both_counts(path: Path) -> None:
    """Never a count that nobody wrote: most of the file is room, and each line has a checksum."""
    confirmation.write(path, AFTER, nothing)
    whole = path.read_bytes()
    lines = [place for place in range(len(whole)) if whole[place] not in b" "]
    room = [place for place in range(0, len(whole), 97) if whole[place] in b" "]
    for place in (*lines, *room):
        for bit in range(8):
            turned = whole[place] ^ 1 << bit
            path.write_bytes(whole[:place] + bytes([turned]) + whole[place + 1 :])
            found = confirmation.read(path)
            assert found == AFTER or (found == BEFORE and place in lines)
            if bit == 0 and found == BEFORE:  # the damaged line is the one that is written next
                confirmation.write(path, LATER, nothing)
                assert confirmation.read(path) == LATER
                assert b"paofed-confirmed-1 7 99 3 " in path.read_bytes()


@pytest.mark.skipif(os.geteuid() != 0, reason="another's file is made by root alone")
def test_it_belongs_to_the_databases_owner(path: Path) -> None:
    os.chown(path.with_name(FILE), 12345, 54321)
    confirmation.create(path, BEFORE)
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)
    assert path.stat().st_mode & 0o777 == 0o600


def test_it_never_counts_back(path: Path) -> None:
    confirmation.write(path, LATER, nothing)
    before = path.read_bytes()
    confirmation.write(path, AFTER, nothing)
    assert path.read_bytes() == before
    confirmation.write(path, Counts(7, 50, 5), nothing)
    assert confirmation.read(path) == Counts(7, 101, 5)
    confirmation.create(path, BEFORE)  # which begins anew
    assert confirmation.read(path) == BEFORE


def test_it_is_on_disk_before_anybody_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []
    monkeypatch.setattr(confirmation, "_sync_data", lambda _: log.append("disk"))
    confirmation.write(path, AFTER, log.append)
    assert log == ["inside confirmation", "disk", "after confirmation"]


def test_another_process_waits_while_a_write_is_inside(path: Path) -> None:
    inside = []

    def look(where: str) -> None:
        with path.open() as file, pytest.raises(BlockingIOError):  # as another process would
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        inside.append(where)

    confirmation.write(path, AFTER, look)
    assert inside == ["inside confirmation", "after confirmation"]
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"paofed-confirmed-1 7 99 3", bytes(8192), b"\xff" * 8192, b"9" * 8192],
)
def test_a_file_that_is_none_or_another_s_is_not_written(content: bytes, path: Path) -> None:
    with pytest.raises(OSError, match="damaged or replaced"):
        confirmation.write(path, AFTER._replace(history=8), nothing)
    assert confirmation.read(path) == BEFORE
    path.write_bytes(content)
    assert confirmation.read(path) is None
    with pytest.raises(OSError, match="damaged or replaced"):
        confirmation.write(path, AFTER, nothing)
    assert path.read_bytes() == content
    path.unlink()
    assert confirmation.read(path) is None
    with pytest.raises(FileNotFoundError):
        confirmation.write(path, AFTER, nothing)
