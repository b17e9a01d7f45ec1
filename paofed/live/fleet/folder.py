"""A fleet's folder: who is in the fleet, the proof each of them holds, what the broker knows.

fleet.toml       settings, for people to edit
fleet.sqlite     manifest, devices, journal, snapshots (paofed.live.journal.store), and beside it
                 how much of it was confirmed (paofed.live.journal.confirmation)
authority.pem    the key that certifies; keep a copy in a safe place
server.json      the server's own credential
tokens.json      who may ask the server over HTTP, if that is not everybody
                 (paofed.live.fleet.tokens)
methods/         the file of a method of one's own, if the fleet follows one
                 (paofed.live.fleet.methods)
devices/         a file for each device, to be moved onto the device
broker/          what mosquitto reads; made from the rest
"""

import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self, TypeVar

from paofed.core.arrays import FloatArray
from paofed.errors import FileError, InputError
from paofed.files import make_folder, write_secret, write_text
from paofed.live.fleet import mosquitto
from paofed.live.fleet.accounts import BrokerAccount
from paofed.live.fleet.issuing import (
    AUTHORITY,
    DEVICES,
    SERVER_FILE,
    VALID,
    Issuing,
    revoked_at_broker,
)
from paofed.live.fleet.methods import keep_method
from paofed.live.fleet.settings import Settings
from paofed.live.journal.credentials import NOBODY
from paofed.live.journal.database import FILE as STORE
from paofed.live.journal.store import Store
from paofed.live.network.credential import Credential
from paofed.live.network.ending import end_connections, take_over
from paofed.live.network.topics import SERVER
from paofed.live.protocol.manifest import Manifest

T = TypeVar("T")
_LONGEST_LABEL = 64
_GROUP = 100  # devices that get their credentials in one transaction
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
            keep_method(place, manifest)
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

    def add(self, labels: Iterable[str]) -> Generator[Path]:
        """Add devices; yield the file to put on each.

        Devices are added in groups, in their order. Ctrl-C takes effect between two groups, so that
        every device that was added has its file, and that file was yielded. The broker is told of
        all of them in the end.
        """
        labels = list(labels)
        _require_labels(labels)
        make_folder(self.folder / DEVICES)
        with self.store() as store:
            self._require_accounts(store, labels)
            store.roster.require_new(*labels)
            try:
                for group in _groups(labels):
                    with _uninterrupted():
                        yield from self._enrol(store, group)
            finally:
                self._tell_broker(store)

    def add_gateway(self, label: str, places: int) -> Path:
        """Add a gateway that speaks for `places` devices, or let one speak for so many more.

        Returns the file to put on the gateway; an earlier file of the gateway is no longer good.
        """
        make_folder(self.folder / DEVICES)
        with self.store() as store:
            known = store.roster.find(label)
            if known is not None and not known.is_gateway:
                raise InputError(f"{label!r} is a device: choose another name for the gateway")
            index = known and known.device
            taken = 1 if index is None else len(store.roster.spoken_for(index))
            names = [f"{label}/{number}" for number in range(taken, taken + places)]
            _require_labels([label, *names])
            self._require_accounts(store, [label])
            gateway = store.roster.add_spoken(names if known else [label, *names], index)
            ((path, credential),) = self._equip(store, [gateway]).items()
            if self._tell_broker(store) and known and credential.certificate is not None:
                take_over(credential)
        return path

    def require(self, labels: Iterable[str]) -> None:
        """Refuse labels that nobody in the fleet has, before anything is done."""
        with self.store() as store:
            for label in labels:
                store.roster.member(label)

    def rotate(self, label: str) -> Path:
        """Give a device a new credential and return its file; the old one is no longer good."""
        with self.store() as store:
            member = store.roster.member(label)
            if member.gateway is not None and member.is_spoken_for:
                speaker = store.roster.at(member.gateway).label
                raise InputError(
                    f"{label!r} has no file of its own: the gateway {speaker!r} speaks for it"
                )
            self._require_accounts(store, [label])
            ((path, credential),) = self._equip(store, [member.device]).items()
            if self._tell_broker(store) and credential.certificate is not None:
                # Ends an open connection, since a broker checks certificates only when one begins.
                take_over(credential)
        return path

    def rotate_all(self, until: float | None = None) -> Generator[Path]:
        """Give every device a new credential; yield the file to put on each.

        Ctrl-C takes effect between two groups of devices, as with `add`. The old credentials are
        good until `until`, in seconds since 1970; with None, no longer.
        """
        security, issued = self.settings.security, list[Credential]()
        if until is not None and security != "certificate":
            raise InputError(
                f"with security {security!r}, old files cannot be good beside new ones: only a "
                f"certificate can be valid beside another of its name; leave the date out"
            )
        make_folder(self.folder / DEVICES)
        with self.store() as store:
            present = [m for m in store.roster.members() if not (m.removed or m.is_spoken_for)]
            self._require_accounts(store, [member.label for member in present])
            try:
                for group in _groups(present):
                    with _uninterrupted():
                        equipped = self._equip(store, [member.device for member in group], until)
                        issued.extend(equipped.values())
                        yield from equipped
            finally:
                told = self._tell_broker(store)
            if told and until is None and security == "certificate":
                end_connections(issued)

    def revoke_due(self, store: Store, now: float) -> list[Credential]:
        """Revoke credentials whose time is over; return credentials that end their connections.

        Such connections may still be open, since a broker checks certificates only when one begins.
        """
        due = store.credentials.due(now)
        enders: list[Credential] = []
        if due and self.settings.security == "certificate":
            issue = self._issuer(store)
            devices = sorted({found.device for found in due} - {NOBODY})
            issued = [issue(str(device), store.roster.at(device).label) for device in devices]
            store.credentials.lend((number for _, number in issued), now + _LENT)
            enders = [credential for credential, _ in issued]
        if due:
            store.credentials.expire(now)
            self._tell_broker(store)
        return enders

    def remove(self, label: str) -> None:
        """Let a device, or a gateway with its devices, leave for good; server and broker forget it.

        A device of a gateway needs nothing else: the gateway keeps its connection, and loses one
        right.
        """
        with self.store() as store:
            member = store.roster.member(label)
            for voice in store.roster.voices(member.device):
                store.roster.remove(voice.device)
            self._file(member.device, label).unlink(missing_ok=True)
            own = self.settings.security == "certificate" and not member.is_spoken_for
            if self._tell_broker(store) and own:
                credential, number = self._issuer(store)(str(member.device), label)
                take_over(credential)
                store.credentials.revoke(number)
                self._tell_broker(store)

    def quarantine(self, label: str, *, on: bool = True) -> None:
        """Let server and broker refuse what a device sends or, with `on` False, accept it again."""
        with self.store() as store:
            self.set_quarantine(store, store.roster.member(label).device, on=on)

    def set_quarantine(self, store: Store, device: int, *, on: bool) -> None:
        """Do as `quarantine` for an index, in a store that is open.

        For a gateway, the same is done with all its devices.
        """
        for voice in store.roster.voices(device):
            store.roster.quarantine(voice.device, on=on)
        self._tell_broker(store)

    def reconcile(self, store: Store, forgotten: Callable[[str], None]) -> bool:
        """Let store and broker agree again on who is refused.

        `forgotten` is told the labels affected.

        A store that was restored from a copy may have forgotten a quarantine, a removal or a
        rotation of which the broker's files still know. Whoever is refused by either of them is
        refused. Returns whether the broker knows all of this.
        """
        if self.settings.security in ("none", "external"):
            return True
        denied = mosquitto.denied(self.folder, self.topics)
        for member in store.roster.members():
            if member.device in denied and not (member.removed or member.quarantined):
                store.roster.quarantine(member.device)
                forgotten(member.label)
        self._keep_revoked(store)
        current = mosquitto.has_access(self.folder, self.topics, store.roster.members())
        agree = current and revoked_at_broker(self.folder) >= self._numbers(store)
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
            self._require_accounts(store, [SERVER], devices=False)
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
            server, mark = self._issuer(store)(SERVER, SERVER)
            store.credentials.serve_as(mark)
            server.save(self.folder / SERVER_FILE)
            if security != "external":
                home, manifest = home or self.folder, store.epochs.manifest()
                mosquitto.write_configuration(self.folder, home, self.settings, manifest)
            self._tell_broker(store)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C, and a polite end of the process, wait until the block ends.

    A mask of signals would not do: another thread of the process would take the signal.
    """
    came: list[int] = []
    before = {}
    with suppress(ValueError):  # fails outside the main thread, where no signals arrive
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for late in came[:1]:
            signal.raise_signal(late)


def _groups(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield items in groups, each small enough to be worked on in a second or so."""
    return (items[first : first + _GROUP] for first in range(0, len(items), _GROUP))


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
