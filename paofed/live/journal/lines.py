"""The journal's lines: the updates that were accepted, numbered without gaps."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from paofed.live.journal.database import REMEDY, Database, StoreError, nothing
from paofed.live.journal.epochs import Epochs
from paofed.live.journal.schema import is_intact
from paofed.live.journal.snapshots import Snapshots
from paofed.live.protocol.coordinator import Record, is_possible

_CHUNK = 10_000  # lines that are read at once


@dataclass(frozen=True)
class Lines:
    """The lines in the database."""

    database: Database
    epochs: Epochs
    snapshots: Snapshots

    def append(self, records: Iterable[Record]) -> None:
        """Write lines, inside a transaction."""
        rows = ((*record[:3], record.values.tobytes(), record.level) for record in records)
        self.database.put("journal", *rows)

    def read(
        self,
        after: int | None = None,
        until: int | None = None,
        told: Callable[[int], None] = nothing,
    ) -> Iterator[Record]:
        """Yield the lines after one (default: the oldest snapshot's) and up to another (the last).

        Each line is checked. `told` is called now and then with the number of the last line read.
        """
        after = self.snapshots.some()[0].line if after is None else after
        until = self.last() if until is None else until
        for start in range(after, until, _CHUNK):
            yield from self._chunk(start, min(start + _CHUNK, until))
            told(min(start + _CHUNK, until))

    def _chunk(self, after: int, until: int) -> Iterator[Record]:
        rows = self.database.rows(
            "SELECT line, arrived, device, sent, vals, level, checksum FROM journal "
            "WHERE line > ? AND line <= ? ORDER BY line",
            (after, until),
        )
        epochs = self.epochs.of_lines(after, until)
        for number, (line, *columns) in enumerate(rows, after + 1):
            if line != number:
                raise self._lost(number, "missing")
            held = epochs[bisect_left(epochs, line, key=lambda epoch: epoch.line) - 1]
            record = _record(columns)
            if record is None or not is_possible(record, held.manifest):
                raise self._lost(line, "damaged")
            yield record
        if after + len(rows) != until:
            raise self._lost(after + len(rows) + 1, "missing")

    def _lost(self, line: int, how: str) -> StoreError:
        return StoreError(f"line {line} of {self.database.path} is {how}: {REMEDY}")

    def count(self) -> int:
        """Return how many lines the journal holds."""
        return int(self.database.value("SELECT count(*) FROM journal"))

    def first(self) -> int:
        """Return the number of the first line that is there, or else of the next one."""
        found = self.database.value("SELECT min(line) FROM journal")
        return self.last() + 1 if found is None else int(found)

    def last(self) -> int:
        """Return the number of the last line, whether or not the line is there."""
        kept = self.database.value("SELECT coalesce(max(line), 0) FROM snapshot")
        return int(max(self.newest(), kept, self.database.counts().lines))

    def newest(self) -> int:
        """Return the number of the last line that is there, or 0."""
        return int(self.database.value("SELECT coalesce(max(line), 0) FROM journal"))

    def delete_until(self, line: int) -> None:
        """Delete the lines up to one, inside a transaction."""
        self.database.execute("DELETE FROM journal WHERE line <= ?", (line,))

    def end_with(self, line: int) -> None:
        """Delete the lines after one, inside a transaction; the next line is numbered after it."""
        execute = self.database.execute
        execute("DELETE FROM journal WHERE line > ?", (line,))
        execute("DELETE FROM sqlite_sequence WHERE name = 'journal'")
        execute("INSERT INTO sqlite_sequence VALUES ('journal', ?)", (line,))


def _record(row: list[Any]) -> Record | None:
    """Return what a row of the journal's table says; None if it is damaged."""
    if not is_intact("journal", row):
        return None
    arrived, device, sent, values, level, _ = row
    return Record(arrived, device, sent, np.frombuffer(values, dtype=np.uint8), level)
