"""Who is in a fleet, what proves it, and what they have agreed on."""

import sqlite3
import zlib
from collections.abc import Iterable
from typing import NamedTuple

from paofed.errors import unknown
from paofed.live.coordinator import Coordinator
from paofed.live.database import FILE, LAST_RESORT, Database, StoreError
from paofed.live.manifest import Manifest


class Member(NamedTuple):
    """A device of the fleet, or one that was."""

    device: int
    label: str
    credential: str  # what the broker knows it by: a certificate's number, a password's hash
    quarantined: bool
    removed: bool


class Members(Database):
    """The fleet's manifest, its devices and their credentials."""

    def manifest(self) -> Manifest:
        """The present manifest."""
        rows = self._rows("SELECT json, checksum FROM manifest ORDER BY rowid DESC LIMIT 1")
        if not rows or zlib.crc32(str(rows[0][0]).encode()) != rows[0][1]:
            raise StoreError(f"the manifest in {self.folder / FILE} is damaged: {LAST_RESORT}")
        return Manifest.from_json(rows[0][0])

    def members(self) -> list[Member]:
        """All devices that are or were in the fleet, by index."""
        rows = self._rows("SELECT id, label, credential, quarantined, removed FROM device")
        return sorted(Member(k, label, c, bool(q), bool(r)) for k, label, c, q, r in rows)

    def member(self, label: str) -> Member:
        """The device that people call so."""
        present = {m.label: m for m in self.members() if not m.removed}
        if label not in present:
            raise StoreError(unknown("device", label, present))
        return present[label]

    def add(self, label: str) -> int:
        """Give a device the next index, under the name people use for it."""
        return self.add_all([label])[0]

    def add_all(self, labels: Iterable[str]) -> list[int]:
        """The same for many, all or none."""
        label = ""
        found = []
        try:
            with self._writing():
                for label in labels:
                    row = self._connection.execute(
                        "INSERT INTO device (id, label) "
                        "VALUES ((SELECT coalesce(max(id) + 1, 0) FROM device), ?) RETURNING id",
                        (label,),
                    ).fetchone()
                    found.append(int(row[0]))
        except sqlite3.IntegrityError:
            raise StoreError(
                f"there is a device {label!r} already (`paofed fleet rotate` makes a new file)"
            ) from None
        return found

    def quarantine(self, device: int, *, on: bool = True) -> None:
        """Remember that a device's messages are refused, or no longer."""
        with self._writing():
            self._connection.execute(
                "UPDATE device SET quarantined = ? WHERE id = ?", (int(on), device)
            )

    def reissue(self, device: int, credential: str) -> None:
        """A device has this credential from now on; one it had before is revoked."""
        with self._writing():
            self._revoke(device)
            self._connection.execute(
                "UPDATE device SET credential = ? WHERE id = ?", (credential, device)
            )

    def serve_as(self, credential: str) -> None:
        """The server has this credential from now on; one it had before is revoked."""
        with self._writing():
            execute = self._connection.execute
            execute(
                "INSERT OR IGNORE INTO revoked SELECT credential FROM server WHERE credential != ''"
            )
            execute("DELETE FROM server")
            execute("INSERT INTO server VALUES (?)", (credential,))

    def server(self) -> str:
        """The server's own credential."""
        rows = self._rows("SELECT credential FROM server")
        return str(rows[0][0]) if rows else ""

    def remove(self, device: int) -> None:
        """A device leaves for good: its credential is revoked, its index never used again."""
        with self._writing():
            self._revoke(device)
            self._connection.execute("UPDATE device SET removed = 1 WHERE id = ?", (device,))

    def revoke(self, credential: str) -> None:
        """Take a credential back."""
        with self._writing():
            self._connection.execute("INSERT OR IGNORE INTO revoked VALUES (?)", (credential,))

    def _revoke(self, device: int) -> None:
        self._connection.execute(
            "INSERT OR IGNORE INTO revoked "
            "SELECT credential FROM device WHERE id = ? AND credential != ''",
            (device,),
        )

    def revoked(self) -> list[str]:
        """Credentials that were taken back."""
        return [row[0] for row in self._rows("SELECT credential FROM revoked ORDER BY credential")]

    def introduce(self, coordinator: Coordinator) -> None:
        """Tell the server who its devices are."""
        for member in self.members():
            coordinator.add(member.device)
            coordinator.quarantine(member.device, on=member.quarantined)
            if member.removed:
                coordinator.remove(member.device)
