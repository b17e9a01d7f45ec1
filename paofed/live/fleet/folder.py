"""A fleet's folder: who is in the fleet, the proof each of them holds, what the broker knows.

fleet.toml       settings, for people to edit
fleet.sqlite     manifest, devices, journal, snapshots (paofed.live.journal.store), and beside it
                 how much of it was confirmed (paofed.live.journal.confirmed)
authority.pem    the key that certifies; keep a copy in a safe place
server.json      the server's own credential
devices/         a file for each device, to be moved there
broker/          what mosquitto reads; follows from the rest
"""

import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Self

from paofed.core.arrays import FloatArray
from paofed.errors import FileError, InputError
from paofed.files import make_folder, read_text, write_secret, write_text
from paofed.live.fleet import mosquitto
from paofed.live.fleet.authority import Authority, revoked_numbers
from paofed.live.fleet.settings import Settings
from paofed.live.journal.database import FILE as STORE
from paofed.live.journal.store import Store
from paofed.live.network.credential import Credential
from paofed.live.network.mqtt import take_over
from paofed.live.network.topics import SERVER, Topics
from paofed.live.protocol.manifest import Manifest

AUTHORITY = "authority.pem"
SERVER_FILE = "server.json"
DEVICES = "devices"
_REVOKED = "revoked.pem"
_LONGEST_LABEL = 64
_VALID = 10.0  # years that a certificate is good for, unless it is rotated or revoked


class Fleet:
    """A fleet's folder, to be managed."""

    def __init__(self, folder: str | Path) -> None:
        """Open the folder of a fleet that was created."""
        self.folder = Path(folder)
        self.settings = Settings.load(self.folder)
        self.topics = Topics(self.settings.name, full=self.settings.users == "full")
        self.told = True  # whether the broker knows of the last change

    @classmethod
    def create(
        cls,
        folder: str | Path,
        settings: Settings,
        manifest: Manifest,
        w: FloatArray | None = None,
    ) -> Self:
        """Make a folder with all that a server and a broker need, whole or not at all.

        The fleet begins with the model `w`, or with one that knows nothing.
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
            (place / STORE).chmod(0o600)  # as will be what SQLite writes beside it
            for name in (DEVICES, mosquitto.FOLDER):
                (place / name).mkdir(mode=0o700)
            settings.save(place)
            cls(place).rotate_server(home=folder)
            _rename(place, folder)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        return cls(folder)

    def store(self) -> closing[Store]:
        """The fleet's store, to be closed in the end."""
        return closing(Store.open(self.folder))

    def credential(self) -> Credential:
        """The server's own."""
        return Credential.load(self.folder / SERVER_FILE)

    # Who is in it

    def add(self, labels: Iterable[str]) -> Iterator[Path]:
        """Add devices; gives the file to put on each. All are told to the broker in the end."""
        labels = list(labels)
        for label in labels:
            if not label.strip() or not label.isprintable() or len(label) > _LONGEST_LABEL:
                raise InputError(
                    f"the label {label!r} is no name: expected at most {_LONGEST_LABEL} characters "
                    f"of printable text"
                )
        for label, times in Counter(labels).items():
            if times > 1:
                raise InputError(f"the label {label!r} is given twice")
        make_folder(self.folder / DEVICES)
        with self.store() as store:
            try:
                for device, label in zip(store.add_all(labels), labels, strict=True):
                    yield self._equip(store, device, label)[0]
            finally:
                self._tell_broker(store)

    def require(self, labels: Iterable[str]) -> None:
        """Refuse labels that nobody in the fleet has, before anything is done."""
        with self.store() as store:
            for label in labels:
                store.member(label)

    def rotate(self, label: str) -> Path:
        """Give a device a new credential; the old one is good no more."""
        with self.store() as store:
            path, credential = self._equip(store, store.member(label).device, label)
            if self._tell_broker(store) and credential.certificate is not None:
                take_over(credential)  # no certificate is looked at while its connection lasts
        return path

    def remove(self, label: str) -> None:
        """Let a device leave for good; server and broker forget it."""
        with self.store() as store:
            member = store.member(label)
            store.remove(member.device)
            self._file(member.device, label).unlink(missing_ok=True)
            if self._tell_broker(store) and self.settings.security == "certificate":
                credential, number = self._issue(store, str(member.device), label)
                take_over(credential)
                store.revoke(number)
                self._tell_broker(store)

    def quarantine(self, label: str, *, on: bool = True) -> None:
        """Let server and broker refuse what a device sends, or no longer."""
        with self.store() as store:
            self.set_quarantine(store, store.member(label).device, on=on)

    def set_quarantine(self, store: Store, device: int, *, on: bool) -> None:
        """The same for an index, in a store that is open."""
        store.quarantine(device, on=on)
        self._tell_broker(store)

    def reconcile(self, store: Store, forgotten: Callable[[str], None]) -> None:
        """Let store and broker agree again on who is refused; tells the labels of those affected.

        A store that was restored from a copy may have forgotten a quarantine, a removal or a
        rotation of which the broker's files still know. What either of them refuses is refused.
        The file of an earlier paofed may lack a right.
        """
        if self.settings.security == "none":
            return
        denied = mosquitto.denied(self.folder, self.topics)
        numbers = self._revoked_at_broker()
        for member in store.members():
            if member.device in denied and not (member.removed or member.quarantined):
                store.quarantine(member.device)
                forgotten(member.label)
        for number in numbers.difference(store.revoked()):
            store.revoke(number)
        current = mosquitto.has_access(self.folder, self.topics, store.members())
        # Only if need be: a broker that is just starting would be ended by the signal.
        if not current or numbers != self._numbers(store):
            self._tell_broker(store)

    def make_room(self, manifest: Manifest) -> bool:
        """Let the broker's settings allow a manifest that has grown; whether they had to change.

        The broker reads this setting when it starts and not again.
        """
        return mosquitto.make_room(self.folder, manifest)

    def rotate_server(self, home: Path | None = None) -> None:
        """Give broker and server new credentials, and write the broker's settings anew.

        `home` is where the folder will be, if not where it is.
        """
        place = self.folder / mosquitto.FOLDER
        with self.store() as store:
            if self.settings.security != "none":
                if not (self.folder / AUTHORITY).exists() and not (place / AUTHORITY).exists():
                    # The fleet is new, or did without until now; one that was lost is an error.
                    Authority.create(self.settings.name).save(self.folder / AUTHORITY)
                authority = self._authority()
                hosts = dict.fromkeys((self.settings.host, "localhost", mosquitto.LOCAL))
                issued = authority.issue("broker", years=_VALID, hosts=list(hosts))
                write_text(place / AUTHORITY, authority.certificate)
                write_text(place / "certificate.pem", issued.certificate)
                write_secret(place / "key.pem", issued.key)
            server, mark = self._issue(store, SERVER, SERVER)
            store.serve_as(mark)
            server.save(self.folder / SERVER_FILE)
            manifest = store.manifest()
            mosquitto.write_configuration(self.folder, home or self.folder, self.settings, manifest)
            self._tell_broker(store)

    def _equip(self, store: Store, device: int, label: str) -> tuple[Path, Credential]:
        """Issue a credential; the store knows it before the device does."""
        credential, mark = self._issue(store, str(device), label)
        store.reissue(device, mark)
        path = self._file(device, label)
        credential.save(path)
        return path, credential

    def _issue(self, store: Store, who: str, label: str) -> tuple[Credential, str]:
        """A credential, and what the broker will know it by."""
        settings, name = self.settings, self.topics.user(who)
        plain = Credential(
            fleet=settings.name,
            since=store.manifest().start,
            name=name,
            label=label,
            host=settings.host,
            port=settings.port,
        )
        if settings.security == "none":
            return plain, ""
        authority = self._authority()
        known = {**vars(plain), "authority": authority.certificate}
        if settings.security == "password":
            password = mosquitto.new_password()
            return Credential(**{**known, "password": password}), mosquitto.hashed(password)
        issued = authority.issue(name, years=_VALID)
        proof = {"certificate": issued.certificate, "key": issued.key}
        return Credential(**{**known, **proof}), issued.number

    def _tell_broker(self, store: Store) -> bool:
        """Write what the broker must know of the fleet's members; whether it could be told."""
        security, members = self.settings.security, store.members()
        if security == "none":
            self.told = True  # it asks nobody who they are
            return True
        mosquitto.write_access(self.folder, self.topics, members)
        try:
            if security == "password":
                mosquitto.write_passwords(self.folder, self.topics, store.server(), members)
            else:
                revoked = self._authority().revocations(sorted(self._numbers(store)))
                write_text(self.folder / mosquitto.FOLDER / _REVOKED, revoked)
        finally:  # the rights hold, even if the authority is kept elsewhere
            self.told = mosquitto.reload(self.folder)
        return self.told

    def _numbers(self, store: Store) -> set[str]:
        """The certificates that are good no more, where there are any."""
        if self.settings.security != "certificate":
            return set()
        return {mark for mark in store.revoked() if not mosquitto.is_hash(mark)}

    def _revoked_at_broker(self) -> set[str]:
        """The same, as the broker knows them."""
        path = self.folder / mosquitto.FOLDER / _REVOKED
        if self.settings.security != "certificate" or not path.is_file():
            return set()
        return revoked_numbers(read_text(path))

    def _authority(self) -> Authority:
        return Authority.load(self.folder / AUTHORITY)

    def _file(self, device: int, label: str) -> Path:
        words = re.sub(r"[^\w.-]+", "-", label).strip("-.")[:40]
        return self.folder / DEVICES / f"{device}-{words or 'device'}.json"


def _rename(place: Path, folder: Path) -> None:
    try:
        place.replace(folder)
    except OSError as error:  # it is a link, say, or the folder one stands in
        raise FileError(f"{folder} cannot be made: {error.strerror}") from None
