"""What a fleet has agreed on, one manifest after the other, and since when."""

from dataclasses import replace
from typing import NamedTuple

from paofed.live.journal.database import FILE, LAST_RESORT, Database, StoreError
from paofed.live.journal.schema import WIRE_2, checksum
from paofed.live.protocol.manifest import Manifest


class Epoch(NamedTuple):
    """A manifest, and the part of the journal that is under it."""

    generation: int  # counts a fleet's manifests; what travels is the manifest's `epoch`
    json: str
    line: int  # the journal's last one when the epoch began: those behind it are under it
    tick: int  # when it began
    time: float  # the same in seconds since 1970
    why: str

    @property
    def manifest(self) -> Manifest:
        """What was agreed on."""
        return Manifest.from_json(self.json)


class Epochs(Database):
    """The fleet's manifests."""

    def manifest(self) -> Manifest:
        """The present one."""
        return self._present().manifest

    def epochs(self) -> list[Epoch]:
        """All that the journal reaches back to, the oldest first; the last is the present one."""
        return self._epochs("ORDER BY generation")

    def _present(self) -> Epoch:
        found = self._epochs("ORDER BY generation DESC LIMIT 1")
        if not found:
            raise self._damaged()
        return found[0]

    def _epochs(self, which: str) -> list[Epoch]:
        rows = self._rows(
            f"SELECT generation, json, line, tick, time, why, checksum FROM manifest {which}"  # noqa: S608 (constants)
        )
        if any(checksum(*row[:-1]) != row[-1] for row in rows):
            raise self._damaged()
        return [Epoch(*row[:-1]) for row in rows]

    def _agree(self, epoch: Epoch) -> None:
        """Write a manifest, inside a transaction; it counts as a change of the fleet."""
        self._connection.execute(
            "INSERT INTO manifest (generation, json, line, tick, time, why, checksum) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*epoch, checksum(*epoch)),
        )

    def _carry_over(self, version: int) -> None:
        """Raise the epoch of a fleet of an earlier wire version, and write its manifest anew.

        Its devices are told to read the manifest again, and believe it only of another epoch.
        """
        if 0 < version < WIRE_2:
            present = self._present()
            raised = replace(present.manifest, epoch=present.manifest.next_epoch)
            forget = "DELETE FROM manifest WHERE generation = ?"
            self._connection.execute(forget, (present.generation,))
            self._agree(present._replace(json=raised.to_json()))

    def _damaged(self) -> StoreError:
        return StoreError(f"the manifest in {self.folder / FILE} is damaged: {LAST_RESORT}")
