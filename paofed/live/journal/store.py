"""The server's memory: a journal of accepted updates and snapshots, in one SQLite file.

A closed tick's model is a function of the journal, so a restart is a snapshot and the lines written
after it, bit for bit. The journal reaches back as far as it is told to (retention.py). From each
snapshot the journal can be replayed into the next: so `verify` knows that nothing was lost, and an
older snapshot is enough if the newest is damaged. SQLite keeps what is committed (WAL, synchronous
FULL). What a failing disk did to the file is told by checksums, by lines that are numbered without
gaps, and by what was confirmed (paofed.live.journal.confirmation).
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Self

from paofed.core.arrays import FloatArray
from paofed.files import make_folder
from paofed.live.journal.confirmation import Confirmation
from paofed.live.journal.credentials import Credentials
from paofed.live.journal.database import (
    FILE,
    Database,
    StoreError,
    Sync,
    TakenOverError,
    explained,
    is_finished,
    nothing,
)
from paofed.live.journal.epochs import Epochs
from paofed.live.journal.lines import Lines
from paofed.live.journal.past import Past
from paofed.live.journal.retention import Disk, deletable, kept, most_bytes
from paofed.live.journal.roster import Roster
from paofed.live.journal.snapshots import Snapshots
from paofed.live.journal.tallies import Tallies
from paofed.live.protocol.coordinator import Coordinator, Record
from paofed.live.protocol.manifest import Manifest


class Verification(NamedTuple):
    """What recomputing the model from the journal showed."""

    # The tick of the newest snapshot, or of the first that the journal does not reproduce.
    tick: int
    lines: int  # how many lines were replayed
    agrees: bool


class Store:
    """One fleet's folder, open for its server or for looking at it.

    A store has its parts, each of which reads and writes tables of its own, and does itself what a
    server needs of several parts in one transaction.
    """

    def __init__(self, database: Database) -> None:
        self.folder = database.folder
        self.database = database
        self.confirmation = Confirmation(database)
        self.epochs = Epochs(database)
        self.credentials = Credentials(database, self.confirmation)
        self.roster = Roster(database, self.confirmation, self.credentials)
        self.snapshots = Snapshots(database)
        self.lines = Lines(database, self.epochs, self.snapshots)
        self.past = Past(database, self.epochs, self.roster, self.snapshots, self.lines)
        self.tallies = Tallies(database, self.epochs, self.lines)
        # Where the journal stood after this process read or wrote it last; None: it did neither.
        self._stood: tuple[int, ...] | None = None

    @classmethod
    def create(cls, folder: str | Path, manifest: Manifest, w: FloatArray | None = None) -> Self:
        """Make a new fleet that begins with the model `w`, or zeros.

        A folder that holds a fleet already is refused.
        """
        folder = Path(folder)
        make_folder(folder)
        path = folder / FILE
        if path.exists() and is_finished(path):
            raise StoreError(f"{folder} holds a fleet already: choose another folder")
        for leftover in folder.glob(f"{FILE}*"):  # files of a creation that was cut off
            leftover.unlink()
        store = cls(Database(folder))
        with store.database.closed_on_error():
            store.database.make_tables()
            store.confirmation.begin()
            coordinator = Coordinator(manifest)
            if w is not None:
                coordinator.rule.begin(w)
            store.begin_epoch(coordinator, "made")
        return store

    @classmethod
    def open(cls, folder: str | Path, *, to_repair: bool = False) -> Self:
        """Open a fleet; one that is damaged, or has less than was confirmed, is an error.

        `to_repair` opens also a database that has less than was confirmed or has damaged rows.
        """
        folder = Path(folder)
        if not (folder / FILE).is_file():
            raise StoreError(f"{folder} holds no fleet: there is no {FILE} in it")
        store = cls(Database(folder))
        with store.database.closed_on_error():
            store.database.check()
            if not to_repair:
                store.check()
        return store

    def close(self) -> None:
        """Close the file; what was not committed is gone."""
        self.database.close()

    def copy_to(self, folder: Path) -> None:
        """Write a copy of the file, as of one moment and all of it confirmed, to a new place.

        The fleet's server may be at work.
        """
        with explained(folder / FILE), closing(Database(folder)) as copy:
            copy.path.chmod(0o600)
            self.database.copy_to(copy)
            Confirmation(copy).begin()

    def check(self) -> None:
        """Refuse a store that has less than was confirmed, or damaged rows of members."""
        known = self.confirmation.read()
        with self.database.reading():
            self.confirmation.require(known)
            # To read rows is to look whether they are damaged.
            self.epochs.present()
            self.roster.firmware()
            self.credentials.revoked()
            self.credentials.expiring()
            self.credentials.server()
            self.database.require_total()

    # What a server writes

    def write(self, records: Iterable[Record], sync: Sync = nothing) -> None:
        """Commit lines of the journal; once they are confirmed as well, their replies may leave."""
        with self._going_on():
            self.lines.append(records)
            sync("before commit")
        self.confirmation.ahead = True
        sync("after commit")

    def snapshot(
        self, coordinator: Coordinator, sync: Sync = nothing, *, keep: float = 0.0
    ) -> None:
        """Write the state, and delete what is not needed to go back `keep` seconds from it."""
        with self._going_on():
            before = self.snapshots.some()[-1].line
            line, generation = self.lines.last(), self.epochs.present().generation
            self.snapshots.make_way(line, generation)
            self.snapshots.put(coordinator, line, generation)
            sync("inside snapshot")
            oldest = self.epochs.tick_at(coordinator.manifest.begins(coordinator.tick) - keep)
            self._delete_before(oldest, came=line - before)
            sync("before snapshot's commit")
        sync("after snapshot")

    def _delete_before(self, oldest: int, came: int) -> None:
        """Delete, inside a transaction, what no tick since `oldest` is computed from."""
        every = self.snapshots.all()
        keep = kept(every, oldest)
        self.snapshots.delete(set(every).difference(keep))
        self.epochs.delete_before(keep[0].generation)
        self.lines.delete_until(deletable(self.lines.first(), keep[0].line, came))

    def begin_epoch(self, coordinator: Coordinator, why: str, sync: Sync = nothing) -> None:
        """Go on under the coordinator's manifest, from its state: both are written, or neither.

        Updates that wait in the journal, and not in the coordinator, are never applied.
        """
        self.confirmation.recount()  # since a change that cannot be counted must not be made
        with self._going_on():
            line, tick = self.lines.last(), coordinator.tick
            generation = self.epochs.begin(coordinator.manifest, line, tick, time.time(), why)
            sync("inside epoch")
            self.snapshots.put(coordinator, line, generation)
            sync("before epoch's commit")
        sync("after epoch's commit")
        self.confirmation.recount(sync)

    def recover(self) -> Coordinator:
        """Return the server as it was: the newest snapshot and the journal's lines after it."""
        with self.database.reading():
            coordinator = self.past.newest()
            self._stood = self._stands()
        return coordinator

    @contextmanager
    def _going_on(self) -> Iterator[None]:
        """Write to the journal from where this process left it, in one transaction.

        If another process has written to it meanwhile, past the lock, this process must not: its
        model lacks the other's updates, and lines of both would be no one's journal.
        """
        with self.database.writing():
            if self._stood not in (None, self._stands()):
                raise TakenOverError(
                    f"another process has written to the journal of {self.folder}: this one stops; "
                    f"two servers of one fleet must not run, look for the other before you start "
                    f"again"
                )
            yield
            stands = self._stands()
        self._stood = stands

    def _stands(self) -> tuple[int, ...]:
        """Return numbers that change with whatever is written to the journal."""
        ticks = "SELECT coalesce(max(generation), 0), coalesce(max(tick), 0) FROM snapshot"
        return *self.database.counts()[:2], *self.database.rows(ticks)[0]

    # What it is worth, and what it takes

    def verify(self, progress: Callable[[float], None] = nothing) -> Verification:
        """Recompute each snapshot from the one before it and the journal between them.

        A recomputation starts with the first snapshot of a manifest. `progress` is told the share
        that is done.
        """
        with self.database.reading():
            snapshots, lines = self.snapshots.some(), 0
            first = snapshots[0].line
            every = max(self.lines.last() - first, 1)

            def told(done: int) -> None:
                progress((done - first) / every)

            for older, newer in pairwise(snapshots):
                lines += newer.line - older.line if older.generation == newer.generation else 0
                if not self.past.agrees(older, newer, told):
                    return Verification(newer.tick, lines, agrees=False)
            # The lines after the newest snapshot are checked as well, and that a server can begin.
            self.past.newest()
            return Verification(snapshots[-1].tick, lines, agrees=True)

    def is_intact(self) -> bool:
        """Whether all that was confirmed is there, and the journal reproduces the snapshots."""
        try:
            self.check()
            return self.verify().agrees
        except StoreError:
            return False

    def disk(self, keep: float) -> Disk:
        """Return what the journal takes, and will take if it reaches back `keep` seconds."""
        manifest, snapshots = self.epochs.manifest(), self.snapshots.some()
        oldest, newest = snapshots[0], snapshots[-1]
        values, ticks = manifest.up.length, keep / manifest.tick_seconds
        state = len(self.snapshots.state(newest) or b"")
        last = self.database.value(
            "SELECT coalesce(max(arrived), 0) FROM journal WHERE line > ?", (newest.line,)
        )
        now = max(newest.tick, last)
        rate = (self.lines.last() - oldest.line) / max(now - oldest.tick, 1)
        devices = sum(not member.removed for member in self.roster.devices())
        return Disk(
            sum(path.stat().st_size for path in self.folder.glob(f"{FILE}*")),
            most_bytes(ticks, rate, values, state),
            most_bytes(ticks, devices, values, state),
        )
