"""One SQLite file: what is none, what is damaged, and the lock."""

import errno
import fcntl
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from paofed.errors import InputError, NewerFormatError
from paofed.live.journal.database import FILE, StoreError, is_locked, locked
from paofed.live.journal.store import Repair, Store
from paofed.live.protocol.manifest import Manifest
from tests.live.fleets import manifest, opened
from tests.live.stores import (
    PowerCutError,
    execute,
    flip,
    goes_on,
    made,
    refusal,
)


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """A fleet with some history."""
    return made(tmp_path)


@pytest.mark.parametrize("name", ["", "missing"])
def test_a_folder_without_a_fleet(name: str, tmp_path: Path) -> None:
    assert refusal(tmp_path / name).endswith(f"holds no fleet: there is no {FILE} in it")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"this is no database" * 100, "is damaged (file is not a database)"),
        (b"", "is empty, or what was written to fleet.sqlite-wal is lost"),
    ],
)
def test_what_is_no_store(content: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(content)
    found = refusal(tmp_path, lambda store: store.recover())
    assert says in found
    assert found.endswith(": restore a backup with `paofed fleet restore`")


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_a_truncated_file(share: float, fleet: Path) -> None:
    content = (fleet / FILE).read_bytes()
    (fleet / FILE).write_bytes(content[: int(share * len(content))])
    assert "restore a backup with `paofed fleet restore`" in refusal(
        fleet, lambda store: store.verify()
    )


def test_pages_that_contradict_each_other(fleet: Path) -> None:
    content = bytearray((fleet / FILE).read_bytes())
    page = int.from_bytes(content[16:18], "big")
    for first in range(page, len(content), page):
        content[first : first + 8] = b"\x0d" + b"\xff" * 7
    (fleet / FILE).write_bytes(content)
    assert "is damaged (" in refusal(fleet)


def miscounted(fleet: Path) -> None:
    content = bytearray((fleet / FILE).read_bytes())
    content[39] += 5  # how many pages are free
    (fleet / FILE).write_bytes(content)


def test_pages_that_are_miscounted(fleet: Path) -> None:
    miscounted(fleet)
    with pytest.raises(StoreError, match="is damaged"):
        Store.open(fleet)


def test_what_sqlite_found_is_told_in_one_line(fleet: Path) -> None:
    miscounted(fleet)
    assert "is damaged (" in refusal(fleet)


def test_a_newer_format_is_told(fleet: Path) -> None:
    execute(fleet, ("PRAGMA user_version = 2", ()))
    with pytest.raises(NewerFormatError) as refused:
        Store.open(fleet)
    assert str(refused.value) == (
        f"{fleet / FILE} is a fleet's database of format 2, this paofed knows 1: upgrade paofed"
    )


@pytest.mark.parametrize(
    "change",
    [
        "DROP TABLE journal",
        "DROP TRIGGER device_changed",
        "DROP INDEX present",
        "ALTER TABLE device RENAME COLUMN quarantined TO q",
        "CREATE TABLE mine (text TEXT)",
        "DELETE FROM seal",
    ],
)
@pytest.mark.parametrize("to_repair", [False, True])
def test_tables_that_are_not_as_they_were_made(change: str, to_repair: bool, fleet: Path) -> None:
    execute(fleet, (change, ()))
    with pytest.raises(StoreError, match=r"^the tables of .*, damaged or changed by hand: restore"):
        Store.open(fleet, to_repair=to_repair)


def test_what_cannot_be_repaired_is_not_said_to_be(fleet: Path) -> None:
    """A flipped bit in the text of a table: to open it and to repair it end with the same words."""
    content = (fleet / FILE).read_bytes()
    (fleet / FILE).write_bytes(content.replace(b"removed INTEGER", b"removee INTEGER", 1))
    says = refusal(fleet)
    assert says.endswith(": restore a backup with `paofed fleet restore`")
    with pytest.raises(StoreError) as refused:
        Store.open(fleet, to_repair=True)
    assert str(refused.value) == says


def test_what_sqlite_itself_adds_is_no_damage(fleet: Path) -> None:
    execute(fleet, ("ANALYZE", ()))
    with opened(fleet) as store:
        assert store.verify().agrees


def test_a_schema_that_is_no_text(fleet: Path) -> None:
    content = (fleet / FILE).read_bytes()
    first = content.index(b"CREATE TABLE manifest")
    for place in range(first, first + 64):
        changed = bytearray(content)
        changed[place] ^= 0x80
        (fleet / FILE).write_bytes(changed)
        assert "restore a backup with `paofed fleet restore`" in refusal(fleet)


def test_what_is_committed_is_on_disk(fleet: Path) -> None:
    with opened(fleet) as store:
        asked = [store._rows(f"PRAGMA {name}") for name in ("synchronous", "journal_mode")]
        assert asked == [[(2,)], [("wal",)]]


class Watched(sqlite3.Connection):
    """A connection that says whether it was closed."""

    opened: int = 0

    def close(self) -> None:
        type(self).opened -= 1
        super().close()


@pytest.mark.parametrize("damage", ["not a database", "newer format"])
def test_a_store_that_is_refused_is_closed(
    damage: str, fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if damage == "newer format":
        execute(fleet, ("PRAGMA user_version = 99", ()))
    else:
        (fleet / FILE).write_bytes(b"x" * 5000)
    connect = sqlite3.connect
    monkeypatch.setattr(Watched, "opened", 1)
    monkeypatch.setattr(
        sqlite3, "connect", lambda path, **options: connect(path, factory=Watched, **options)
    )
    with pytest.raises(InputError):
        Store.open(fleet)
    assert Watched.opened == 0


def test_a_creation_that_was_cut_off_can_be_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Manifest, "to_json", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            Store.create(tmp_path, manifest())
    assert (tmp_path / FILE).exists()
    Store.create(tmp_path, manifest()).close()
    with opened(tmp_path) as store:
        assert store.manifest() == manifest()


def test_a_file_that_is_something_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("mine " * 1000)
    with pytest.raises(StoreError, match="holds a fleet already"):
        Store.create(tmp_path, manifest())
    assert (tmp_path / FILE).read_text() == "mine " * 1000


def test_the_version_changes_when_another_writes(fleet: Path) -> None:
    with opened(fleet) as ours, opened(fleet) as theirs:
        first = ours.version()
        ours.quarantine(0)
        theirs.members()
        assert ours.version() == first
        theirs.add("one more")
        second = ours.version()
        assert second != first
        assert ours.version() == second


def test_a_copy_from_before_a_repair_is_told_apart_though_it_has_more_lines(fleet: Path) -> None:
    copy = (fleet / FILE).read_bytes()
    flip(fleet, "journal", "vals", 62, 0)
    with opened(fleet) as store:
        assert store.repair() == Repair(lost=14)
    (fleet / FILE).write_bytes(copy)
    assert "fleet.sqlite-confirmed do not belong together, one of them is a copy" in refusal(fleet)
    with opened(fleet, to_repair=True) as store:
        assert store.repair() == Repair(complete=False)
    goes_on(fleet)


def test_one_server_at_a_time(fleet: Path) -> None:
    with locked(fleet):
        with pytest.raises(StoreError) as refused, locked(fleet):
            pass
        assert str(refused.value) == (
            f"a server of {fleet} is running: stop it first, or leave it at work"
        )
        with opened(fleet) as store:
            assert store.verify().agrees
    with locked(str(fleet)):
        pass


def test_deleting_the_file_lock_lets_no_second_server_in(fleet: Path) -> None:
    with locked(fleet):
        (fleet / "lock").unlink()
        with pytest.raises(StoreError, match="is running"), locked(fleet):
            pass
        assert is_locked(fleet)


def test_a_folder_that_cannot_be_locked_is_served_by_the_file_s_lock(
    fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock = fcntl.flock

    def on_nfs(handle: int, operation: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EBADF, "a folder cannot be opened for writing")
        flock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", on_nfs)
    with locked(fleet), pytest.raises(StoreError, match="is running"), locked(fleet):
        pass


def test_whether_somebody_is_at_work(fleet: Path) -> None:
    for _ in range(2):  # looking locks nobody out
        assert not is_locked(fleet)
    with locked(fleet):
        assert is_locked(fleet)
        assert is_locked(str(fleet))
        with pytest.raises(StoreError, match="is running"), locked(fleet):
            pass
    assert not is_locked(fleet)


def test_the_lock_ends_with_an_error(fleet: Path) -> None:
    with pytest.raises(PowerCutError), locked(fleet):
        raise PowerCutError
    with locked(fleet):
        pass


def test_the_lock_ends_with_its_process(fleet: Path) -> None:
    program = (
        "import sys, time; from paofed.live.journal.database import locked\n"
        "with locked(sys.argv[1]):\n print('locked', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen(  # noqa: S603 (our own program)
        [sys.executable, "-c", program, str(fleet)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        with process.stdout as said:
            assert said.readline() == "locked\n"
        with pytest.raises(StoreError, match="is running"), locked(fleet):
            pass
    finally:
        process.kill()
        process.wait()
    with locked(fleet):
        pass
