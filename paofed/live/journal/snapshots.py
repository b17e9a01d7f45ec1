"""The states of the server that are kept beside the journal's lines."""

from collections.abc import Iterable
from dataclasses import dataclass

from paofed.archives import packed
from paofed.live.journal.database import LAST_RESORT, Database, StoreError
from paofed.live.journal.retention import Snapshot
from paofed.live.journal.schema import is_intact
from paofed.live.protocol.coordinator import Coordinator

_THIS = "WHERE tick = ? AND line = ? AND generation = ?"


@dataclass(frozen=True)
class Snapshots:
    """The snapshots in the database, and their states."""

    database: Database

    def all(self) -> list[Snapshot]:
        """Return the snapshots, the oldest first.

        Whether a state is damaged shows when it is read.
        """
        rows = self.database.rows(
            "SELECT tick, line, generation FROM snapshot ORDER BY generation, line, tick"
        )
        if not all(type(number) is int for row in rows for number in row):
            raise self.database.damaged("a snapshot", LAST_RESORT)
        return [Snapshot(*row) for row in rows]

    def some(self) -> list[Snapshot]:
        """Return the snapshots as `all` does; a store is made with one, so none is an error."""
        found = self.all()
        if not found:
            raise StoreError(f"{self.database.path} has no snapshot: {LAST_RESORT}")
        return found

    def state(self, snapshot: Snapshot) -> bytes | None:
        """Return the bytes of a snapshot's state; None if they are damaged."""
        rows = self.database.select("snapshot", _THIS, snapshot)
        return rows[0][3] if rows and is_intact("snapshot", rows[0]) else None

    def put(self, coordinator: Coordinator, line: int, generation: int) -> None:
        """Write the state, inside a transaction.

        A snapshot of the same line and tick is replaced.
        """
        row = coordinator.tick, line, generation, packed(coordinator.state())
        self.database.put("snapshot", row, again="REPLACE")

    def make_way(self, line: int, generation: int) -> None:
        """Delete, inside a transaction, the snapshot since which nothing was written.

        It stays if its epoch began with it: the first state of an epoch cannot be computed, and is
        needed to go back to its first ticks.
        """
        found = [snapshot for snapshot in self.all() if snapshot.generation == generation]
        self.delete(snapshot for snapshot in found[1:] if snapshot.line == line)

    def delete(self, snapshots: Iterable[Snapshot]) -> None:
        """Delete snapshots, inside a transaction."""
        for snapshot in snapshots:
            self.database.execute(f"DELETE FROM snapshot {_THIS}", snapshot)  # noqa: S608 (constant)
