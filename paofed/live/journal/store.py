"""The server's memory: a journal of accepted updates and two snapshots, in one SQLite file.

A closed tick's model is a function of the journal, so a restart is a snapshot and what was written
after it, bit for bit. The journal reaches back to the older snapshot: from there it can be replayed
into the newer one, which is how `verify` knows that nothing was lost, and what remains if the newer
one is damaged. What is older is deleted. SQLite keeps what is committed (WAL, synchronous FULL).
What a failing disk did to it is told by checksums, by lines that are numbered without gaps, and by
what was confirmed (paofed.live.journal.confirmed).
"""

import io
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

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
from paofed.live.journal.members import REMEDY, Members
from paofed.live.journal.schema import checksum
from paofed.live.protocol.coordinator import Coordinator, Record
from paofed.live.protocol.manifest import Manifest


class Snapshot(NamedTuple):
    """The coordinator's state after the journal's lines up to `line`, under one manifest."""

    tick: int
    line: int
    generation: int
    state: bytes


class Verification(NamedTuple):
    """What recomputing the model from the journal showed."""

    tick: int
    lines: int  # replayed
    agrees: bool


class Repair(NamedTuple):
    """What had to be given up."""

    lost: int = 0  # accepted updates, which their devices believe safe
    changes: int = 0  # of who is in the fleet
    complete: bool = True  # whether that is all, or what was confirmed is not known
    devices: tuple[int, ...] = ()  # whose rows were damaged, and that are quarantined now


class Store(Members):
    """One fleet's folder, open for its server or for looking at it."""

    @classmethod
    def create(cls, folder: str | Path, manifest: Manifest, w: FloatArray | None = None) -> Self:
        """Make a new fleet, from a model or from nothing; a folder that holds one is refused."""
        folder = Path(folder)
        make_folder(folder)
        path = folder / FILE
        if path.exists() and is_finished(path):
            raise StoreError(f"{folder} holds a fleet already: choose another folder")
        for leftover in folder.glob(f"{FILE}*"):  # of a creation that was cut off
            leftover.unlink()
        with explained(path):
            store = cls(folder, connect(path))
            with store._closed_on_error():
                store._migrate()
                coordinator = Coordinator(manifest)
                if w is not None:
                    coordinator.rule.begin(w)
                store.begin_epoch(coordinator, "made")
        return store

    @classmethod
    def open(cls, folder: str | Path, *, to_repair: bool = False) -> Self:
        """Open a fleet; one that is damaged, or has less than was confirmed, is an error.

        `to_repair` opens the latter and those in which rows are damaged, too.
        """
        folder = Path(folder)
        path = folder / FILE
        if not path.is_file():
            raise StoreError(f"{folder} holds no fleet: there is no {FILE} in it")
        with explained(path):
            store = cls(folder, connect(path))
            with store._closed_on_error():
                store._check_pages()
                store._require_tables()
                store._migrate(to_repair=to_repair)
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

    def write(
        self, records: Iterable[Record], sync: Callable[[str], None] = lambda _: None
    ) -> None:
        """Commit lines of the journal; once that is confirmed, too, their replies may leave.

        `sync` is told where the write stands: tests let the power fail there.
        """
        rows = [_row(record) for record in records]
        with self._writing():
            self._connection.executemany(
                "INSERT INTO journal (arrived, device, sent, vals, level, checksum) "
                "VALUES (?,?,?,?,?,?)",
                rows,
            )
            sync("before commit")
        self._ahead = True
        sync("after commit")

    def snapshot(
        self, coordinator: Coordinator, sync: Callable[[str], None] = lambda _: None
    ) -> None:
        """Write the state, keep the newest two, and delete the journal behind the older one."""
        with self._writing():
            execute = self._connection.execute
            self._put_snapshot(coordinator, self._last_line(), self._present().generation)
            sync("inside snapshot")
            execute(
                "DELETE FROM snapshot WHERE rowid NOT IN "
                "(SELECT rowid FROM snapshot ORDER BY generation DESC, line DESC LIMIT 2)"
            )
            execute("DELETE FROM journal WHERE line <= (SELECT min(line) FROM snapshot)")
            sync("before snapshot's commit")
        sync("after snapshot")

    def begin_epoch(
        self, coordinator: Coordinator, why: str, sync: Callable[[str], None] = lambda _: None
    ) -> None:
        """Go on under the coordinator's manifest, from its state: both are written, or neither.

        What waits in the journal, and not in the coordinator, is never applied.
        """
        self._count()  # before: what could not be counted is not done
        with self._writing():
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

    def _last_line(self) -> int:
        rows = self._rows(
            "SELECT max(line) FROM (SELECT line FROM journal UNION "
            "SELECT line FROM snapshot UNION SELECT 0 AS line)"
        )
        return int(rows[0][0])

    def _put_snapshot(self, coordinator: Coordinator, line: int, generation: int) -> None:
        """Write the state, inside a transaction; one at the same line is replaced."""
        columns = coordinator.tick, line, generation, pack(coordinator.state())
        self._connection.execute(
            "INSERT OR REPLACE INTO snapshot (tick, line, generation, state, checksum) "
            "VALUES (?, ?, ?, ?, ?)",
            (*columns, checksum(*columns)),
        )

    def recover(self) -> Coordinator:
        """The server as it was: the newest snapshot and the journal behind it."""
        with self._reading():
            snapshot = self._snapshots()[-1]
            coordinator = self._unpacked(snapshot)
            coordinator.recover(self.journal(snapshot.line))
        return coordinator

    def verify(self) -> Verification:
        """Recompute each snapshot from the one before it and the journal between them.

        The first one of a manifest is where a recomputation starts.
        """
        with self._reading():
            return self._verified()

    def _verified(self) -> Verification:
        snapshots, lines = self._snapshots(), 0
        for older, newer in pairwise(snapshots):
            records = list(self.journal(older.line, newer.line))
            if older.generation != newer.generation:
                continue
            coordinator, expected = self._unpacked(older), self._unpacked(newer)
            # A snapshot of an earlier version does not say how the fleet was: noted from then on.
            coordinator.wellbeing.begin = expected.wellbeing.begin
            coordinator.recover(records)
            coordinator.close(newer.tick)
            lines += len(records)
            if coordinator.digest() != expected.digest():
                return Verification(newer.tick, lines, agrees=False)
        list(self.journal(snapshots[-1].line))  # what came after it is checked, too
        return Verification(snapshots[-1].tick, lines, agrees=True)

    def is_intact(self) -> bool:
        """Whether everything that was confirmed is there, and the journal gives the snapshot."""
        try:
            self.check()
            return self.verify().agrees
        except StoreError:
            return False

    def repair(self) -> Repair:
        """Go on from the newest intact snapshot and the lines that can still be read behind it."""
        known, held = self._noted(), self._held()
        complete = known is not None and known.history == held.history
        if known is None or not complete:
            known = held._replace(lines=0)
        devices = self._mend_members()
        snapshot = self._snapshots(damaged_too=True)[-1]
        coordinator = self._unpacked(snapshot)
        good: list[Record] = []
        with suppress(StoreError):
            good.extend(self.journal(snapshot.line))
        coordinator.recover(good)
        last = snapshot.line + len(good)
        written = self._rows("SELECT coalesce(max(line), 0) FROM journal")[0][0]
        with self._writing():
            execute = self._connection.execute
            execute(
                "DELETE FROM snapshot WHERE (line, generation) != (?, ?)",
                (snapshot.line, snapshot.generation),
            )
            execute("DELETE FROM journal WHERE line > ?", (last,))
            execute("DELETE FROM journal WHERE line <= ?", (snapshot.line,))
            execute("DELETE FROM sqlite_sequence WHERE name = 'journal'")
            execute("INSERT INTO sqlite_sequence VALUES ('journal', ?)", (last,))
        self.snapshot(coordinator)
        # Last: until then, one that was cut off finds what was confirmed, and can be done again.
        with self._writing():
            self._connection.execute("UPDATE seal SET history = abs(random() / 2)")
        self._begin_confirming()
        lost = max(known.lines, written, last) - last
        return Repair(lost, max(known.changes - held.changes, 0), complete, devices)

    def journal(self, after: int | None = None, until: int | None = None) -> Iterator[Record]:
        """The lines behind one (the older snapshot's) and up to another (the last), checked."""
        after = self._snapshots()[0].line if after is None else after
        last = self._held().lines if until is None else until
        rows = self._rows(
            "SELECT line, checksum, arrived, device, sent, vals, level FROM journal "
            "WHERE line > ? AND line <= ? ORDER BY line",
            (after, 2**62 if until is None else until),
        )
        for number, (line, total, *columns) in enumerate(rows, after + 1):
            if line != number:
                raise self._gap(number)
            if checksum(*columns) != total:
                raise StoreError(f"line {line} of {self.folder / FILE} is damaged: {REMEDY}")
            arrived, device, sent, values, level = columns
            yield Record(arrived, device, sent, np.frombuffer(values, dtype="<f4"), level)
        if after + len(rows) != last:
            raise self._gap(after + len(rows) + 1)

    def _gap(self, line: int) -> StoreError:
        return StoreError(f"line {line} of {self.folder / FILE} is missing: {REMEDY}")

    def snapshot_tick(self) -> int:
        """The tick of the newest snapshot."""
        return self._snapshots()[-1].tick

    def history(self) -> tuple[Coordinator, list[Record]]:
        """The server as it was at the oldest snapshot of this manifest, and all lines since."""
        with self._reading():
            present = self._present().generation
            older = next(s for s in self._snapshots() if s.generation == present)
            return self._unpacked(older), list(self.journal(older.line))

    def lines(self) -> int:
        """How many lines the journal holds."""
        return int(self._rows("SELECT count(*) FROM journal")[0][0])

    def _snapshots(self, *, damaged_too: bool = False) -> list[Snapshot]:
        """Oldest first. A damaged one is an error, or is left out."""
        rows = self._rows(
            "SELECT tick, line, generation, state, checksum FROM snapshot ORDER BY generation, line"
        )
        intact = [Snapshot(*row[:-1]) for row in rows if checksum(*row[:-1]) == row[-1]]
        if len(intact) < len(rows) and not damaged_too:
            raise StoreError(f"a snapshot in {self.folder / FILE} is damaged: {REMEDY}")
        if not intact:
            raise StoreError(f"{self.folder / FILE} has no intact snapshot: {LAST_RESORT}")
        return intact

    def _unpacked(self, snapshot: Snapshot) -> Coordinator:
        held = {epoch.generation: epoch for epoch in self.epochs()}
        if snapshot.generation not in held:
            raise self._damaged()
        coordinator = Coordinator(held[snapshot.generation].manifest)
        with np.load(io.BytesIO(snapshot.state), allow_pickle=False) as arrays:
            coordinator.restore(dict(arrays))
        self.introduce(coordinator)
        return coordinator


def _row(record: Record) -> tuple[object, ...]:
    """A line of the journal, with its checksum."""
    columns = *record[:3], record.values.tobytes(), record.level
    return *columns, checksum(*columns)


def pack(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Arrays as the bytes of an `.npz`."""
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()
