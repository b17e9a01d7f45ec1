"""What proves who is who: credentials in use, revoked, or good for a while still."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from paofed.live.journal.confirmation import Confirmation
from paofed.live.journal.database import Database

NOBODY = -1  # in place of a device's index


class Expiring(NamedTuple):
    """A credential that has been replaced, and will be revoked."""

    credential: str
    device: int  # the index of its device, or NOBODY
    until: int  # seconds since 1970


@dataclass(frozen=True)
class Credentials:
    """The server's credential, and those that the broker refuses, now or soon."""

    database: Database
    confirmation: Confirmation

    def serve_as(self, credential: str) -> None:
        """Give the server this credential from now on; revoke the one that it had before."""
        with self.confirmation.changing():
            self.refuse(self.server())
            self.database.execute("DELETE FROM server")
            self.database.put("server", (credential,))

    def server(self) -> str:
        """Return the server's own credential."""
        rows = self.database.read("server", "the server's credential")
        return str(rows[0][0]) if rows else ""

    def revoke(self, *credentials: str) -> None:
        """Revoke credentials, all or none."""
        if credentials:
            with self.confirmation.changing():
                for credential in credentials:
                    self.refuse(credential)

    def revoked(self) -> list[str]:
        """Return the revoked credentials."""
        return sorted(row[0] for row in self.database.read("revoked", "a revocation"))

    def lend(self, credentials: Iterable[str], until: float) -> None:
        """Let credentials that belong to nobody be good until a time."""
        with self.confirmation.changing():
            for credential in credentials:
                self.let_expire(Expiring(credential, NOBODY, int(until)))

    def expiring(self) -> list[Expiring]:
        """Return the credentials that will be revoked, the next one first."""
        what, order = "a credential that will be revoked", "ORDER BY until, credential"
        return [Expiring(*row) for row in self.database.read("expiring", what, order)]

    def due(self, now: float) -> list[Expiring]:
        """Return the credentials whose time is over."""
        return [found for found in self.expiring() if found.until <= now]

    def expire(self, now: float) -> None:
        """Revoke the credentials whose time is over."""
        self.revoke(*(found.credential for found in self.due(now)))

    def let_expire(self, found: Expiring) -> None:
        """Note when a credential will be revoked, inside a transaction."""
        if found.credential:
            self.database.put("expiring", found, again="IGNORE")

    def refuse_expiring(self, devices: Collection[int]) -> None:
        """Revoke what devices have beside their present credentials, inside a transaction."""
        for found in self.expiring():
            if found.device in devices:
                self.refuse(found.credential)

    def refuse(self, credential: str) -> None:
        """Revoke a credential, inside a transaction."""
        if credential:
            self.database.put("revoked", (credential,), again="IGNORE")
            self.database.execute("DELETE FROM expiring WHERE credential = ?", (credential,))
