"""A fleet's folder: who is in the fleet, the proof each of them holds, what the broker knows.

fleet.toml       settings, for people to edit
fleet.sqlite     manifest, devices, journal, snapshots (paofed.live.journal.store), and beside it
                 how much of it was confirmed (paofed.live.journal.confirmed)
authority.pem    the key that certifies; keep a copy in a safe place
server.json      the server's own credential
tokens.json      who may ask the server over HTTP, if that is not everybody
                 (paofed.live.fleet.tokens)
devices/         a file for each device, to be moved onto the device
broker/          what mosquitto reads; made from the rest
"""

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Self

from paofed.core.arrays import FloatArray
from paofed.errors import FileError, InputError
from paofed.files import make_folder, write_secret, write_text
from paofed.live.fleet import mosquitto
from paofed.live.fleet.accounts import BrokerAccount
from paofed.live.fleet.issuing import AUTHORITY, DEVICES, SERVER_FILE, VALID, Issuing
from paofed.live.fleet.settings import Settings
from paofed.live.journal.credentials import NOBODY
from paofed.live.journal.database import FILE as STORE
from paofed.live.journal.store import Store
from paofed.live.network.credential import Credential
from paofed.live.network.ending import end_connections, take_over
from paofed.live.network.topics import SERVER
from paofed.live.protocol.manifest import Manifest

_LONGEST_LABEL = 64
# Seconds that a temporary credential is good, which ends a connection by taking its name.
_LENT = 60.0


class Fleet(Issuing):
    """A fleet's folder, to be managed."""

    @classmethod
    def create(
        cls,
        folder: str | Path,
        settings: Settings,
        manifest: Manifest,
        w: FloatArray | None = None,
        *,
        accounts: Mapping[str, BrokerAccount] | None = None,
        trusted: str = "",
    ) -> Self:
        """Make a folder with all that a server and a broker need, whole or not at all.

        The fleet begins with the model `w`, or with zeros. Where the broker is not the fleet's own,
        `accounts` has one for the server, and `trusted` is the text of the file that the setting
        `authority` names.
        """
        folder = Path(folder)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise FileError(f"{folder} is not an empty folder: choose another")
        make_folder(folder.parent)
        try:
            place = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))  # 0700
        except OSError as error:
            raise FileError(f"{folder} cannot be made: {error.strerror}") from None
        try:
            Store.create(place, manifest, w).close()
            (place / STORE).chmod(0o600)  # SQLite gives its other files the same rights
            for name in (DEVICES, mosquitto.FOLDER):
                (place / name).mkdir(mode=0o700)
            settings.save(place)
            if settings.authority:
                write_text(place / settings.authority, trusted)
            cls(place, accounts).rotate_server(home=folder)
            _rename(place, folder)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        return cls(folder)

    # Members of the fleet

    def add(self, labels: Iterable[str]) -> Iterator[Path]:
        """Add devices.

        Yield the file to put on each. The broker is told of all of them in the end.
        """
        labels = list(labels)
        _require_labels(labels)
        make_folder(self.folder / DEVICES)
        with self.store() as store:
            self._require_accounts(store, labels)
            try:
                for device, label in zip(store.add_all(labels), labels, strict=True):
                    yield self._equip(store, device, label)[0]
            finally:
                self._tell_broker(store)

    def add_gateway(self, label: str, places: int) -> Path:
        """Add a gateway that speaks for `places` devices, or let one speak for so many more.

        Returns the file to put on the gateway; an earlier file of the gateway is no longer good.
        """
        make_folder(self.folder / DEVICES)
        with self.store() as store:
            known = [m for m in store.members() if m.label == label and not m.removed]
            if known and not known[0].is_gateway:
                raise InputError(f"{label!r} is a device: choose another name for the gateway")
            taken = sum(m.gateway == known[0].device for m in store.members()) if known else 1
            names = [f"{label}/{number}" for number in range(taken, taken + places)]
            _require_labels([label, *names])
            self._require_accounts(store, [label])
            if known:
                gateway = store.add_spoken(names, known[0].device)
            else:
                gateway = store.add_spoken([label, *names])
            path, credential = self._equip(store, gateway, label)
            if self._tell_broker(store) and known and credential.certificate is not None:
                take_over(credential)
        return path

    def require(self, labels: Iterable[str]) -> None:
        """Refuse labels that nobody in the fleet has, before anything is done."""
        with self.store() as store:
            for label in labels:
                store.member(label)

    def rotate(self, label: str) -> Path:
        """Give a device a new credential and return its file; the old one is no longer good."""
        with self.store() as store:
            member = store.member(label)
            if member.is_spoken_for:
                (speaker,) = (m.label for m in store.members() if m.device == member.gateway)
                raise InputError(
                    f"{label!r} has no file of its own: the gateway {speaker!r} speaks for it"
                )
            self._require_accounts(store, [label])
            path, credential = self._equip(store, member.device, label)
            if self._tell_broker(store) and credential.certificate is not None:
                # Ends an open connection, since a broker checks certificates only when one begins.
                take_over(credential)
        return path

    def rotate_all(self, until: float | None = None) -> Iterator[Path]:
        """Give every device a new credential; yield the file to put on each.

        The old credentials are good until `until`, in seconds since 1970; with None, no longer.
        """
        security, issued = self.settings.security, []
        if until is not None and security != "certificate":
            raise InputError(
                f"with security {security!r}, old files cannot be good beside new ones: only a "
                f"certificate can be valid beside another of its name; leave the date out"
            )
        make_folder(self.folder / DEVICES)
        with self.store() as store:
            present = [m for m in store.members() if not (m.removed or m.is_spoken_for)]
            self._require_accounts(store, [member.label for member in present])
            try:
                for member in present:
                    path, credential = self._equip(store, member.device, member.label, until)
                    issued.append(credential)
                    yield path
            finally:
                told = self._tell_broker(store)
            if told and until is None and security == "certificate":
                end_connections(issued)

    def revoke_due(self, store: Store, now: float) -> list[Credential]:
        """Revoke credentials whose time is over; return credentials that end their connections.

        Such connections may still be open, since a broker checks certificates only when one begins.
        """
        due = store.due(now)
        enders = []
        if due and self.settings.security == "certificate":
            labels = {member.device: member.label for member in store.members()}
            for device in sorted({found.device for found in due} - {NOBODY}):
                credential, number = self._issue(store, str(device), labels[device])
                store.lend(number, now + _LENT)
                enders.append(credential)
        if due:
            store.expire(now)
            self._tell_broker(store)
        return enders

    def remove(self, label: str) -> None:
        """Let a device, or a gateway with its devices, leave for good; server and broker forget it.

        A device of a gateway needs nothing else: the gateway keeps its connection, and loses one
        right.
        """
        with self.store() as store:
            member = store.member(label)
            for voice in store.voices(member.device):
                store.remove(voice.device)
            self._file(member.device, label).unlink(missing_ok=True)
            own = self.settings.security == "certificate" and not member.is_spoken_for
            if self._tell_broker(store) and own:
                credential, number = self._issue(store, str(member.device), label)
                take_over(credential)
                store.revoke(number)
                self._tell_broker(store)

    def quarantine(self, label: str, *, on: bool = True) -> None:
        """Let server and broker refuse what a device sends or, with `on` False, accept it again."""
        with self.store() as store:
            self.set_quarantine(store, store.member(label).device, on=on)

    def set_quarantine(self, store: Store, device: int, *, on: bool) -> None:
        """Do as `quarantine` for an index, in a store that is open.

        For a gateway, the same is done with all its devices.
        """
        for voice in store.voices(device):
            store.quarantine(voice.device, on=on)
        self._tell_broker(store)

    def reconcile(self, store: Store, forgotten: Callable[[str], None]) -> bool:
        """Let store and broker agree again on who is refused.

        `forgotten` is told the labels affected.

        A store that was restored from a copy may have forgotten a quarantine, a removal or a
        rotation of which the broker's files still know. Whoever is refused by either of them is
        refused. The file of an earlier paofed may lack a right. Returns whether the broker knows
        all of this.
        """
        if self.settings.security in ("none", "external"):
            return True
        denied = mosquitto.denied(self.folder, self.topics)
        numbers = self._revoked_at_broker()
        for member in store.members():
            if member.device in denied and not (member.removed or member.quarantined):
                store.quarantine(member.device)
                forgotten(member.label)
        for number in numbers.difference(store.revoked()):
            store.revoke(number)
        current = mosquitto.has_access(self.folder, self.topics, store.members())
        # Only if need be: the signal would end a broker that is just starting.
        agree = current and numbers == self._numbers(store)
        return agree or self._tell_broker(store)

    def make_room(self, manifest: Manifest) -> bool:
        """Let the broker's settings allow a manifest that has grown; return whether they changed.

        The broker reads this setting only when it starts.
        """
        return mosquitto.make_room(self.folder, manifest)

    def rotate_server(self, home: Path | None = None) -> None:
        """Give broker and server new credentials, and write the broker's settings anew.

        `home` is where the folder will be, if not where it is.
        """
        place, security = self.folder / mosquitto.FOLDER, self.settings.security
        with self.store() as store:
            self._require_accounts(store, [SERVER])
            if security not in ("none", "external"):
                if not (self.folder / AUTHORITY).exists() and not (place / AUTHORITY).exists():
                    # The fleet is new, or had no authority until now; a lost authority is an error.
                    self._new_authority()
                authority = self._authority()
                hosts = dict.fromkeys((self.settings.host, "localhost", mosquitto.LOCAL))
                issued = authority.issue("broker", years=VALID, hosts=list(hosts))
                write_text(place / AUTHORITY, authority.certificate)
                write_text(place / "certificate.pem", issued.certificate)
                write_secret(place / "key.pem", issued.key)
            server, mark = self._issue(store, SERVER, SERVER)
            store.serve_as(mark)
            server.save(self.folder / SERVER_FILE)
            if security != "external":
                home, manifest = home or self.folder, store.manifest()
                mosquitto.write_configuration(self.folder, home, self.settings, manifest)
            self._tell_broker(store)


def _require_labels(labels: list[str]) -> None:
    """Refuse labels that cannot be names, and labels that are given twice."""
    for label in labels:
        if not label.strip() or not label.isprintable() or len(label) > _LONGEST_LABEL:
            raise InputError(
                f"the label {label!r} is no name: expected at most {_LONGEST_LABEL} characters "
                f"of printable text"
            )
    for label, times in Counter(labels).items():
        if times > 1:
            raise InputError(f"the label {label!r} is given twice")


def _rename(place: Path, folder: Path) -> None:
    try:
        place.replace(folder)
    except OSError as error:  # the folder is a link, say, or the current folder
        raise FileError(f"{folder} cannot be made: {error.strerror}") from None
