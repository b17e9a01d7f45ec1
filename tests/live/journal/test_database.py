"""One SQLite file: what is none, what is damaged, and the lock."""

import errno
import fcntl
import os
import sqlite3
import stat
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from paofed.errors import InputError, NewerFormatError
from paofed.live.journal.database import FILE, StoreError, is_locked, locked
from paofed.live.journal.repair import Repair, repair
from paofed.live.journal.store import Store
from paofed.live.protocol.manifest import Manifest
from tests.effort import some
from tests.live.fleets import manifest, opened
from tests.live.stores import (
    PowerCutError,
    execute,
    flip,
    goes_on,
    refusal,
)


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


def test_pages_that_are_miscounted(fleet: Path) -> None:
    content = bytearray((fleet / FILE).read_bytes())
    content[39] += 5  # how many pages are free
    (fleet / FILE).write_bytes(content)
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
def test_tables_that_are_not_as_they_were_made(change: str, fleet: Path) -> None:
    """A repair would not help: to open the file for one ends with the same words."""
    execute(fleet, (change, ()))
    for to_repair in (False, True):
        with pytest.raises(
            StoreError, match=r"^the tables of .*, damaged or changed by hand: rest"
        ):
            Store.open(fleet, to_repair=to_repair)


def test_what_sqlite_itself_adds_is_no_damage(fleet: Path) -> None:
    execute(fleet, ("ANALYZE", ()))
    with opened(fleet) as store:
        assert store.verify().agrees


def test_a_schema_that_is_no_text(fleet: Path) -> None:
    content = (fleet / FILE).read_bytes()
    first = content.index(b"CREATE TABLE manifest")
    for place in some(range(first, first + 64), everyday=16):
        changed = bytearray(content)
        changed[place] ^= 0x80
        (fleet / FILE).write_bytes(changed)
        assert "restore a backup with `paofed fleet restore`" in refusal(fleet)


def test_what_is_committed_is_on_disk(fleet: Path) -> None:
    with opened(fleet) as store:
        asked = [store.database.rows(f"PRAGMA {name}") for name in ("synchronous", "journal_mode")]
        assert asked == [[(2,)], [("wal",)]]


@pytest.mark.parametrize("damage", ["not a database", "newer format"])
def test_a_store_that_is_refused_is_closed(
    damage: str, fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if damage == "newer format":
        execute(fleet, ("PRAGMA user_version = 99", ()))
    else:
        (fleet / FILE).write_bytes(b"x" * 5000)
    connect, made = sqlite3.connect, list[sqlite3.Connection]()

    def watched(path: Path, **options: Any) -> sqlite3.Connection:
        made.append(connect(path, **options))
        return made[-1]

    monkeypatch.setattr(sqlite3, "connect", watched)
    with pytest.raises(InputError):
        Store.open(fleet)
    (connection,) = made
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


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
        assert store.epochs.manifest() == manifest()


def test_a_file_that_is_something_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("mine " * 1000)
    with pytest.raises(StoreError, match="holds a fleet already"):
        Store.create(tmp_path, manifest())
    assert (tmp_path / FILE).read_text() == "mine " * 1000


def test_the_version_changes_when_another_writes(fleet: Path) -> None:
    with opened(fleet) as ours, opened(fleet) as theirs:
        first = ours.database.version()
        ours.roster.quarantine(0)
        theirs.roster.members()
        assert ours.database.version() == first
        theirs.roster.add("one more")
        second = ours.database.version()
        assert second != first
        assert ours.database.version() == second


def test_a_copy_from_before_a_repair_is_told_apart_though_it_has_more_lines(fleet: Path) -> None:
    copy = (fleet / FILE).read_bytes()
    flip(fleet, "journal", "vals", 62, 0)
    with opened(fleet) as store:
        assert repair(store) == Repair(lost=14)
    (fleet / FILE).write_bytes(copy)
    assert "fleet.sqlite-confirmed do not belong together, one of them is a copy" in refusal(fleet)
    with opened(fleet, to_repair=True) as store:
        assert repair(store) == Repair(complete=False)
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
        (fleet / "lock").unlink()  # which lets no second one in
        with pytest.raises(StoreError, match="is running"), locked(fleet):
            pass
        for _ in range(2):  # looking locks nobody out
            assert is_locked(fleet)
            assert is_locked(str(fleet))
    assert not is_locked(fleet)
    with pytest.raises(PowerCutError), locked(str(fleet)):
        raise PowerCutError
    assert not is_locked(fleet)


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
