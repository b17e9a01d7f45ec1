"""Who is in a fleet, and what proves it."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from paofed.errors import unknown
from paofed.live.journal.credentials import Credentials, Expiring
from paofed.live.journal.database import FILE, LAST_RESORT, REMEDY, StoreError
from paofed.live.journal.schema import checksum
from paofed.live.protocol.coordinator import Coordinator

MOST_DEVICES = 2**22  # a server keeps some numbers for every index up to the largest

# Issues a credential to the device of an index and a label; returns the text that the broker knows.
Issue = Callable[[int, str], str]


class Member(NamedTuple):
    """A device of the fleet, or one that was."""

    device: int
    label: str
    credential: str  # by which the broker knows it: a certificate's number, a password's hash
    quarantined: bool
    removed: bool
    gateway: int | None = None  # the index of the gateway whose credential speaks for it, if any

    @property
    def is_gateway(self) -> bool:
        """Whether the member is no device, but speaks for some."""
        return self.gateway == self.device

    @property
    def is_spoken_for(self) -> bool:
        """Whether a gateway speaks for the member."""
        return self.gateway not in (None, self.device)

    def row(self) -> tuple[int, str, str, int, int, int]:
        """Return the member as it is stored, with its checksum."""
        values = self.device, self.label, self.credential, int(self.quarantined), int(self.removed)
        return *values, checksum(*values)


class Mended(NamedTuple):
    """What became of rows that were damaged or lost."""

    devices: tuple[int, ...]  # devices whose rows were damaged, and that are quarantined now
    regained: int  # lost rows of revoked credentials that were written again
    complete: bool  # whether all other rows are there


_SEALED = {
    "device": "id, label, credential, quarantined, removed",
    "revoked": "credential",
    "server": "credential",
    "expiring": "credential, device, until",
    "spoken": "device, gateway",
    "firmware": "device",
}
_ALL = " UNION ALL ".join(f"SELECT checksum FROM {table}" for table in (*_SEALED, "manifest"))  # noqa: S608
_TOTAL = f"SELECT coalesce(sum(checksum), 0) FROM ({_ALL})"  # noqa: S608 (constants)


class Members(Credentials):
    """The fleet's devices and gateways, and their credentials."""

    def members(self) -> list[Member]:
        """Return all devices and gateways that are or were in the fleet, by index."""
        return self._members()

    def devices(self) -> list[Member]:
        """Return all devices, by index, without gateways."""
        return [member for member in self.members() if not member.is_gateway]

    def voices(self, device: int) -> list[Member]:
        """Return a member and, if it is a gateway, its devices; none that was removed."""
        return [
            member
            for member in self.members()
            if device in (member.device, member.gateway) and not member.removed
        ]

    def changes(self) -> int:
        """Return a number that changes with every change of who is in the fleet, by whomever."""
        return self._held().changes

    def member(self, label: str) -> Member:
        """Return the device that people call `label`."""
        present = {m.label: m for m in self.members() if not m.removed}
        if label not in present:
            raise StoreError(unknown("device", label, present))
        return present[label]

    def add(self, label: str) -> int:
        """Give a device the next index, which is returned, under the label that people use."""
        return self.add_all([label])[0]

    def add_all(self, labels: Iterable[str], issue: Issue = lambda *_: "") -> list[int]:
        """Add many devices with their credentials, all or none."""
        with self._changing():
            return self._insert(labels, issue)

    def add_spoken(self, labels: Iterable[str], gateway: int | None = None) -> int:
        """Add devices for whom a gateway speaks, all or none.

        With `gateway` None, the first label is the gateway itself. Returns the gateway's index.
        """
        with self._changing():
            devices = self._insert(labels)
            speaker = devices[0] if gateway is None else gateway
            for device in devices:
                self._connection.execute(
                    "INSERT INTO spoken (device, gateway, checksum) VALUES (?, ?, ?)",
                    (device, speaker, checksum(device, speaker)),
                )
        return speaker

    def _insert(self, labels: Iterable[str], issue: Issue = lambda *_: "") -> list[int]:
        first = found = self._rows("SELECT coalesce(max(id) + 1, 0) FROM device")[0][0]
        for label in labels:
            self.require_new(label)
            if found >= MOST_DEVICES:
                raise StoreError(
                    f"a fleet has at most {MOST_DEVICES:,} devices: make another fleet"
                )
            self._connection.execute(
                "INSERT INTO device (id, label, credential, quarantined, removed, checksum) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                Member(found, label, issue(found, label), quarantined=False, removed=False).row(),
            )
            found += 1
        return list(range(first, found))

    def require_new(self, *labels: str) -> None:
        """Refuse a label that a device of the fleet has."""
        for label in labels:
            if self._rows("SELECT 1 FROM device WHERE label = ? AND NOT removed", (label,)):
                raise StoreError(
                    f"there is a device {label!r} already (`paofed fleet rotate` makes a new file)"
                )

    def quarantine(self, device: int, *, on: bool = True) -> None:
        """Remember that a device's messages are refused or, with `on` False, no longer."""
        with self._changing():
            self._put(self._of(device)._replace(quarantined=on))

    def reissue(self, device: int, credential: str, until: float | None = None) -> None:
        """Give a device this credential; revoke the others, or the last one only at `until`."""
        self.reissue_all([device], lambda *_: credential, until)

    def reissue_all(self, devices: Iterable[int], issue: Issue, until: float | None = None) -> None:
        """Give devices new credentials, all or none, as `reissue` does for one device."""
        with self._changing():
            known, chosen = {m.device: m for m in self.members()}, set(devices)
            if until is None:
                self._revoke_expiring(chosen)
            for member in (known[device] for device in sorted(chosen)):
                if until is None:
                    self._revoke(member.credential)
                else:
                    self._let_expire(Expiring(member.credential, member.device, int(until)))
                self._put(member._replace(credential=issue(member.device, member.label)))

    def remove(self, device: int) -> None:
        """Let a device leave for good: revoke its credentials; its index is never used again."""
        with self._changing():
            member = self._of(device)
            self._revoke(member.credential)
            self._revoke_expiring({device})
            self._put(member._replace(removed=True))

    def firmware(self) -> list[Member]:
        """Return the devices of which somebody has noted that they run firmware in C."""
        rows = self._rows("SELECT device, checksum FROM firmware")
        for row in rows:
            self._require_intact(row, f"the firmware of device {row[0]}", int)
        noted = {row[0] for row in rows}
        return [m for m in self.members() if m.device in noted and not m.removed]

    def note_firmware(self, devices: Iterable[int], *, on: bool = True) -> None:
        """Note that devices run firmware in C or, with `on` False, that they do not."""
        with self._changing():
            for device in devices:
                execute = self._connection.execute
                if on:
                    noted = "INSERT OR IGNORE INTO firmware (device, checksum) VALUES (?, ?)"
                    execute(noted, (device, checksum(device)))
                else:
                    execute("DELETE FROM firmware WHERE device = ?", (device,))

    def _members(self, device: int | None = None) -> list[Member]:
        """Return one member, or all of them."""
        rows = self._rows(
            "SELECT id, label, credential, quarantined, removed, checksum FROM device "
            "WHERE id = :device OR :device IS NULL ORDER BY id",
            {"device": device},
        )
        for row in rows:
            self._require_intact(row, f"device {row[0]}", int, str, str, int, int)
            if not 0 <= row[0] < MOST_DEVICES:
                raise StoreError(f"{self.folder / FILE} has a device {row[0]}: {LAST_RESORT}")
        spoken = self._spoken(device)
        return [
            Member(k, label, mark, bool(q), bool(r), spoken.get(k))
            for k, label, mark, q, r, _ in rows
        ]

    def _spoken(self, device: int | None) -> dict[int, int]:
        """Return which gateway speaks for a device, or for each device that has one."""
        rows = self._rows(
            "SELECT device, gateway, checksum FROM spoken "
            "WHERE device = :device OR :device IS NULL",
            {"device": device},
        )
        for row in rows:
            self._require_intact(row, f"the gateway of device {row[0]}", int, int)
        return {row[0]: row[1] for row in rows}

    def _of(self, device: int) -> Member:
        return self._members(device)[0]

    def _put(self, member: Member) -> None:
        self._connection.execute(
            "UPDATE device SET label = ?, credential = ?, quarantined = ?, removed = ?, "
            "checksum = ? WHERE id = ?",
            (*member.row()[1:], member.device),
        )

    # Damage

    def _check_members(self) -> None:
        """Refuse rows that are damaged, missing, or not the newest."""
        for look in (self._present, self.firmware, self.revoked, self.expiring, self.server):
            look()
        if self._rows("SELECT total FROM seal") != self._rows(_TOTAL):
            raise StoreError(
                f"rows of devices, credentials or manifests in {self.folder / FILE} are missing: "
                f"{REMEDY}"
            )

    def _mend_members(self, revoked: Iterable[str] = ()) -> Mended:
        """Go on with the rows that are there; quarantine a device whose row was damaged.

        `revoked` are credentials that the broker refuses: lost rows of them are written again. A
        credential whose row is damaged is revoked: nobody can tell what its row said.
        """
        damaged = []
        for device in self._rows("SELECT id FROM device"):
            try:
                self._members(*device)
            except StoreError:
                damaged.append(device[0])
        # Mending does not count as a change: what is lost is still missed.
        total, changes = self._rows("SELECT total FROM seal"), self._held().changes
        with self._writing():
            execute = self._connection.execute
            doubtful = [row[0] for table in ("revoked", "expiring") for row in self._drop(table)]
            known = {row[0] for row in self._rows("SELECT credential FROM revoked")}
            regained = set(revoked) - known
            for credential in regained:
                self._revoke(credential)
            bad = any(self._bad(table) for table in ("server", "spoken"))
            complete = not bad and self._rows(_TOTAL) == total
            for credential in doubtful:
                if isinstance(credential, str):
                    self._revoke(credential)
            for device in damaged:
                execute("UPDATE device SET quarantined = 1 WHERE id = ?", (device,))
            for table, columns in _SEALED.items():
                execute(f"UPDATE {table} SET ({columns}) = ({self._typed(table)})")  # noqa: S608 (constants)
                execute(f"UPDATE {table} SET checksum = crc({columns})")  # noqa: S608 (constants)
            execute(f"UPDATE seal SET total = ({_TOTAL}), changes = ?", (changes,))  # noqa: S608 (constants)
        return Mended(tuple(damaged), len(regained), complete)

    def _bad(self, table: str) -> list[tuple[Any, ...]]:
        """Return the damaged rows of a table."""
        return self._rows(f"SELECT {_SEALED[table]} FROM {table} WHERE {self._is_bad(table)}")  # noqa: S608 (constants)

    def _drop(self, table: str) -> list[tuple[Any, ...]]:
        """Delete the damaged rows of a table, inside a transaction, and return them."""
        bad = self._bad(table)
        self._connection.execute(f"DELETE FROM {table} WHERE {self._is_bad(table)}")  # noqa: S608 (constants)
        return bad

    def _is_bad(self, table: str) -> str:
        """Return the condition in SQL that a row has another checksum, or values of other types."""
        columns = _SEALED[table]
        return f"checksum IS NOT crc({columns}) OR ({columns}) IS NOT ({self._typed(table)})"

    def _typed(self, table: str) -> str:
        """Return the columns of a table in SQL, each cast to the type that the table declares."""
        declared = {row[1]: row[2] for row in self._rows(f"PRAGMA table_info({table})")}
        return ", ".join(
            # The bytes of a blob may be no text, and NULL has no type.
            f"CAST(CASE typeof({name}) WHEN 'blob' THEN hex({name}) ELSE coalesce({name}, '') END "
            f"AS {declared[name]})"
            for name in _SEALED[table].split(", ")
        )

    def introduce(self, coordinator: Coordinator) -> None:
        """Tell the server's state machine who its devices are."""
        for member in self.devices():
            coordinator.add(member.device)
            coordinator.quarantine(member.device, on=member.quarantined)
            if member.removed:
                coordinator.remove(member.device)
