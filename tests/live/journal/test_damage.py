"""A disk that forgets, cuts off or flips bits: all that was confirmed is there, or it is told.

A fleet's database, its write-ahead log and the count of what was confirmed are damaged, one at a
time, as a server that was killed left them and as one that was stopped did. PAOFED_DAMAGE=20000 is
the long form. (Archives, which states of devices are, have their own: tests/test_archives.py.)
"""

import os
import random
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, Self

import pytest

from paofed.live.journal.confirmation import CONFIRMED
from paofed.live.journal.database import FILE, StoreError
from paofed.live.journal.host import Host
from paofed.live.journal.repair import repair
from paofed.live.journal.roster import Member
from paofed.live.journal.store import Store
from tests.effort import effort
from tests.live.fleets import manifest, update

CASES = int(os.environ.get("PAOFED_DAMAGE") or effort(everyday=90, thorough=150))
LOG = f"{FILE}-wal"


class Seen(NamedTuple):
    """All that somebody was told to be safe."""

    agrees: bool
    manifest: str
    members: list[Member]
    revoked: list[str]
    server: str
    model: bytes
    rows: list[tuple[object, ...]]  # every row of every table

    @classmethod
    def of(cls, store: Store) -> Self:
        coordinator = store.recover()
        coordinator.close(40)
        return cls(
            store.verify().agrees,
            coordinator.manifest.to_json(),
            store.roster.members(),
            store.credentials.revoked(),
            store.credentials.server(),
            coordinator.digest(),
            list(rows_of(store.folder)),
        )


def rows_of(folder: Path) -> Iterator[tuple[object, ...]]:
    """Every row of every table, as SQLite reads it, and the tables themselves."""
    with closing(sqlite3.connect(folder / FILE)) as connection:
        tables = connection.execute("SELECT * FROM sqlite_master ORDER BY name").fetchall()
        yield from (table[:3] + table[4:] for table in tables)  # without their pages
        for kind, name, *_ in tables:
            if kind == "table":
                yield from connection.execute(f"SELECT * FROM {name} ORDER BY rowid")  # noqa: S608


class Disk(NamedTuple):
    """A fleet's files, and what is to be found in them."""

    files: dict[str, bytes]
    seen: Seen

    @classmethod
    def of(cls, store: Store) -> Self:
        names = (name for name in (FILE, LOG, CONFIRMED) if (store.folder / name).exists())
        return cls({name: (store.folder / name).read_bytes() for name in names}, Seen.of(store))

    def put(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, content in self.files.items():
            (folder / name).write_bytes(content)


def serve(host: Host, ticks: range) -> None:
    for tick in ticks:
        for device in range(3):
            host.receive(device, update(tick, device + 0.5, -tick))
        host.advance(tick + 1)


@pytest.fixture(scope="module")
def disks(tmp_path_factory: pytest.TempPathFactory) -> list[Disk]:
    """As a server leaves it: killed, with its first log and with a later one, and stopped."""
    folder = tmp_path_factory.mktemp("fleet")
    found = []
    with closing(Store.create(folder, manifest())) as store:
        store.roster.add_all(f"device {k}" for k in range(20))
        store.credentials.serve_as("5e")
        host = Host(store, lambda _: None, snapshot_every=10)
        serve(host, range(14))
        found.append(Disk.of(store))
        store.database.execute("PRAGMA wal_checkpoint(RESTART)")
        serve(host, range(14, 30))
        store.roster.reissue(3, "a3")
        store.roster.reissue(3, "b3")
        store.roster.quarantine(4)
        store.roster.remove(5)
        serve(host, range(30, 36))
        found.append(Disk.of(store))
    stopped = {name: (folder / name).read_bytes() for name in (FILE, CONFIRMED)}
    return [*found, Disk(stopped, found[-1].seen)]


def damaged(content: bytes, chance: random.Random) -> bytes | None:
    """What a disk made of it: None if the file is gone."""
    changed = bytearray(content)
    kind = chance.choice(("flip", "flip", "flips", "truncate", "zeros", "old", "delete"))
    match kind:
        case "flip":
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        case "flips":
            for _ in range(chance.randrange(2, 20)):
                changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        case "truncate":
            del changed[chance.randrange(len(changed)) :]
        case "zeros" | "old":  # a block that was never written, or written elsewhere
            start, source = (512 * chance.randrange(len(changed) // 512 + 1) for _ in range(2))
            length = 512 * chance.choice((1, 8))
            block = bytes(length) if kind == "zeros" else changed[source : source + length]
            changed[start : start + length] = block[: len(changed) - start]
        case _:
            return None
    return bytes(changed)


def damage(disk: Disk, folder: Path, chance: random.Random) -> str:
    """Put a disk's files into a folder, one of them damaged."""
    disk.put(folder)
    name = chance.choice(list(disk.files))
    content = damaged(disk.files[name], chance)
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    return name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "fleet"


def look(folder: Path) -> Seen:
    with closing(Store.open(folder)) as store:
        return Seen.of(store)


def mended(folder: Path) -> Seen:
    """What can be repaired can be used."""
    with closing(Store.open(folder, to_repair=True)) as store:
        repair(store)
        assert store.is_intact()
    return look(folder)


def told(folder: Path, does: Callable[[Path], Seen]) -> Seen | str:
    """What is found, or the one line that is said instead."""
    try:
        return does(folder)
    except StoreError as error:
        says = str(error)
    assert "\n" not in says
    assert str(folder) in says
    return says


def test_damage_is_told_or_nothing_is_missing(disks: list[Disk], folder: Path) -> None:
    """Damage that is not told lies where no row is: docs/security.md has the places."""
    chance = random.Random(5)  # noqa: S311 (no secret)
    found: Counter[tuple[str, bool]] = Counter()
    for case in range(CASES):
        disk = disks[case % len(disks)]
        name = damage(disk, folder, chance)
        seen = told(folder, look)
        if isinstance(seen, Seen):
            assert seen == disk.seen or not seen.agrees, f"case {case}: damage to {name}"
        elif case % 2:
            repaired = told(folder, mended)
            assert isinstance(repaired, str) or repaired.agrees
        found[name, isinstance(seen, str)] += 1
    for name in disks[0].files:
        assert found[name, True] > CASES / 60
        assert found[name, False]


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, None])
def test_a_log_that_was_cut_off_after_a_crash(
    share: float | None, disks: list[Disk], folder: Path
) -> None:
    disk = disks[1]
    disk.put(folder)
    if share is None:
        (folder / LOG).unlink()
    else:
        os.truncate(folder / LOG, int(share * len(disk.files[LOG])))
    says = told(folder, look)
    assert isinstance(says, str)
    lacks = re.search(r"fleet.sqlite lacks (\d+) confirmed updates.*: restore a newer ", says)
    assert lacks is not None
    with closing(Store.open(folder, to_repair=True)) as store:
        assert repair(store).lost == int(lacks[1])
    assert look(folder).agrees
