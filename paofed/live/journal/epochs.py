"""What a fleet has agreed on, one manifest after the other, and since when."""

import sqlite3
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from functools import cached_property
from pathlib import Path

from paofed.live.journal.database import FILE, LAST_RESORT, REMEDY, Database, StoreError
from paofed.live.journal.schema import checksum, is_intact
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.scaling import ManifestError


@dataclass(frozen=True)
class Epoch:
    """A manifest, and the part of the journal that is under it."""

    generation: int  # counts a fleet's manifests; messages carry the manifest's `epoch` instead
    json: str
    line: int  # the journal's last line when the epoch began: later lines belong to it
    tick: int  # the tick at which the epoch began
    time: float  # that moment in seconds since 1970
    why: str

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest that was agreed on."""
        return Manifest.from_json(self.json)

    @property
    def begins(self) -> float:
        """When the epoch's first tick begins, in seconds since 1970."""
        return self.manifest.begins(self.tick)


class Epochs(Database):
    """The fleet's manifests in the database."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        super().__init__(folder, connection)
        # Keeps manifests, so that each is parsed once.
        self._known: dict[tuple[object, ...], Epoch] = {}

    def manifest(self) -> Manifest:
        """Return the present manifest."""
        return self._present().manifest

    def epochs(self) -> list[Epoch]:
        """Return all epochs that the journal reaches back to; the present one is the last."""
        return self._epochs("ORDER BY generation")

    def tick_at(self, seconds: float) -> int:
        """Return the tick at a time, in seconds since 1970, by what had been agreed on then."""
        return self.ticks_at([seconds])[0]

    def ticks_at(self, times: Iterable[float]) -> list[int]:
        """Return the ticks at several times."""
        epochs = self.epochs()
        held = [
            (next((epoch for epoch in reversed(epochs) if epoch.begins <= time), epochs[0]), time)
            for time in times
        ]
        return [max(epoch.manifest.tick_at(time), epoch.tick) for epoch, time in held]

    def time_of(self, tick: int) -> float:
        """Return when a tick began, in seconds since 1970, by what had been agreed on then."""
        epochs = self.epochs()
        held = next((epoch for epoch in reversed(epochs) if epoch.tick <= tick), epochs[0])
        return held.manifest.begins(tick)

    def _epoch(self, generation: int) -> Epoch:
        found = self._epochs(f"WHERE generation = {int(generation)}")
        if not found:
            raise self._damaged()
        return found[0]

    def _present(self) -> Epoch:
        found = self._epochs("ORDER BY generation DESC LIMIT 1")
        if not found:
            raise self._damaged()
        return found[0]

    def _epochs(self, which: str) -> list[Epoch]:
        """Return some epochs; a damaged manifest is an error."""
        rows = self._rows(
            f"SELECT generation, json, line, tick, time, why, checksum FROM manifest {which}"  # noqa: S608 (constants)
        )
        for row in rows:
            if row not in self._known:
                if not is_intact(row, int, str, int, int, float, str) or not _is_manifest(row[1]):
                    newest = self._rows("SELECT max(generation) FROM manifest")[0][0]
                    raise self._damaged(LAST_RESORT if row[0] == newest else REMEDY)
                self._known[row] = Epoch(*row[:-1])
        return [self._known[row] for row in rows]

    def _agree(self, epoch: Epoch) -> None:
        """Write a manifest, inside a transaction; it counts as a change of the fleet."""
        self._connection.execute(
            "INSERT INTO manifest (generation, json, line, tick, time, why, checksum) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*astuple(epoch), checksum(*astuple(epoch))),
        )

    def _damaged(self, remedy: str = LAST_RESORT) -> StoreError:
        return StoreError(f"the manifest in {self.folder / FILE} is damaged: {remedy}")


def _is_manifest(text: str) -> bool:
    try:
        Manifest.from_json(text)
    except ManifestError:
        return False
    return True
