"""Who is in a fleet: its devices and gateways."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from paofed.errors import unknown
from paofed.live.journal.confirmation import Confirmation
from paofed.live.journal.credentials import Credentials, Expiring
from paofed.live.journal.database import LAST_RESORT, Database, StoreError
from paofed.live.journal.schema import checksum
from paofed.live.protocol.coordinator import Coordinator

MOST_DEVICES = 2**22  # a server keeps some numbers for every index up to the largest
_ALL = -(2**63), 2**63 - 1  # indices that SQLite can keep, among which damaged ones are noticed

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

    def row(self) -> tuple[int, str, str, int, int]:
        """Return the member as it is stored; who speaks for it is elsewhere."""
        return self.device, self.label, self.credential, int(self.quarantined), int(self.removed)


@dataclass(frozen=True)
class Roster:
    """The fleet's devices and gateways, and the credential of each."""

    database: Database
    confirmation: Confirmation
    credentials: Credentials

    def members(self) -> list[Member]:
        """Return all devices and gateways that are or were in the fleet, by index."""
        return self._between(*_ALL)

    def devices(self) -> list[Member]:
        """Return all devices, by index, without gateways."""
        return [member for member in self.members() if not member.is_gateway]

    def voices(self, device: int) -> list[Member]:
        """Return a member and, if it is a gateway, its devices; none that was removed."""
        members = map(self.at, sorted({device, *self.spoken_for(device)}))
        return [member for member in members if not member.removed]

    def spoken_for(self, gateway: int) -> list[int]:
        """Return the indices that a gateway speaks or spoke for, itself among them."""
        rows = self.database.read(
            "spoken", "the gateway of device {}", "WHERE gateway = ?", (gateway,)
        )
        return [device for device, _ in rows]

    def changes(self) -> int:
        """Return a number that changes with every change of who is in the fleet, by whomever."""
        return self.database.counts().changes

    def member(self, label: str) -> Member:
        """Return the device that people call `label`; none is an error."""
        found = self.find(label)
        if found is None:
            present = [member.label for member in self.members() if not member.removed]
            raise StoreError(unknown("device", label, present))
        return found

    def find(self, label: str) -> Member | None:
        """Return the device that people call `label`, if there is one; reads its rows alone."""
        called = "SELECT id FROM device WHERE label = ? AND NOT removed"
        found = self.database.rows(called, (label,))
        return self.at(found[0][0]) if found else None

    def at(self, device: int) -> Member:
        """Return the member of an index."""
        return self._between(device, device)[0]

    def add(self, label: str) -> int:
        """Give a device the next index, which is returned, under the label that people use."""
        return self.add_all([label])[0]

    def add_all(self, labels: Iterable[str], issue: Issue = lambda *_: "") -> list[int]:
        """Add many devices with their credentials, all or none."""
        with self.confirmation.changing():
            return self._insert(labels, issue)

    def add_spoken(self, labels: Iterable[str], gateway: int | None = None) -> int:
        """Add devices for whom a gateway speaks, all or none.

        With `gateway` None, the first label is the gateway itself. Returns the gateway's index.
        """
        with self.confirmation.changing():
            devices = self._insert(labels)
            speaker = devices[0] if gateway is None else gateway
            self.database.put("spoken", *((device, speaker) for device in devices))
        return speaker

    def _insert(self, labels: Iterable[str], issue: Issue = lambda *_: "") -> list[int]:
        first = found = self.database.value("SELECT coalesce(max(id) + 1, 0) FROM device")
        for label in labels:
            self.require_new(label)
            if found >= MOST_DEVICES:
                raise StoreError(
                    f"a fleet has at most {MOST_DEVICES:,} devices: make another fleet"
                )
            new = Member(found, label, issue(found, label), quarantined=False, removed=False)
            self.database.put("device", new.row())
            found += 1
        return list(range(first, found))

    def require_new(self, *labels: str) -> None:
        """Refuse a label that a device of the fleet has."""
        for label in labels:
            if self.find(label):
                raise StoreError(
                    f"there is a device {label!r} already (`paofed fleet rotate` makes a new file)"
                )

    def quarantine(self, device: int, *, on: bool = True) -> None:
        """Remember that a device's messages are refused or, with `on` False, no longer."""
        with self.confirmation.changing():
            self._put(self.at(device)._replace(quarantined=on))

    def reissue(self, device: int, credential: str, until: float | None = None) -> None:
        """Give a device this credential; revoke the others, or the last one only at `until`."""
        self.reissue_all([device], lambda *_: credential, until)

    def reissue_all(self, devices: Iterable[int], issue: Issue, until: float | None = None) -> None:
        """Give devices new credentials, all or none, as `reissue` does for one device."""
        with self.confirmation.changing():
            chosen = set(devices)
            if until is None:
                self.credentials.refuse_expiring(chosen)
            for member in map(self.at, sorted(chosen)):
                if until is None:
                    self.credentials.refuse(member.credential)
                else:
                    old = Expiring(member.credential, member.device, int(until))
                    self.credentials.let_expire(old)
                self._put(member._replace(credential=issue(member.device, member.label)))

    def remove(self, device: int) -> None:
        """Let a device leave for good: revoke its credentials; its index is never used again."""
        with self.confirmation.changing():
            member = self.at(device)
            self.credentials.refuse(member.credential)
            self.credentials.refuse_expiring({device})
            self._put(member._replace(removed=True))

    def firmware(self) -> list[Member]:
        """Return the devices of which somebody has noted that they run firmware in C."""
        rows = self.database.read("firmware", "the firmware of device {}")
        noted = {row[0] for row in rows}
        return [m for m in self.members() if m.device in noted and not m.removed]

    def note_firmware(self, devices: Iterable[int], *, on: bool = True) -> None:
        """Note that devices run firmware in C or, with `on` False, that they do not."""
        with self.confirmation.changing():
            for device in devices:
                if on:
                    self.database.put("firmware", (device,), again="IGNORE")
                else:
                    self.database.execute("DELETE FROM firmware WHERE device = ?", (device,))

    def introduce(self, coordinator: Coordinator) -> None:
        """Tell the server's state machine who its devices are."""
        for member in self.devices():
            coordinator.add(member.device)
            coordinator.quarantine(member.device, on=member.quarantined)
            if member.removed:
                coordinator.remove(member.device)

    def _between(self, first: int, last: int) -> list[Member]:
        """Return the members of some indices."""
        read, these = self.database.read, (first, last)
        rows = read("device", "device {}", "WHERE id BETWEEN ? AND ? ORDER BY id", these)
        for device, *_ in rows:
            if not 0 <= device < MOST_DEVICES:
                raise StoreError(f"{self.database.path} has a device {device}: {LAST_RESORT}")
        among = "WHERE device BETWEEN ? AND ?"
        gateways: dict[int, int] = dict(read("spoken", "the gateway of device {}", among, these))
        return [
            Member(k, label, mark, bool(q), bool(r), gateways.get(k))
            for k, label, mark, q, r in rows
        ]

    def _put(self, member: Member) -> None:
        row = member.row()
        self.database.execute(
            "UPDATE device SET label = ?, credential = ?, quarantined = ?, removed = ?, "
            "checksum = ? WHERE id = ?",
            (*row[1:], checksum(*row), member.device),
        )
