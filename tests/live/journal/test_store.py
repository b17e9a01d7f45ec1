"""The server's memory: what is kept, what damage is noticed, what can be mended."""

import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from paofed.live.journal import confirmation
from paofed.live.journal.confirmation import CONFIRMED
from paofed.live.journal.database import FILE
from paofed.live.journal.host import Host
from paofed.live.journal.repair import Repair, repair
from paofed.live.journal.snapshots import Snapshots
from paofed.live.journal.store import Store, Verification
from paofed.live.protocol.coordinator import Record
from tests.effort import effort, some
from tests.live.fleets import f32, live, manifest, opened, records, stored, update
from tests.live.stores import PowerCutError, ask, execute, flip, goes_on, history, lived, refusal


def test_what_was_written_is_there_after_a_restart(fleet: Path) -> None:
    with opened(fleet) as store:
        assert store.epochs.manifest() == manifest()
        assert [m.label for m in store.roster.members()] == ["device 0", "device 1", "device 2"]
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
        back = list(store.lines.read())
        assert [line[:3] for line in back] == [(9, 1, 7), (9, 0, 9)]
        assert [line.values.tobytes() for line in back] == [line.values.tobytes() for line in lines]
        assert [line[:3] for line in store.lines.read(after=1)] == [(9, 0, 9)]
        assert [line[:3] for line in store.lines.read(until=1)] == [(9, 1, 7)]
        assert store.lines.count() == 2


@pytest.mark.parametrize("place", some(range(-1, -40, -7), everyday=2))
def test_a_damaged_snapshot_is_noticed(place: int, fleet: Path) -> None:
    for line in (30, 60):
        flip(fleet, "snapshot", "state", line, place)
        for does in (Store.verify, Store.recover if line == 60 else history):
            says = refusal(fleet, does)
            assert "a snapshot in " in says
            assert "`paofed fleet repair` goes on from the newest intact snapshot" in says
        flip(fleet, "snapshot", "state", line, place)
    with opened(fleet) as store:
        assert store.verify().agrees


@pytest.mark.parametrize(
    "change",
    [
        *(f"{column} = {column} + 1" for column in ("arrived", "device", "sent", "checksum")),
        "sent = 'x'",
        0,
        3,
        7,
    ],
)
def test_a_damaged_line_is_noticed(change: str | int, fleet: Path) -> None:
    """Another number in one of its columns, or another bit in one of its bytes."""
    if isinstance(change, int):
        flip(fleet, "journal", "vals", 62, change)
    else:
        execute(fleet, (f"UPDATE journal SET {change} WHERE line = 62", ()))  # noqa: S608
    for does in (Store.recover, Store.verify, history):
        says = refusal(fleet, does)
        assert says.startswith(f"line 62 of {fleet / FILE} is damaged: `paofed fleet repair` ")
        assert says.endswith("copy the folder first")
    flip(fleet, "journal", "vals", 40, 0)  # before the snapshot, where it hinders no restart
    with opened(fleet) as store:
        repair(store)
        assert store.recover().counts["accepted"] == 61


def tamper(folder: Path, line: int) -> None:
    """Change a value and make its checksum right again."""
    ((arrived, device, sent),) = ask(
        folder,
        f"SELECT arrived, device, sent FROM journal WHERE line = {line}",  # noqa: S608
    )
    values = f32(0.25, 0.5).tobytes()
    checksum = zlib.crc32(b"%d %d %d %s 0" % (arrived, device, sent, values))
    execute(
        folder,
        ("UPDATE journal SET vals = ?, checksum = ? WHERE line = ?", (values, checksum, line)),
    )


@pytest.mark.parametrize("line", [31, 45, 60])
def test_verify_notices_a_value_that_was_tampered_with(line: int, fleet: Path) -> None:
    tamper(fleet, line)
    with opened(fleet) as store:
        assert store.verify() == Verification(20, 30, agrees=False)


@pytest.mark.parametrize("line", [31, 60, 61, 75])
def test_a_line_that_is_missing_is_noticed(line: int, fleet: Path) -> None:
    execute(fleet, ("DELETE FROM journal WHERE line = ?", (line,)))
    noticing: list[Callable[[Store], object]] = [Store.verify, history]
    for does in noticing + [Store.recover] * (line > 60):
        assert refusal(fleet, does).startswith(f"line {line} of {fleet / FILE} is missing: `paofed")
    with opened(fleet) as store:
        assert repair(store) == Repair(lost=max(76 - line, 0) if line > 60 else 0)
    goes_on(fleet)


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
        assert store.lines.count() == (1 if point == "before commit" else 3)
    with opened(tmp_path) as store:
        assert store.lines.count() == (1 if point == "before commit" else 3)


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
        base, lines = store.past.history()
        assert (base.tick, len(lines)) == (20, 15)
        base.recover(lines)
        base.close(50)
        assert base.digest() == coordinator.digest()
    assert ask(fleet, "SELECT line, tick FROM snapshot ORDER BY line") == [(60, 20), (75, 50)]


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


@pytest.mark.parametrize(("line", "lost"), [(62, 14), (75, 1), (None, 0)])
def test_repair_gives_up_a_damaged_line_and_those_behind_it(
    line: int | None, lost: int, fleet: Path
) -> None:
    """With the newest snapshot damaged alone, nothing is lost."""
    if line is None:
        flip(fleet, "snapshot", "state", 60)
    else:
        flip(fleet, "journal", "vals", line, 0)
    with opened(fleet) as store:
        assert repair(store).lost == lost
        assert store.verify().agrees
        recovered = store.recover()
        expected = lived(20)
        expected.recover(
            [
                Record(tick, device, tick, f32(*np.sin([device + 3.0 * tick, device - tick])))
                for tick in range(20, 25)
                for device in range(3)
            ][: 15 - lost]
        )
        for coordinator in (recovered, expected):
            coordinator.close(25)
        assert recovered.digest() == expected.digest()
    goes_on(fleet)


def a_first_line(fleet: Path) -> None:
    flip(fleet, "journal", "vals", 61, 0)


def both(fleet: Path) -> None:
    flip(fleet, "snapshot", "state", 60)
    flip(fleet, "journal", "vals", 31, 0)


def a_line_before(fleet: Path) -> None:
    quiet(fleet)
    flip(fleet, "journal", "vals", 65, 0)


def the_older_snapshot(fleet: Path) -> None:
    quiet(fleet)
    flip(fleet, "snapshot", "state", 60)


@pytest.mark.parametrize(
    ("damage", "lost"),
    [
        (a_first_line, 15),
        (both, 45),
        (a_line_before, 0),
        (the_older_snapshot, 0),
        (lambda fleet: quiet(fleet), 0),
    ],
    ids=[
        "the first line",
        "a snapshot and a line",
        "a line before",
        "an older snapshot",
        "nothing",
    ],
)
def test_after_a_repair_that_leaves_no_lines_the_journal_goes_on(
    damage: Callable[[Path], None], lost: int, fleet: Path
) -> None:
    damage(fleet)
    with opened(fleet) as store:
        assert repair(store) == Repair(lost=lost)
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
    assert "has no intact snapshot: restore a backup with `paofed fleet restore`" in refusal(
        fleet, repair
    )


def copied(fleet: Path) -> Path:
    """A copy of the database, made as the documents say."""
    copy = fleet.parent / "copy.sqlite"
    connection = sqlite3.connect(fleet / FILE)
    connection.execute("VACUUM INTO ?", (str(copy),))
    connection.close()
    return copy


def test_a_copy_of_the_database_can_be_put_in_its_place(fleet: Path) -> None:
    with opened(fleet) as store:  # at work
        copied(fleet).replace(fleet.parent / "again.sqlite")
        assert store.is_intact()
    (fleet.parent / "again.sqlite").replace(fleet / FILE)
    with opened(fleet) as store:
        assert store.is_intact()
    goes_on(fleet)


def test_an_older_copy_is_refused_until_it_is_repaired(fleet: Path) -> None:
    copy = copied(fleet)
    goes_on(fleet)
    copy.replace(fleet / FILE)
    assert f"{fleet / FILE} lacks 60 confirmed updates: restore a newer backup" in refusal(fleet)
    with opened(fleet, to_repair=True) as store:
        assert repair(store) == Repair(lost=60)
    goes_on(fleet)


def test_a_repair_that_is_cut_off_can_be_done_again(
    fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = copied(fleet)
    goes_on(fleet)
    copy.replace(fleet / FILE)
    for name in (f"{repair.__module__}.mend", f"{Snapshots.__module__}.Snapshots.put"):
        with monkeypatch.context() as patch, opened(fleet, to_repair=True) as store:
            patch.setattr(name, Mock(side_effect=PowerCutError))
            with pytest.raises(PowerCutError):
                repair(store)
        assert "lacks 60 confirmed updates" in refusal(fleet)
    with monkeypatch.context() as patch, opened(fleet, to_repair=True) as store:
        patch.setattr(confirmation, "create", Mock(side_effect=PowerCutError))
        with pytest.raises(PowerCutError):
            repair(store)
    assert "do not belong together" in refusal(fleet)
    with opened(fleet, to_repair=True) as store:
        assert repair(store) == Repair(complete=False)
    goes_on(fleet)


def test_nothing_grows_over_a_long_life(tmp_path: Path) -> None:
    ticks = effort(everyday=400, thorough=3000)
    with stored(tmp_path) as store:
        host = Host(store, lambda _: None, snapshot_every=50)
        lines = []
        for tick in range(ticks):
            for device in range(3):
                host.receive(device, update(tick, *np.sin([device + 3.0 * tick, device - tick])))
            host.advance(tick + 1)
            if tick % 100 == 99:
                lines.append(store.lines.count())
                # SQLite's log is 1,000 pages of 4 KiB before it is written again from its start.
                assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 5_000_000
        assert set(lines) == {150}
        assert host.coordinator.waiting() == []
        assert store.verify() == Verification(ticks, 150, agrees=True)
        assert store.recover().digest() == host.coordinator.digest()
    assert {path.name for path in tmp_path.iterdir()} == {FILE, CONFIRMED}
    assert (tmp_path / FILE).stat().st_size < 32 * 4096  # as after half as many ticks: 29 pages
    assert host.coordinator.w.tobytes() == lived(ticks).w.tobytes()
