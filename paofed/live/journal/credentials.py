"""What proves who is who: credentials in use, revoked, or good for a while still."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from paofed.live.journal.database import FILE, REMEDY, StoreError
from paofed.live.journal.epochs import Epochs
from paofed.live.journal.schema import checksum, is_intact

NOBODY = -1  # in place of a device's index


class Expiring(NamedTuple):
    """A credential that has been replaced, and will be revoked."""

    credential: str
    device: int  # the index of its device, or NOBODY
    until: int  # seconds since 1970


class Credentials(Epochs):
    """The credentials that the broker lets in, and those that it refuses."""

    def serve_as(self, credential: str) -> None:
        """Give the server this credential from now on; revoke the one that it had before."""
        with self._changing():
            self._revoke(self.server())
            self._connection.execute("DELETE FROM server")
            self._connection.execute(
                "INSERT INTO server (credential, checksum) VALUES (?, ?)",
                (credential, checksum(credential)),
            )

    def server(self) -> str:
        """Return the server's own credential."""
        rows = self._rows("SELECT credential, checksum FROM server")
        for row in rows:
            self._require_intact(row, "the server's credential", str)
        return str(rows[0][0]) if rows else ""

    def revoke(self, *credentials: str) -> None:
        """Revoke credentials, all or none."""
        if credentials:
            with self._changing():
                for credential in credentials:
                    self._revoke(credential)

    def revoked(self) -> list[str]:
        """Return the revoked credentials."""
        rows = self._rows("SELECT credential, checksum FROM revoked")
        for row in rows:
            self._require_intact(row, "a revocation", str)
        return sorted(row[0] for row in rows)

    def lend(self, credentials: Iterable[str], until: float) -> None:
        """Let credentials that belong to nobody be good until a time."""
        with self._changing():
            for credential in credentials:
                self._let_expire(Expiring(credential, NOBODY, int(until)))

    def expiring(self) -> list[Expiring]:
        """Return the credentials that will be revoked, the next one first."""
        rows = self._rows(
            "SELECT credential, device, until, checksum FROM expiring ORDER BY until, credential"
        )
        for row in rows:
            self._require_intact(row, "a credential that will be revoked", str, int, int)
        return [Expiring(*row[:-1]) for row in rows]

    def due(self, now: float) -> list[Expiring]:
        """Return the credentials whose time is over."""
        return [found for found in self.expiring() if found.until <= now]

    def expire(self, now: float) -> None:
        """Revoke the credentials whose time is over."""
        self.revoke(*(found.credential for found in self.due(now)))

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Change who is in the fleet; the change is committed and confirmed when the block ends."""
        self._count()  # first, since a change that could not be counted must not be made
        with self._writing():
            yield
        self._count()

    def _count(self) -> None:
        self._ahead = True
        self.confirm()

    def _let_expire(self, found: Expiring) -> None:
        if found.credential:
            self._connection.execute(
                "INSERT OR IGNORE INTO expiring (credential, device, until, checksum) "
                "VALUES (?, ?, ?, ?)",
                (*found, checksum(*found)),
            )

    def _revoke_expiring(self, devices: Collection[int]) -> None:
        for found in self.expiring():
            if found.device in devices:
                self._revoke(found.credential)

    def _revoke(self, credential: str) -> None:
        if credential:
            self._connection.execute(
                "INSERT OR IGNORE INTO revoked (credential, checksum) VALUES (?, ?)",
                (credential, checksum(credential)),
            )
            self._connection.execute("DELETE FROM expiring WHERE credential = ?", (credential,))

    def _require_intact(self, row: tuple[object, ...], what: str, *kinds: type) -> None:
        if not is_intact(row, *kinds):
            raise StoreError(f"{what} in {self.folder / FILE} is damaged: {REMEDY}")
