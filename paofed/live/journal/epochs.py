"""What a fleet has agreed on, one manifest after the other, and since when."""

from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from paofed.errors import AlgorithmError, MissingMethodError
from paofed.live.journal.database import LAST_RESORT, REMEDY, Database, Row, StoreError
from paofed.live.journal.retention import Snapshot
from paofed.live.journal.schema import is_intact
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.quantity import ManifestError

_NEWEST = "ORDER BY generation DESC LIMIT 1"


class Epoch(NamedTuple):
    """A manifest, and the part of the journal that is under it."""

    generation: int  # counts a fleet's manifests; messages carry the manifest's `epoch` instead
    manifest: Manifest
    line: int  # the journal's last line when the epoch began: later lines belong to it
    tick: int  # the tick at which the epoch began
    time: float  # that moment in seconds since 1970
    why: str

    @property
    def begins(self) -> float:
        """When the epoch's first tick begins, in seconds since 1970."""
        return self.manifest.begins(self.tick)


class BygoneManifest(Manifest):
    """A manifest that is over, and whose method this process may lack: it tells times and names."""

    def _check_windows(self) -> None:
        """Leave the method alone: nobody follows it here."""


class Epochs:
    """The fleet's manifests in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # Keeps manifests, so that each is parsed once.
        self._known: dict[Row, Epoch] = {}

    def manifest(self) -> Manifest:
        """Return the present manifest."""
        return self.present().manifest

    def present(self) -> Epoch:
        """Return the present epoch."""
        return self._some(_NEWEST)[0]

    def all(self) -> list[Epoch]:
        """Return all epochs that the journal reaches back to; the present one is the last."""
        return self._read("ORDER BY generation")

    def began(self) -> float:
        """Return when the fleet began, in seconds since 1970, without asking for its method."""
        rows = self._database.select("manifest", _NEWEST)
        if not rows or not is_intact("manifest", rows[0]):
            raise self.damaged()
        return BygoneManifest.from_json(rows[0][1]).start

    def of_lines(self, after: int, until: int) -> list[Epoch]:
        """Return the epochs that some lines of the journal belong to; there is one at least."""
        begun = f"(SELECT max(line) FROM manifest WHERE line <= {after:d})"  # noqa: S608 (numbers)
        return self._some(f"WHERE line >= {begun} AND line < {until:d} ORDER BY generation")

    def of_snapshot(self, snapshot: Snapshot) -> Epoch:
        """Return the epoch of a snapshot; an epoch that did not last until then is an error."""
        (epoch,) = self._some(f"WHERE generation = {snapshot.generation:d}")
        later = self._database.rows(
            "SELECT 1 FROM manifest WHERE generation > ? AND line < ?",
            (epoch.generation, snapshot.line),
        )
        if later or epoch.line > snapshot.line or epoch.tick > snapshot.tick:
            raise self.damaged()
        return epoch

    def tick_at(self, seconds: float) -> int:
        """Return the tick at a time, in seconds since 1970, by what had been agreed on then."""
        return self.ticks_at([seconds])[0]

    def ticks_at(self, times: Iterable[float]) -> list[int]:
        """Return the ticks at several times."""
        epochs = self.all()
        held = [
            (next((epoch for epoch in reversed(epochs) if epoch.begins <= time), epochs[0]), time)
            for time in times
        ]
        return [max(epoch.manifest.tick_at(time), epoch.tick) for epoch, time in held]

    def time_of(self, tick: int) -> float:
        """Return when a tick began, in seconds since 1970, by what had been agreed on then."""
        epochs = self.all()
        held = next((epoch for epoch in reversed(epochs) if epoch.tick <= tick), epochs[0])
        return held.manifest.begins(tick)

    def begin(self, manifest: Manifest, line: int, tick: int, time: float, why: str) -> int:
        """Write a manifest, inside a transaction, and return its generation.

        This counts as a change of the fleet.
        """
        newest = self._database.value("SELECT coalesce(max(generation), 0) FROM manifest")
        generation = int(newest) + 1
        self._database.put("manifest", (generation, manifest.to_json(), line, tick, time, why))
        return generation

    def delete_before(self, generation: int) -> None:
        """Delete earlier manifests, inside a transaction."""
        self._database.execute("DELETE FROM manifest WHERE generation < ?", (generation,))

    def damaged(self, remedy: str = LAST_RESORT) -> StoreError:
        """Return the error that says that a manifest is damaged."""
        return self._database.damaged("the manifest", remedy)

    def _some(self, which: str) -> list[Epoch]:
        """Return some epochs, of which there has to be one."""
        found = self._read(which)
        if not found:
            raise self.damaged()
        return found

    def _read(self, which: str) -> list[Epoch]:
        """Return some epochs; a damaged manifest is an error."""
        rows = self._database.select("manifest", which)
        for row in rows:
            if row not in self._known:
                self._known[row] = self._parsed(row)
        return [self._known[row] for row in rows]

    def _parsed(self, row: Row) -> Epoch:
        generation, text, *rest, _ = row
        if is_intact("manifest", row):
            with suppress(ManifestError):
                return Epoch(generation, self._manifest(generation, text), *rest)
        raise self.damaged(LAST_RESORT if self._is_present(generation) else REMEDY)

    def _manifest(self, generation: int, text: str) -> Manifest:
        """Read a manifest; the file of a method that the fleet no longer follows may be gone."""
        try:
            return Manifest.from_json(text)
        except (MissingMethodError, AlgorithmError):
            if self._is_present(generation):
                raise
            return BygoneManifest.from_json(text)

    def _is_present(self, generation: int) -> bool:
        newest = self._database.value("SELECT max(generation) FROM manifest")
        return bool(generation == newest)
