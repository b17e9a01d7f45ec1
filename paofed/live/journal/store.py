"""The server's memory: a journal of accepted updates and snapshots, in one SQLite file.

A closed tick's model is a function of the journal, so a restart is a snapshot and the lines written
after it, bit for bit. The journal reaches back as far as it is told to (retention.py). From each
snapshot the journal can be replayed into the next: so `verify` knows that nothing was lost, and an
older snapshot is enough if the newest is damaged. SQLite keeps what is committed (WAL, synchronous
FULL). What a failing disk did to the file is told by checksums, by lines that are numbered without
gaps, and by what was confirmed (paofed.live.journal.confirmed).
"""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Self

from paofed.core.arrays import FloatArray
from paofed.files import make_folder
from paofed.live.journal.database import (
    FILE,
    LAST_RESORT,
    StoreError,
    connect,
    explained,
    is_finished,
)
from paofed.live.journal.epochs import Epoch
from paofed.live.journal.past import Past
from paofed.live.journal.retention import ALWAYS, Snapshot
from paofed.live.protocol.coordinator import Coordinator, Record
from paofed.live.protocol.manifest import Manifest


class Verification(NamedTuple):
    """What recomputing the model from the journal showed."""

    # The tick of the newest snapshot, or of the first that the journal does not reproduce.
    tick: int
    lines: int  # how many lines were replayed
    agrees: bool


class Repair(NamedTuple):
    """What a repair had to give up."""

    lost: int = 0  # accepted updates that are lost, which their devices believe safe
    changes: int = 0  # lost changes of who is in the fleet, or of what it has agreed on
    complete: bool = True  # whether these counts are right; False: what was confirmed is not known
    devices: tuple[int, ...] = ()  # devices whose rows were damaged, and that are quarantined now
    regained: int = 0  # lost rows of revoked credentials that the broker's list had still
    unknown: bool = (
        False  # whether other rows of devices or credentials are lost: nobody knows whose
    )


class Store(Past):
    """One fleet's folder, open for its server or for looking at it."""

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
        with explained(path):
            store = cls(folder, connect(path))
            with store._closed_on_error():
                store._make_tables()
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
        path = folder / FILE
        if not path.is_file():
            raise StoreError(f"{folder} holds no fleet: there is no {FILE} in it")
        with explained(path):
            store = cls(folder, connect(path))
            with store._closed_on_error():
                store._check_pages()
                store._require_format()
                store._check_schema()
                if not to_repair:
                    store.check()
        return store

    def check(self) -> None:
        """Refuse a store that has less than was confirmed."""
        known = self._noted()
        with self._reading():
            self._require(known, self._held())
            self._check_members()

    def begin_epoch(
        self, coordinator: Coordinator, why: str, sync: Callable[[str], None] = lambda _: None
    ) -> None:
        """Go on under the coordinator's manifest, from its state: both are written, or neither.

        Updates that wait in the journal, and not in the coordinator, are never applied.
        """
        self._count()  # first, since a change that could not be counted must not be made
        with self._going_on():
            line = self._last_line()
            generation = self._rows("SELECT coalesce(max(generation), 0) + 1 FROM manifest")[0][0]
            text, tick = coordinator.manifest.to_json(), coordinator.tick
            self._agree(Epoch(generation, text, line, tick, time.time(), why))
            sync("inside epoch")
            self._put_snapshot(coordinator, line, generation)
            sync("before epoch's commit")
        sync("after epoch's commit")
        self._ahead = True
        self.confirm(sync)

    def recover(self) -> Coordinator:
        """Return the server as it was: the newest snapshot and the journal's lines after it."""
        with self._reading():
            snapshots = self.snapshots()
            if not snapshots:
                raise StoreError(f"{self.folder / FILE} has no snapshot: {LAST_RESORT}")
            newest = snapshots[-1]
            coordinator = self._unpacked(newest)
            self._taken_up(coordinator, self.journal(newest.line))
            self._stood = self._stands()
        return coordinator

    def verify(self, progress: Callable[[float], None] = lambda _: None) -> Verification:
        """Recompute each snapshot from the one before it and the journal between them.

        A recomputation starts with the first snapshot of a manifest. `progress` is told the share
        that is done.
        """
        with self._reading():
            return self._verified(progress)

    def _verified(self, progress: Callable[[float], None]) -> Verification:
        snapshots, lines = self.snapshots(), 0
        first, every = snapshots[0].line, max(self._last_line() - snapshots[0].line, 1)

        def told(done: int) -> None:
            progress((done - first) / every)

        for older, newer in pairwise(snapshots):
            lines += newer.line - older.line if older.generation == newer.generation else 0
            if not self._agrees(older, newer, told):
                return Verification(newer.tick, lines, agrees=False)
        newest = snapshots[-1]
        # The lines after the newest snapshot are checked as well, and that a server can begin.
        self._taken_up(self._unpacked(newest), self.journal(newest.line))
        return Verification(newest.tick, lines, agrees=True)

    def _agrees(
        self, older: Snapshot, newer: Snapshot, told: Callable[[int], None] = lambda _: None
    ) -> bool:
        """Whether the journal turns `older` into `newer`; `told` is called with the lines read."""
        expected = self._unpacked(newer)
        records = self.journal(older.line, newer.line, told)
        if older.generation != newer.generation:
            # These lines lead to no snapshot, but each is checked as it is read.
            return all(True for _ in records)
        coordinator = self._unpacked(older)
        self._taken_up(coordinator, records)
        coordinator.close(newer.tick)
        return coordinator.digest() == expected.digest()

    def is_intact(self) -> bool:
        """Whether all that was confirmed is there, and the journal reproduces the snapshots."""
        try:
            self.check()
            return self.verify().agrees
        except StoreError:
            return False

    def repair(self, revoked: Iterable[str] = ()) -> Repair:
        """Go on from the newest intact snapshot and the lines after it that can still be read.

        Older snapshots stay, as far back as they agree with the journal. `revoked` are credentials
        that the broker refuses, which the database may have forgotten.
        """
        known, held = self._noted(), self._held()
        complete = known is not None and known.history == held.history
        if known is None or not complete:
            known = held._replace(lines=0)
        mended = self._mend_members(revoked)
        intact = self._intact()
        snapshot = intact[-1]
        coordinator = self._unpacked(snapshot)
        good: list[Record] = []
        with suppress(StoreError):
            good.extend(self._of_members(self.journal(snapshot.line), coordinator))
        coordinator.recover(good)
        last = snapshot.line + len(good)
        written = self._rows("SELECT coalesce(max(line), 0) FROM journal")[0][0]
        keep = self._agreeing(intact)
        with self._writing():
            execute = self._connection.execute
            self._delete_snapshots(set(self.snapshots()).difference(keep))
            execute("DELETE FROM manifest WHERE generation < ?", (keep[0].generation,))
            execute("DELETE FROM journal WHERE line > ?", (last,))
            execute("DELETE FROM journal WHERE line <= ?", (keep[0].line,))
            execute("DELETE FROM sqlite_sequence WHERE name = 'journal'")
            execute("INSERT INTO sqlite_sequence VALUES ('journal', ?)", (last,))
            self._put_snapshot(coordinator, last, snapshot.generation)
        # Last: until then, a repair that was cut off finds what was confirmed, and can be repeated.
        with self._writing():
            self._connection.execute("UPDATE seal SET history = abs(random() / 2)")
        self._begin_confirming()
        lost = max(known.lines, written, last) - last
        changes = max(known.changes - held.changes, 0)
        return Repair(
            lost, changes, complete, mended.devices, mended.regained, unknown=not mended.complete
        )

    def _intact(self) -> list[Snapshot]:
        """Return the snapshots that a server can begin from; there is one of the present manifest.

        A newer manifest that is missing, or members that nobody can take up, are errors.
        """
        self.members()
        present = self._present().generation
        found = [each for each in self.snapshots() if self._state(each) is not None]
        if any(each.generation > present for each in found):
            raise self._damaged()
        intact = [each for each in found if self._can_begin(each)]
        if not intact or intact[-1].generation < present:
            raise StoreError(f"{self.folder / FILE} has no intact snapshot: {LAST_RESORT}")
        return intact

    def _can_begin(self, snapshot: Snapshot) -> bool:
        try:
            self._unpacked(snapshot)
        except StoreError:
            return False
        return True

    def _agreeing(self, snapshots: list[Snapshot]) -> list[Snapshot]:
        """Return the newest snapshots as far back as the journal turns each into the next."""
        keep = snapshots[-1:]
        for older in reversed(snapshots[:-1]):
            agrees = False
            with suppress(StoreError):
                agrees = self._agrees(older, keep[0])
            if not agrees:
                break
            keep.insert(0, older)
        return keep

    def history(self) -> tuple[Coordinator, list[Record]]:
        """Return the server as it was at the newest snapshot but one, and all lines since."""
        with self._reading():
            present = self._present().generation
            older = [found for found in self.snapshots() if found.generation == present][-ALWAYS:][
                0
            ]
            return self._unpacked(older), list(self.journal(older.line))
