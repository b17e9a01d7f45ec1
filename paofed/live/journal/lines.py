"""The journal's lines, and the states of the server that are kept beside them."""

import io
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.archives import plain_arrays
from paofed.live.journal.database import FILE, REMEDY, StoreError, TakenOverError
from paofed.live.journal.members import Members
from paofed.live.journal.retention import Snapshot, deletable, kept, most_bytes
from paofed.live.journal.schema import checksum
from paofed.live.protocol.coordinator import Coordinator, Record

_CHUNK = 10_000  # lines that are read at once
# NumPy reads the header of an array with `ast.literal_eval`, which CPython 3.11 up to at least
# 3.11.7 breaks off with a SystemError if another thread is in that function, too.
_UNPACKING = threading.Lock()


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
            "SELECT line, checksum, arrived, device, sent, vals, level FROM journal "
            "WHERE line > ? AND line <= ? ORDER BY line",
            (after, until),
        )
        for number, (line, total, *columns) in enumerate(rows, after + 1):
            if line != number:
                raise self._gap(number)
            if checksum(*columns) != total:
                raise StoreError(f"line {line} of {self.folder / FILE} is damaged: {REMEDY}")
            arrived, device, sent, values, level = columns
            yield Record(arrived, device, sent, np.frombuffer(values, dtype=np.uint8), level)
        if after + len(rows) != until:
            raise self._gap(after + len(rows) + 1)

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
        columns = coordinator.tick, line, generation, pack(coordinator.state())
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
        state = self._state(snapshot)
        if state is None:
            raise StoreError(f"a snapshot in {self.folder / FILE} is damaged: {REMEDY}")
        coordinator = Coordinator(self._epoch(snapshot.generation).manifest)
        coordinator.restore(unpack(state))
        self.introduce(coordinator)
        return coordinator

    def _state(self, snapshot: Snapshot) -> bytes | None:
        """Return the bytes of a snapshot's state; None if they are damaged."""
        rows = self._rows(
            "SELECT tick, line, generation, state, checksum FROM snapshot "
            "WHERE tick = ? AND line = ? AND generation = ?",
            snapshot,
        )
        intact = rows and checksum(*rows[0][:-1]) == rows[0][-1]
        return bytes(rows[0][3]) if intact else None


def _row(record: Record) -> tuple[object, ...]:
    """Return a row of the journal's table, with its checksum."""
    columns = *record[:3], record.values.tobytes(), record.level
    return *columns, checksum(*columns)


def unpack(state: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays that `pack` wrote."""
    with _UNPACKING, np.load(io.BytesIO(state), allow_pickle=False) as arrays:
        return dict(arrays)


def pack(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return arrays as the bytes of an `.npz`."""
    file = io.BytesIO()
    np.savez(file, **plain_arrays(arrays))
    return file.getvalue()
