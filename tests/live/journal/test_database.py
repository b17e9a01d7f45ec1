"""One SQLite file: what is none, what is damaged, older schemas, and the lock."""

import errno
import fcntl
import json
import os
import sqlite3
import stat
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from paofed.live.journal import confirmed
from paofed.live.journal import database as module
from paofed.live.journal.database import CONFIRMED, FILE, StoreError, is_locked, locked, missing
from paofed.live.journal.members import Member
from paofed.live.journal.schema import MIGRATIONS
from paofed.live.journal.store import Repair, Store
from paofed.live.protocol.manifest import Manifest
from tests.live.fleets import live, manifest, opened, stored
from tests.live.stores import (
    PowerCutError,
    as_before,
    ask,
    execute,
    flip,
    goes_on,
    lived,
    made,
    refusal,
)

# What a manifest of wire version 1 has.
_WIRE_1 = (
    *("algorithm", "features", "shared", "kernel_width", "seed", "step_size", "max_age"),
    *("tick_seconds", "start", "epoch", "inputs", "target", "probes"),
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


def test_a_newer_schema_is_told(fleet: Path) -> None:
    newer = len(MIGRATIONS) + 1
    execute(fleet, (f"PRAGMA user_version = {newer}", ()))
    says = refusal(fleet)
    assert f"newer paofed (schema {newer}, this one knows {len(MIGRATIONS)}): upgrade" in says


def test_an_older_schema_is_brought_up_to_date(
    fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = "CREATE TABLE note (text TEXT); INSERT INTO note VALUES ('kept');"
    monkeypatch.setattr(module, "MIGRATIONS", (*MIGRATIONS, more))
    for _ in range(2):
        with opened(fleet) as store:
            assert store.verify().agrees
    assert ask(fleet, "PRAGMA user_version") == [(len(MIGRATIONS) + 1,)]
    assert ask(fleet, "SELECT text FROM note") == [("kept",)]


def test_a_migration_happens_whole_or_not_at_all(
    fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = "CREATE TABLE note (text TEXT); INSERT INTO nowhere VALUES (1);"
    monkeypatch.setattr(module, "MIGRATIONS", (*MIGRATIONS, more))
    assert "cannot be used: no such table: nowhere" in refusal(fleet)
    monkeypatch.undo()
    with opened(fleet) as store:
        assert store.verify().agrees
    assert ask(fleet, "PRAGMA user_version") == [(len(MIGRATIONS),)]
    assert ask(fleet, "SELECT count(*) FROM sqlite_master WHERE name = 'note'") == [(0,)]


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
    first = content.index(b'CREATE TABLE "manifest"')
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


@pytest.mark.parametrize("damage", ["not a database", "newer schema"])
def test_a_store_that_is_refused_is_closed(
    damage: str, fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if damage == "newer schema":
        execute(fleet, ("PRAGMA user_version = 99", ()))
    else:
        (fleet / FILE).write_bytes(b"x" * 5000)
    connect = sqlite3.connect
    monkeypatch.setattr(Watched, "opened", 1)
    monkeypatch.setattr(
        sqlite3, "connect", lambda path, **options: connect(path, factory=Watched, **options)
    )
    refusal(fleet)
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


@pytest.fixture
def first_schema(tmp_path: Path) -> Path:
    """A fleet as the first paofed wrote it: 25 ticks, two snapshots, one device in quarantine."""
    folder = made(tmp_path)
    with opened(folder) as store:
        store.quarantine(1)
    as_before(folder, version=1)
    return folder


def test_a_fleet_of_the_first_schema_keeps_its_devices_and_its_model(first_schema: Path) -> None:
    for _ in range(2):
        with opened(first_schema) as store:
            assert store.members() == [
                Member(0, "device 0", "", quarantined=False, removed=False),
                Member(1, "device 1", "", quarantined=True, removed=False),
                Member(2, "device 2", "", quarantined=False, removed=False),
            ]
            assert (store.revoked(), store.server()) == ([], "")
            recovered = store.recover()
            recovered.close(25)
            assert recovered.w.tobytes() == lived(25).w.tobytes()
            assert store.verify().agrees
    assert ask(first_schema, "PRAGMA user_version") == [(len(MIGRATIONS),)]


@pytest.mark.parametrize(("epoch", "then"), [(3, 4), (255, 0)])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_fleet_of_an_earlier_wire_version_begins_an_epoch(
    version: int, epoch: int, then: int, tmp_path: Path
) -> None:
    """Its devices believe that there is a new manifest only if it has another epoch."""
    with stored(tmp_path, epoch=epoch) as store:
        before = store.manifest()
    as_before(tmp_path, version=version)
    text = ask(tmp_path, "SELECT json FROM manifest")[0][0]
    old = {key: value for key, value in json.loads(text).items() if key in _WIRE_1}
    text = json.dumps(old)
    change = "UPDATE manifest SET json = ?, checksum = ?"
    execute(tmp_path, (change, (text, zlib.crc32(text.encode()))))
    for _ in range(2):  # once, not at every start
        with opened(tmp_path) as store:
            assert store.manifest() == replace(before, epoch=then)
            assert store.is_intact()
    with stored(tmp_path / "new", epoch=epoch) as store:
        assert store.manifest().epoch == epoch


def test_a_fleet_of_the_first_schema_can_be_changed(first_schema: Path) -> None:
    with opened(first_schema) as store:
        store.reissue(0, "aa")
        store.remove(0)
        assert store.revoked() == ["aa"]
        assert store.add("device 0") == 3
        with pytest.raises(StoreError, match="there is a device 'device 2' already"):
            store.add("device 2")
    goes_on(first_schema)


def test_a_migration_that_is_cut_off_leaves_the_first_schema(
    first_schema: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = MIGRATIONS[1] + "INSERT INTO nowhere VALUES (1);"  # noqa: S608
    monkeypatch.setattr(module, "MIGRATIONS", (MIGRATIONS[0], broken, *MIGRATIONS[2:]))
    assert "no such table: nowhere" in refusal(first_schema)
    monkeypatch.undo()
    assert ask(first_schema, "SELECT id, label FROM device ORDER BY id")[2] == (2, "device 2")
    with opened(first_schema) as store:
        assert len(store.members()) == 3


@pytest.fixture
def second_schema(tmp_path: Path) -> Path:
    """A fleet as paofed wrote it before rows had checksums."""
    folder = made(tmp_path)
    with opened(folder) as store:
        store.serve_as("5e")
        for credential in ("a0", "b0"):
            store.reissue(0, credential)
        store.remove(2)
    as_before(folder, version=2)
    return folder


def test_a_fleet_of_the_second_schema_gets_checksums_and_is_counted(second_schema: Path) -> None:
    with opened(second_schema) as store:
        assert store.members() == [
            Member(0, "device 0", "b0", quarantined=False, removed=False),
            Member(1, "device 1", "", quarantined=False, removed=False),
            Member(2, "device 2", "", quarantined=False, removed=True),
        ]
        assert (store.revoked(), store.server()) == (["a0"], "5e")
        assert store.is_intact()
    found = confirmed.read(second_schema / CONFIRMED)
    assert found is not None
    assert found[1:] == (75, 1)  # a change: the manifest of a new epoch
    execute(second_schema, ("UPDATE device SET credential = 'a0' WHERE id = 0", ()))
    assert "device 0 in " in refusal(second_schema)


@pytest.mark.parametrize("to_repair", [False, True])
def test_an_older_server_that_is_at_work_is_not_overtaken(
    to_repair: bool, second_schema: Path
) -> None:
    with locked(second_schema), pytest.raises(StoreError) as refused:
        Store.open(second_schema, to_repair=to_repair)
    assert str(refused.value) == (
        f"a server of {second_schema} by an older paofed is running: stop it first, or leave it at "
        f"work"
    )
    assert ask(second_schema, "PRAGMA user_version") == [(2,)]
    assert not (second_schema / CONFIRMED).exists()
    with opened(second_schema) as store:
        assert store.is_intact()


def test_an_older_server_cannot_start_during_a_migration(
    second_schema: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    begin = Store._begin_confirming

    def looks(store: Store) -> None:
        seen.append(is_locked(second_schema))
        begin(store)

    monkeypatch.setattr(Store, "_begin_confirming", looks)
    with opened(second_schema):
        assert seen == [True]
        assert not is_locked(second_schema)


class Overtaken(sqlite3.Connection):
    """A connection whose first transaction begins when another process has just had its own."""

    other: Callable[[], object] | None = None

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        self._let_the_other_go(sql)
        return super().execute(sql, *values)

    def executescript(self, sql: str) -> sqlite3.Cursor:
        self._let_the_other_go(sql)
        return super().executescript(sql)

    def _let_the_other_go(self, sql: str) -> None:
        other = type(self).other
        if sql.startswith("BEGIN IMMEDIATE") and other is not None:
            type(self).other = None
            other()


def test_of_two_that_open_an_older_fleet_at_once_one_brings_it_up_to_date(
    second_schema: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect
    others: list[Store] = []
    monkeypatch.setattr(Overtaken, "other", lambda: others.append(Store.open(second_schema)))
    monkeypatch.setattr(
        sqlite3, "connect", lambda path, **options: connect(path, factory=Overtaken, **options)
    )
    with opened(second_schema) as store:
        (other,) = others
        other.quarantine(0)
        assert store.members()[0].quarantined
        assert store.is_intact()
        other.close()


@pytest.mark.parametrize("ticks", [0, 3])
def test_a_repair_by_an_older_paofed_left_a_gap_that_is_none(ticks: int, fleet: Path) -> None:
    flip(fleet, "journal", "vals", 62, 0)
    with opened(fleet) as store:
        store.repair()
        coordinator = store.recover()
        coordinator.close(25)
        live(store, coordinator, range(25, 25 + ticks))
        expected = store.recover().digest()
    as_before(fleet, version=2)
    execute(
        fleet,
        ("DELETE FROM snapshot WHERE line < 60", ()),
        ("DELETE FROM journal WHERE line <= 60", ()),
        ("UPDATE journal SET line = line + 14 WHERE line > 61", ()),  # no number was used again
        ("UPDATE sqlite_sequence SET seq = seq + 14 WHERE name = 'journal'", ()),
    )
    with opened(fleet) as store:
        assert store.is_intact()
        assert store.recover().digest() == expected
        assert store.lines() == 1 + 3 * ticks
    assert ask(fleet, "SELECT line FROM snapshot") == [(74,), (75,)]


@pytest.mark.parametrize(("ticks", "changes"), [(2, 0), (0, 1), (2, 2)])
def test_a_copy_of_an_older_paofed_in_the_place_of_a_newer_database(
    ticks: int, changes: int, second_schema: Path
) -> None:
    copy = (second_schema / FILE).read_bytes()
    with opened(second_schema) as store:
        live(store, store.recover(), range(25, 25 + ticks))
        for device in range(changes):
            store.quarantine(device)
    (second_schema / FILE).write_bytes(copy)
    lacks = f"lacks {missing(2 * ticks, changes)}: restore"
    assert lacks in refusal(second_schema)
    assert ask(second_schema, "PRAGMA user_version") == [(2,)]
    with opened(second_schema, to_repair=True) as store:
        assert not store.is_intact()
    assert lacks in refusal(second_schema)  # to look is not to repair
    with opened(second_schema, to_repair=True) as store:
        assert store.repair() == Repair(2 * ticks, changes)
    goes_on(second_schema)


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


def test_a_migration_that_is_cut_off_before_its_commit_can_be_done_again(
    second_schema: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = confirmed.create

    def cut(path: Path, what: confirmed.Confirmed) -> None:
        create(path, what)
        raise PowerCutError

    with monkeypatch.context() as patch:
        patch.setattr(confirmed, "create", cut)
        with pytest.raises(PowerCutError):
            Store.open(second_schema)
    assert ask(second_schema, "PRAGMA user_version") == [(2,)]
    with opened(second_schema) as store:
        assert store.is_intact()


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
