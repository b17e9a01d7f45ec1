"""The server's memory: what is kept, what damage is noticed, what can be mended."""

import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from paofed.errors import InputError
from paofed.live import database as module
from paofed.live.coordinator import Coordinator, Record
from paofed.live.database import FILE, MIGRATIONS, StoreError, is_locked, locked
from paofed.live.host import Host
from paofed.live.manifest import Manifest
from paofed.live.members import Member
from paofed.live.store import Store, Verification
from tests.live.fleets import f32, live, manifest, opened, records, server, stored, update


class PowerCutError(Exception):
    """Ends a write wherever it stands."""


def execute(folder: Path, *statements: tuple[str, tuple[object, ...]]) -> None:
    """Change the file behind the store's back."""
    connection = sqlite3.connect(folder / FILE)
    try:
        with connection:
            for sql, values in statements:
                connection.execute(sql, values)
    finally:
        connection.close()


def ask(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(folder / FILE)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def flip(folder: Path, table: str, column: str, line: int, place: int = 40) -> None:
    """Flip one bit of a blob."""
    ((blob,),) = ask(folder, f"SELECT {column} FROM {table} WHERE line = {line}")  # noqa: S608
    damaged = bytearray(blob)
    damaged[place] ^= 4
    execute(folder, (f"UPDATE {table} SET {column} = ? WHERE line = ?", (bytes(damaged), line)))  # noqa: S608


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Three devices, 25 ticks, snapshots after 10 and 20: lines 31 to 75, snapshots at 30, 60."""
    folder = tmp_path / "fleet"
    with stored(folder) as store:
        live(store, store.recover(), range(25), snapshots=10)
    return folder


def lived(ticks: int) -> Coordinator:
    """The server that saw it all and never stopped."""
    coordinator = server()
    for tick in range(ticks):
        for device in range(3):
            values = np.sin([device + 3.0 * tick, device - tick])
            records(coordinator, device, update(tick, *values))
        coordinator.close(tick + 1)
    return coordinator


def refusal(folder: Path, does: Callable[[Store], object] = lambda _: None) -> str:
    with pytest.raises(StoreError) as refused, opened(folder) as store:
        does(store)
    says = str(refused.value)
    assert "\n" not in says
    assert str(folder) in says
    return says


def test_what_was_written_is_there_after_a_restart(fleet: Path) -> None:
    with opened(fleet) as store:
        assert store.manifest() == manifest()
        assert [m.label for m in store.members()] == ["device 0", "device 1", "device 2"]
        recovered = store.recover()
        assert recovered.tick <= 25
        recovered.close(25)
        assert recovered.digest() == lived(25).digest()
        assert recovered.w.tobytes() == lived(25).w.tobytes()
        assert store.verify() == Verification(20, 30, agrees=True)


def test_the_journal_gives_back_every_number(tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        lines = [Record(9, 1, 7, f32(1.5, -2.25)), Record(9, 0, 9, f32(1e-30, 3e5))]
        store.write(lines)
        back = list(store.journal())
        assert [line[:3] for line in back] == [(9, 1, 7), (9, 0, 9)]
        assert [line.values.tobytes() for line in back] == [line.values.tobytes() for line in lines]
        assert [line[:3] for line in store.journal(after=1)] == [(9, 0, 9)]
        assert [line[:3] for line in store.journal(until=1)] == [(9, 1, 7)]
        assert store.lines() == 2


def test_a_folder_that_holds_a_fleet_is_left_alone(fleet: Path) -> None:
    before = (fleet / FILE).read_bytes()
    with pytest.raises(StoreError, match="holds a fleet already: choose another folder"):
        Store.create(fleet, manifest())
    assert (fleet / FILE).read_bytes() == before


@pytest.mark.parametrize("name", ["", "missing"])
def test_a_folder_without_a_fleet(name: str, tmp_path: Path) -> None:
    assert refusal(tmp_path / name).endswith(f"holds no fleet: there is no {FILE} in it")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"this is no database" * 100, "is damaged (file is not a database)"),
        (b"", "has no intact snapshot"),
    ],
)
def test_what_is_no_store(content: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(content)
    found = refusal(tmp_path, lambda store: store.recover())
    assert says in found
    assert "restore the folder from a copy, or salvage the file" in found


def test_an_empty_database_has_no_manifest(tmp_path: Path) -> None:
    (tmp_path / FILE).touch()
    assert "is damaged" in refusal(tmp_path, lambda store: store.manifest())


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_a_truncated_file(share: float, fleet: Path) -> None:
    content = (fleet / FILE).read_bytes()
    (fleet / FILE).write_bytes(content[: int(share * len(content))])
    assert "restore the folder from a copy" in refusal(fleet, lambda store: store.verify())


def test_pages_that_contradict_each_other(fleet: Path) -> None:
    content = bytearray((fleet / FILE).read_bytes())
    page = int.from_bytes(content[16:18], "big")
    for first in range(page, len(content), page):
        content[first : first + 8] = b"\x0d" + b"\xff" * 7
    (fleet / FILE).write_bytes(content)
    assert "is damaged (" in refusal(fleet)


def miscounted(fleet: Path) -> None:
    content = bytearray((fleet / FILE).read_bytes())
    content[36:40] = (5).to_bytes(4, "big")  # how many pages are free
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


@pytest.mark.parametrize("place", range(-1, -40, -7))
def test_a_damaged_snapshot_is_noticed(place: int, fleet: Path) -> None:
    for line in (30, 60):
        flip(fleet, "snapshot", "state", line, place)
        for does in (Store.recover, Store.verify, Store.history):
            says = refusal(fleet, does)
            assert "a snapshot in " in says
            assert "`paofed fleet repair` goes on from the newest intact snapshot" in says
        flip(fleet, "snapshot", "state", line, place)
    with opened(fleet) as store:
        assert store.verify().agrees


@pytest.mark.parametrize("place", range(8))
def test_a_damaged_line_is_noticed(place: int, fleet: Path) -> None:
    flip(fleet, "journal", "vals", 62, place)
    for does in (Store.recover, Store.verify, Store.history):
        says = refusal(fleet, does)
        assert says.startswith(f"line 62 of {fleet / FILE} is damaged: `paofed fleet repair` ")
        assert says.endswith("copy the folder first")


@pytest.mark.parametrize("column", ["arrived", "device", "sent", "checksum"])
def test_a_line_with_other_numbers_is_noticed(column: str, fleet: Path) -> None:
    execute(fleet, (f"UPDATE journal SET {column} = {column} + 1 WHERE line = 75", ()))  # noqa: S608
    assert refusal(fleet, Store.recover).startswith("line 75 of ")


def test_a_damaged_line_before_the_snapshot_hinders_no_restart(fleet: Path) -> None:
    flip(fleet, "journal", "vals", 40, 0)
    with opened(fleet) as store:
        recovered = store.recover()
    recovered.close(25)
    assert recovered.digest() == lived(25).digest()
    assert refusal(fleet, Store.verify).startswith("line 40 of ")


def tamper(folder: Path, line: int) -> None:
    """Change a value and make its checksum right again."""
    ((arrived, device, sent),) = ask(
        folder,
        f"SELECT arrived, device, sent FROM journal WHERE line = {line}",  # noqa: S608
    )
    values = f32(0.25, 0.5).tobytes()
    checksum = zlib.crc32(b"%d %d %d " % (arrived, device, sent) + values)
    execute(
        folder,
        ("UPDATE journal SET vals = ?, checksum = ? WHERE line = ?", (values, checksum, line)),
    )


@pytest.mark.parametrize("line", [31, 45, 60])
def test_verify_notices_a_value_that_was_tampered_with(line: int, fleet: Path) -> None:
    tamper(fleet, line)
    with opened(fleet) as store:
        assert store.verify() == Verification(20, 30, agrees=False)


@pytest.mark.parametrize("line", [31, 45, 60])
def test_verify_notices_a_line_that_is_missing(line: int, fleet: Path) -> None:
    execute(fleet, ("DELETE FROM journal WHERE line = ?", (line,)))
    with opened(fleet) as store:
        assert store.verify() == Verification(20, 29, agrees=False)


def test_a_store_with_one_snapshot_agrees_with_itself(tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        assert store.verify() == Verification(0, 0, agrees=True)


@pytest.mark.parametrize("point", ["before commit", "after commit"])
def test_lines_are_written_all_or_none(point: str, tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        lines = [Record(0, device, 0, f32(1.0, 2.0)) for device in range(3)]
        store.write(lines[:1])
        reached: list[str] = []

        def sync(where: str) -> None:
            reached.append(where)
            if where == point:
                raise PowerCutError

        with pytest.raises(PowerCutError):
            store.write(lines[1:], sync)
        assert reached[-1] == point
        assert store.lines() == (1 if point == "before commit" else 3)
    with opened(tmp_path) as store:
        assert store.lines() == (1 if point == "before commit" else 3)


@pytest.mark.parametrize(
    ("point", "snapshots"),
    [
        ("inside snapshot", [(30,), (60,)]),
        ("before snapshot's commit", [(30,), (60,)]),
        ("after snapshot", [(60,), (75,)]),
    ],
)
def test_a_snapshot_is_taken_whole_or_not_at_all(
    point: str, snapshots: list[tuple[int, ...]], fleet: Path
) -> None:
    def sync(where: str) -> None:
        if where == point:
            raise PowerCutError

    with opened(fleet) as store:
        coordinator = store.recover()
        coordinator.close(25)
        with pytest.raises(PowerCutError):
            store.snapshot(coordinator, sync)
    assert ask(fleet, "SELECT line FROM snapshot ORDER BY line") == snapshots
    assert ask(fleet, "SELECT min(line), max(line) FROM journal") == [(snapshots[0][0] + 1, 75)]
    with opened(fleet) as store:
        recovered = store.recover()
        recovered.close(25)
        assert recovered.digest() == lived(25).digest()
        assert store.verify().agrees


def test_two_snapshots_are_kept_and_the_journal_from_the_older_one_on(tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        coordinator = store.recover()
        for tick in range(12):
            live(store, coordinator, [tick], snapshots=1)
            again = store.recover()
            assert again.digest() == coordinator.digest()
            assert store.verify() == Verification(tick + 1, 3, agrees=True)
            ((snapshots, oldest),) = ask(tmp_path, "SELECT count(*), min(line) FROM snapshot")
            assert (snapshots, oldest) == (2, 3 * tick)
            assert ask(tmp_path, "SELECT min(line) FROM journal") == [(3 * tick + 1,)]


def test_a_snapshot_without_news_replaces_the_last_one(fleet: Path) -> None:
    with opened(fleet) as store:
        coordinator = store.recover()
        for tick in (30, 40, 50):
            coordinator.close(tick)
            store.snapshot(coordinator)
        assert store.verify() == Verification(50, 15, agrees=True)
        assert store.recover().tick == 50
    assert ask(fleet, "SELECT line, tick FROM snapshot ORDER BY line") == [(60, 20), (75, 50)]


def test_the_history_begins_at_the_older_snapshot(fleet: Path) -> None:
    with opened(fleet) as store:
        base, lines = store.history()
    assert (base.tick, len(lines)) == (10, 45)
    base.recover(lines)
    base.close(25)
    assert base.digest() == lived(25).digest()


def test_updates_ahead_of_time_survive_in_a_snapshot(tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        coordinator = store.recover()
        store.write(records(coordinator, 0, update(2, 1.0, 2.0)))
        coordinator.close(1)
        store.snapshot(coordinator)
        recovered = store.recover()
        assert [record[:3] for record in recovered.waiting()] == [(2, 0, 2)]
        assert records(recovered, 0, update(2, 9.0, 9.0)) == []
        recovered.close(5)
        coordinator.close(5)
        assert recovered.digest() == coordinator.digest()
        assert recovered.w.any()


def test_repair_after_a_damaged_newest_snapshot_loses_nothing(fleet: Path) -> None:
    flip(fleet, "snapshot", "state", 60)
    with opened(fleet) as store:
        assert store.repair() == 0
        recovered = store.recover()
        recovered.close(25)
        assert recovered.digest() == lived(25).digest()
        assert store.verify().agrees
        live(store, recovered, range(25, 40), snapshots=10)
    with opened(fleet) as store:
        again = store.recover()
        again.close(40)
        assert again.digest() == lived(40).digest()
        assert store.verify().agrees


@pytest.mark.parametrize(("line", "lost"), [(62, 14), (70, 6), (75, 1)])
def test_repair_gives_up_a_damaged_line_and_those_behind_it(
    line: int, lost: int, fleet: Path
) -> None:
    flip(fleet, "journal", "vals", line, 0)
    with opened(fleet) as store:
        assert store.repair() == lost
        assert store.verify().agrees
        recovered = store.recover()
        expected = lived(20)
        expected.recover(
            [
                Record(tick, device, tick, f32(*np.sin([device + 3.0 * tick, device - tick])))
                for tick in range(20, 25)
                for device in range(3)
            ][: line - 61]
        )
        for coordinator in (recovered, expected):
            coordinator.close(25)
        assert recovered.digest() == expected.digest()
    goes_on(fleet)


def goes_on(fleet: Path) -> None:
    """What is written after a repair is there after a restart."""
    with opened(fleet) as store:
        coordinator = store.recover()
        coordinator.close(25)
        for ticks in (range(25, 28), range(28, 45)):
            live(store, coordinator, ticks, snapshots=10)
            again = store.recover()
            again.close(coordinator.tick)
            assert again.digest() == coordinator.digest()
            assert store.verify().agrees


def test_repair_of_both_kinds_of_damage(fleet: Path) -> None:
    flip(fleet, "snapshot", "state", 60)
    flip(fleet, "journal", "vals", 50, 0)
    with opened(fleet) as store:
        assert store.repair() == 26
        assert store.verify().agrees
    goes_on(fleet)


def test_repair_of_what_is_intact_changes_nothing(fleet: Path) -> None:
    with opened(fleet) as store:
        assert store.repair() == 0
        recovered = store.recover()
        recovered.close(25)
        assert recovered.digest() == lived(25).digest()
    goes_on(fleet)


def a_first_line(fleet: Path) -> None:
    flip(fleet, "journal", "vals", 61, 0)


def a_line_before(fleet: Path) -> None:
    quiet(fleet)
    flip(fleet, "journal", "vals", 65, 0)


def the_older_snapshot(fleet: Path) -> None:
    quiet(fleet)
    flip(fleet, "snapshot", "state", 60)


@pytest.mark.parametrize(
    "damage",
    [a_first_line, a_line_before, the_older_snapshot, lambda fleet: quiet(fleet)],
    ids=["the first line behind a snapshot", "a line before it", "the older snapshot", "nothing"],
)
def test_after_a_repair_that_leaves_no_lines_the_journal_goes_on(
    damage: Callable[[Path], None], fleet: Path
) -> None:
    damage(fleet)
    with opened(fleet) as store:
        store.repair()
    goes_on(fleet)


def quiet(fleet: Path) -> None:
    """Take a snapshot behind which there is nothing."""
    with opened(fleet) as store:
        coordinator = store.recover()
        coordinator.close(25)
        store.snapshot(coordinator)


def test_without_any_intact_snapshot_there_is_nothing_to_repair(fleet: Path) -> None:
    for line in (30, 60):
        flip(fleet, "snapshot", "state", line)
    assert "has no intact snapshot: restore the folder from a copy" in refusal(fleet, Store.repair)


def test_devices_are_numbered_in_their_order_under_their_own_names(tmp_path: Path) -> None:
    with stored(tmp_path, devices=0) as store:
        assert [store.add(name) for name in ("north", "south", "a 'quoted' name")] == [0, 1, 2]
        with pytest.raises(StoreError, match=r"south|UNIQUE"):
            store.add("south")
        assert store.add("east") == 3
        assert [m[:2] for m in store.members()] == [
            (0, "north"),
            (1, "south"),
            (2, "a 'quoted' name"),
            (3, "east"),
        ]
        assert [store.recover().devices.knows(k) for k in range(5)] == [True] * 4 + [False]


def test_a_name_that_is_taken_is_told(fleet: Path) -> None:
    with opened(fleet) as store, pytest.raises(StoreError) as refused:
        store.add("device 1")
    assert str(refused.value) == (
        "there is a device 'device 1' already (`paofed fleet rotate` makes a new file)"
    )


def test_several_are_added_at_once(fleet: Path) -> None:
    with opened(fleet) as store:
        assert store.add_all(["east", "west"]) == [3, 4]
        assert store.add_all([]) == []
        assert store.add_all(iter(["far east"])) == [5]
        assert [m[:2] for m in store.members()[3:]] == [(3, "east"), (4, "west"), (5, "far east")]


@pytest.mark.parametrize("labels", [["east", "device 1", "west"], ["east", "west", "east"]])
def test_of_several_all_are_added_or_none(labels: list[str], fleet: Path) -> None:
    with opened(fleet) as store:
        with pytest.raises(StoreError) as refused:
            store.add_all(labels)
        taken = "device 1" if "device 1" in labels else "east"
        assert str(refused.value).startswith(f"there is a device {taken!r} already (")
        assert len(store.members()) == 3
        assert store.add_all(["east"]) == [3]


def test_a_credential_that_is_nobodys_is_revoked_too(fleet: Path) -> None:
    with opened(fleet) as store:
        store.reissue(0, "aa")
        for number in ("cc", "bb", "cc"):
            store.revoke(number)
        assert store.revoked() == ["bb", "cc"]
        store.reissue(0, "bb")
        assert store.revoked() == ["aa", "bb", "cc"]
    with opened(fleet) as store:
        assert store.revoked() == ["aa", "bb", "cc"]
        assert store.members()[0].credential == "bb"


@pytest.mark.parametrize(
    "does",
    [
        lambda store: store.write([Record(0, 0, 0, f32(1.0, 2.0))]),
        lambda store: store.snapshot(server()),
        lambda store: store.repair(),
    ],
)
def test_a_table_that_is_gone_is_told(does: Callable[[Store], object], fleet: Path) -> None:
    execute(fleet, ("DROP TABLE journal", ()))
    assert refusal(fleet, does).endswith("cannot be used: no such table: journal")


@pytest.mark.parametrize(
    ("change", "does"),
    [
        ("DROP TABLE journal", Store.recover),
        ("DROP TABLE journal", Store.lines),
        ("ALTER TABLE device RENAME COLUMN quarantined TO q", Store.recover),
        ("ALTER TABLE device RENAME COLUMN label TO lebal", Store.members),
    ],
)
def test_a_damaged_schema_is_told_when_reading(
    change: str, does: Callable[[Store], object], fleet: Path
) -> None:
    execute(fleet, (change, ()))
    refusal(fleet, does)


def test_a_line_with_text_for_a_number_is_noticed(fleet: Path) -> None:
    execute(fleet, ("UPDATE journal SET sent = 'x' WHERE line = 75", ()))
    assert refusal(fleet, Store.recover).startswith("line 75 of ")


def test_a_damaged_manifest_is_noticed(fleet: Path) -> None:
    execute(
        fleet,
        (
            "UPDATE manifest SET json = replace(json, '\"step_size\": 0.4', '\"step_size\": 0.6')",
            (),
        ),
    )
    with pytest.raises(InputError), opened(fleet) as store:
        store.manifest()


def test_a_snapshot_with_another_line_is_noticed(fleet: Path) -> None:
    execute(fleet, ("UPDATE snapshot SET line = 58 WHERE line = 60", ()))
    refusal(fleet, Store.recover)


def test_a_manifest_that_is_garbage_is_told(fleet: Path) -> None:
    execute(fleet, ("UPDATE manifest SET json = 'x'", ()))
    assert refusal(fleet, Store.recover).startswith("the manifest in ")


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


def test_nothing_grows_over_a_long_life(tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        host = Host(store, lambda _: None, snapshot_every=50)
        lines = []
        for tick in range(3000):
            for device in range(3):
                host.receive(device, update(tick, *np.sin([device + 3.0 * tick, device - tick])))
            host.advance(tick + 1)
            if tick % 100 == 99:
                lines.append(store.lines())
                # SQLite's log is 1,000 pages of 4 KiB before it is written again from its start.
                assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 5_000_000
        assert set(lines) == {150}
        assert host.coordinator.waiting() == []
        assert store.verify() == Verification(3000, 150, agrees=True)
        assert store.recover().digest() == host.coordinator.digest()
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    assert (tmp_path / FILE).stat().st_size < 100_000
    assert host.coordinator.w.tobytes() == lived(3000).w.tobytes()


def test_a_quarantine_outlives_a_restart(fleet: Path) -> None:
    for on in (True, False):
        with opened(fleet) as store:
            store.quarantine(1, on=on)
        with opened(fleet) as store:
            assert store.recover().devices.quarantined[:2].tolist() == [False, on]


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


def test_a_member_is_found_by_what_people_call_it(fleet: Path) -> None:
    with opened(fleet) as store:
        store.reissue(1, "ab")
        store.quarantine(2)
        expected = [
            Member(0, "device 0", "", quarantined=False, removed=False),
            Member(1, "device 1", "ab", quarantined=False, removed=False),
            Member(2, "device 2", "", quarantined=True, removed=False),
        ]
        assert store.members() == expected
        assert [store.member(member.label) for member in expected] == expected


def test_a_member_that_is_unknown_is_told_with_the_nearest(fleet: Path) -> None:
    with opened(fleet) as store:
        store.remove(2)
        with pytest.raises(StoreError) as refused:
            store.member("devize 1")
        assert str(refused.value) == (
            "unknown device 'devize 1': did you mean 'device 1'? (known: device 0, device 1)"
        )
        with pytest.raises(StoreError, match="unknown device 'device 2'"):
            store.member("device 2")


def test_members_are_in_the_order_of_their_indices(tmp_path: Path) -> None:
    with stored(tmp_path, devices=12) as store:
        store.remove(3)
        store.add("device 3")
        assert [m.device for m in store.members()] == list(range(13))
        assert store.member("device 3").device == 12


def test_what_was_reissued_is_revoked(fleet: Path) -> None:
    with opened(fleet) as store:
        assert store.revoked() == []
        store.reissue(0, "cc")
        assert store.revoked() == []
        store.reissue(0, "aa")
        store.reissue(1, "bb")
        assert store.revoked() == ["cc"]
        assert [m.credential for m in store.members()] == ["aa", "bb", ""]
        store.reissue(0, "cc")
        store.reissue(0, "dd")
        assert store.revoked() == ["aa", "cc"]


def test_what_the_server_had_is_revoked(fleet: Path) -> None:
    with opened(fleet) as store:
        assert store.server() == ""
        store.serve_as("")  # without security
        store.serve_as("aa")
        assert (store.server(), store.revoked()) == ("aa", [])
        store.serve_as("bb")
        assert (store.server(), store.revoked()) == ("bb", ["aa"])
    with opened(fleet) as store:
        assert (store.server(), store.revoked()) == ("bb", ["aa"])
    assert ask(fleet, "SELECT count(*) FROM server") == [(1,)]


def test_one_that_leaves_is_revoked_and_its_index_stays_its_own(fleet: Path) -> None:
    with opened(fleet) as store:
        store.reissue(1, "aa")
        store.remove(1)
        store.remove(2)
        assert store.revoked() == ["aa"]
        assert [m.removed for m in store.members()] == [False, True, True]
        assert store.add("device 2") == 3
        with pytest.raises(StoreError, match="there is a device 'device 2' already"):
            store.add("device 2")
        store.remove(3)
        assert store.add("device 2") == 4
    with opened(fleet) as store:
        assert [(m.label, m.removed) for m in store.members()] == [
            ("device 0", False),
            ("device 1", True),
            ("device 2", True),
            ("device 2", True),
            ("device 2", False),
        ]


def test_one_that_left_is_refused_after_a_restart_and_what_it_brought_stays(fleet: Path) -> None:
    with opened(fleet) as store:
        store.remove(1)
        recovered = store.recover()
        recovered.close(25)
        assert recovered.removed == {1}
        assert recovered.digest() == lived(25).digest()
        assert records(recovered, 1, update(25)) == []
        assert recovered.counts["refused: removed"] == 1
        assert len(records(recovered, 0, update(25))) == 1
        assert store.verify().agrees


def test_the_server_is_told_who_its_devices_are(fleet: Path) -> None:
    with opened(fleet) as store:
        store.quarantine(0)
        store.remove(2)
        coordinator = Coordinator(manifest())
        for _ in range(2):
            store.introduce(coordinator)
            assert [coordinator.devices.knows(k) for k in range(4)] == [True] * 3 + [False]
            assert coordinator.devices.quarantined[:3].tolist() == [True, False, False]
            assert coordinator.removed == {2}
        store.quarantine(0, on=False)
        store.introduce(coordinator)
        assert not coordinator.devices.quarantined[0]


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
def first_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fleet as the first paofed wrote it: 25 ticks, two snapshots, one device in quarantine."""
    folder = tmp_path / "old"
    with monkeypatch.context() as patch:
        patch.setattr(module, "MIGRATIONS", MIGRATIONS[:1])
        with stored(folder) as store:
            store.quarantine(1)
            live(store, server(), range(25), snapshots=10)
    assert ask(folder, "PRAGMA user_version") == [(1,)]
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
    monkeypatch.setattr(module, "MIGRATIONS", (MIGRATIONS[0], broken))
    assert "no such table: nowhere" in refusal(first_schema)
    monkeypatch.undo()
    assert ask(first_schema, "SELECT id, label FROM device ORDER BY id")[2] == (2, "device 2")
    with opened(first_schema) as store:
        assert len(store.members()) == 3


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
        "import sys, time; from paofed.live.database import locked\n"
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
