"""The journal's lines, and the states of the server that are kept beside them."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from paofed.archives import packed, unpacked
from paofed.errors import InputError
from paofed.live.journal.database import FILE, LAST_RESORT, REMEDY, StoreError, TakenOverError
from paofed.live.journal.epochs import Epoch
from paofed.live.journal.members import Members
from paofed.live.journal.retention import Snapshot, deletable, kept, most_bytes
from paofed.live.journal.schema import checksum, is_intact
from paofed.live.protocol.coordinator import Coordinator, Record, is_possible
from paofed.live.protocol.saved import STATE

_CHUNK = 10_000  # lines that are read at once


class Disk(NamedTuple):
    """Bytes that a journal takes on disk."""

    now: int
    expected: int  # once the journal reaches back as far as it may, at the present rate of messages
    most: int  # likewise, if every device is heard in every tick


class Lines(Members):
    """Writes and reads lines and snapshots, and deletes those past their retention."""

    # Where the journal stood after this process read or wrote it last; None: it has done neither.
    _stood: tuple[int, ...] | None = None

    def _stands(self) -> tuple[int, ...]:
        """Return numbers that change with whatever is written to the journal."""
        ticks = "SELECT coalesce(max(generation), 0), coalesce(max(tick), 0) FROM snapshot"
        return *self._held()[:2], *self._rows(ticks)[0]

    @contextmanager
    def _going_on(self) -> Iterator[None]:
        """Write to the journal from where this process left it, in one transaction.

        If another process has written to it meanwhile, past the lock, this process must not: its
        model lacks the other's updates, and lines of both would be no one's journal.
        """
        with self._writing():
            if self._stood not in (None, self._stands()):
                raise TakenOverError(
                    f"another process has written to the journal of {self.folder}: this one stops; "
                    f"two servers of one fleet must not run, look for the other before you start "
                    f"again"
                )
            yield
            stands = self._stands()
        self._stood = stands

    def write(
        self, records: Iterable[Record], sync: Callable[[str], None] = lambda _: None
    ) -> None:
        """Commit lines of the journal; once they are confirmed as well, their replies may leave.

        `sync` is called at each stage of the write: tests let the power fail there.
        """
        rows = [_row(record) for record in records]
        with self._going_on():
            self._connection.executemany(
                "INSERT INTO journal (arrived, device, sent, vals, level, checksum) "
                "VALUES (?,?,?,?,?,?)",
                rows,
            )
            sync("before commit")
        self._ahead = True
        sync("after commit")

    def journal(
        self,
        after: int | None = None,
        until: int | None = None,
        told: Callable[[int], None] = lambda _: None,
    ) -> Iterator[Record]:
        """Yield the lines after one (default: the oldest snapshot's) and up to another (the last).

        Each line is checked. `told` is called now and then with the number of the last line read.
        """
        after = self.snapshots()[0].line if after is None else after
        until = self._last_line() if until is None else until
        for start in range(after, until, _CHUNK):
            yield from self._chunk(start, min(start + _CHUNK, until))
            told(min(start + _CHUNK, until))

    def _chunk(self, after: int, until: int) -> Iterator[Record]:
        rows = self._rows(
            "SELECT line, arrived, device, sent, vals, level, checksum FROM journal "
            "WHERE line > ? AND line <= ? ORDER BY line",
            (after, until),
        )
        epochs = self._epochs_of(after, until)
        for number, (line, *columns) in enumerate(rows, after + 1):
            if line != number:
                raise self._gap(number)
            held = epochs[bisect_left(epochs, line, key=lambda epoch: epoch.line) - 1]
            record = _record(columns)
            if record is None or not is_possible(record, held.manifest):
                raise StoreError(f"line {line} of {self.folder / FILE} is damaged: {REMEDY}")
            yield record
        if after + len(rows) != until:
            raise self._gap(after + len(rows) + 1)

    def _epochs_of(self, after: int, until: int) -> list[Epoch]:
        """Return the epochs that some lines belong to; there is one at least."""
        begun = f"(SELECT max(line) FROM manifest WHERE line <= {after:d})"  # noqa: S608 (numbers)
        found = self._epochs(f"WHERE line >= {begun} AND line < {until:d} ORDER BY generation")
        if not found:
            raise self._damaged()
        return found

    def _gap(self, line: int) -> StoreError:
        return StoreError(f"line {line} of {self.folder / FILE} is missing: {REMEDY}")

    def lines(self) -> int:
        """Return how many lines the journal holds."""
        return int(self._rows("SELECT count(*) FROM journal")[0][0])

    def disk(self, keep: float) -> Disk:
        """Return what the journal takes, and will take if it reaches back `keep` seconds."""
        manifest, snapshots = self.manifest(), self.snapshots()
        oldest, newest = snapshots[0], snapshots[-1]
        values, ticks = manifest.up.length, keep / manifest.tick_seconds
        state = len(self._state(newest) or b"")
        last = self._rows(
            "SELECT coalesce(max(arrived), 0) FROM journal WHERE line > ?", (newest.line,)
        )
        now = max(newest.tick, last[0][0])
        rate = (self._last_line() - oldest.line) / max(now - oldest.tick, 1)
        devices = sum(not member.removed for member in self.devices())
        return Disk(
            sum(path.stat().st_size for path in self.folder.glob(f"{FILE}*")),
            most_bytes(ticks, rate, values, state),
            most_bytes(ticks, devices, values, state),
        )

    def _last_line(self) -> int:
        """Return the number of the last line, whether or not the line is there."""
        written = "SELECT coalesce(max(line), 0) FROM journal"
        kept = "SELECT coalesce(max(line), 0) FROM snapshot"
        rows = self._rows(f"SELECT ({written}), ({kept})")
        return int(max(*rows[0], self._held().lines))

    def snapshots(self) -> list[Snapshot]:
        """Return the snapshots, the oldest first.

        Whether a state is damaged shows when it is read.
        """
        rows = self._rows(
            "SELECT tick, line, generation FROM snapshot ORDER BY generation, line, tick"
        )
        if not all(type(number) is int for row in rows for number in row):
            raise StoreError(f"a snapshot in {self.folder / FILE} is damaged: {LAST_RESORT}")
        return [Snapshot(*row) for row in rows]

    def snapshot(
        self,
        coordinator: Coordinator,
        sync: Callable[[str], None] = lambda _: None,
        *,
        keep: float = 0.0,
    ) -> None:
        """Write the state, and delete what is not needed to go back `keep` seconds from it."""
        with self._going_on():
            before = self.snapshots()[-1].line
            line, generation = self._last_line(), self._present().generation
            self._make_way(line, generation)
            self._put_snapshot(coordinator, line, generation)
            sync("inside snapshot")
            oldest = self.tick_at(coordinator.manifest.begins(coordinator.tick) - keep)
            self._delete_before(oldest, came=self._last_line() - before)
            sync("before snapshot's commit")
        sync("after snapshot")

    def _make_way(self, line: int, generation: int) -> None:
        """Delete the snapshot since which nothing was written, unless its epoch began with it.

        The first state of an epoch cannot be computed, and is needed to go back to its first ticks.
        """
        found = [snapshot for snapshot in self.snapshots() if snapshot.generation == generation]
        self._delete_snapshots(snapshot for snapshot in found[1:] if snapshot.line == line)

    def _put_snapshot(self, coordinator: Coordinator, line: int, generation: int) -> None:
        """Write the state, inside a transaction.

        A snapshot of the same line and tick is replaced.
        """
        columns = coordinator.tick, line, generation, packed(coordinator.state())
        self._connection.execute(
            "INSERT OR REPLACE INTO snapshot (tick, line, generation, state, checksum) "
            "VALUES (?, ?, ?, ?, ?)",
            (*columns, checksum(*columns)),
        )

    def _delete_before(self, oldest: int, came: int) -> None:
        """Delete, inside a transaction, what no tick since `oldest` is computed from."""
        every = self.snapshots()
        keep = kept(every, oldest)
        self._delete_snapshots(set(every).difference(keep))
        execute = self._connection.execute
        execute("DELETE FROM manifest WHERE generation < ?", (keep[0].generation,))
        first = self._rows("SELECT coalesce(min(line), 0) FROM journal")[0][0]
        last = deletable(first, keep[0].line, came)
        execute("DELETE FROM journal WHERE line <= ?", (last,))

    def _delete_snapshots(self, snapshots: Iterable[Snapshot]) -> None:
        self._connection.executemany(
            "DELETE FROM snapshot WHERE tick = ? AND line = ? AND generation = ?", snapshots
        )

    def _unpacked(self, snapshot: Snapshot) -> Coordinator:
        """Return the server as it was at a snapshot; a damaged snapshot is an error."""
        state, which = self._state(snapshot), f"a snapshot in {self.folder / FILE}"
        if state is None:
            raise StoreError(f"{which} is damaged: {REMEDY}")
        coordinator = Coordinator(self._epoch_at(snapshot).manifest)
        try:
            coordinator.restore(unpacked(state, "it", STATE, "a server's state"))
        except InputError as error:
            raise StoreError(f"{which} is not one that a server took, {error}: {REMEDY}") from None
        self.introduce(coordinator)
        return coordinator

    def _epoch_at(self, snapshot: Snapshot) -> Epoch:
        """Return the epoch of a snapshot; an epoch that did not last until then is an error."""
        epoch = self._epoch(snapshot.generation)
        later = self._rows(
            "SELECT 1 FROM manifest WHERE generation > ? AND line < ?",
            (epoch.generation, snapshot.line),
        )
        if later or epoch.line > snapshot.line or epoch.tick > snapshot.tick:
            raise self._damaged()
        return epoch

    def _taken_up(self, coordinator: Coordinator, records: Iterable[Record]) -> None:
        """Let a server take up lines of the journal; a line of nobody's is an error."""
        coordinator.recover(self._of_members(records, coordinator))

    def _of_members(self, records: Iterable[Record], coordinator: Coordinator) -> Iterator[Record]:
        """Yield lines of the journal; one of a device that the server does not know is an error."""
        members = coordinator.devices.known.size
        for record in records:
            if record.device >= members:
                raise StoreError(
                    f"{self.folder / FILE} has a line of device {record.device}, which is not in "
                    f"the fleet: {REMEDY}"
                )
            yield record

    def _state(self, snapshot: Snapshot) -> bytes | None:
        """Return the bytes of a snapshot's state; None if they are damaged."""
        rows = self._rows(
            "SELECT tick, line, generation, state, checksum FROM snapshot "
            "WHERE tick = ? AND line = ? AND generation = ?",
            snapshot,
        )
        return rows[0][3] if rows and is_intact(rows[0], int, int, int, bytes) else None


def _record(row: list[Any]) -> Record | None:
    """Return what a row of the journal's table says; None if it is damaged."""
    if not is_intact(row, int, int, int, bytes, int):
        return None
    arrived, device, sent, values, level, _ = row
    return Record(arrived, device, sent, np.frombuffer(values, dtype=np.uint8), level)


def _row(record: Record) -> tuple[object, ...]:
    """Return a row of the journal's table, with its checksum."""
    columns = *record[:3], record.values.tobytes(), record.level
    return *columns, checksum(*columns)
