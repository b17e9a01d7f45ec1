"""A fleet's folder: who is in the fleet, the proof each of them holds, what the broker knows.

fleet.toml       settings, for people to edit
fleet.sqlite     manifest, devices, journal, snapshots (paofed.live.store)
authority.pem    the key that certifies; keep a copy in a safe place
server.json      the server's own credential
devices/         a file for each device, to be moved there
broker/          what mosquitto reads; follows from the rest
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Self

from paofed.errors import InputError
from paofed.files import make_folder, write_secret, write_text
from paofed.live import broker
from paofed.live.authority import Authority
from paofed.live.credential import SERVER, Credential
from paofed.live.manifest import Manifest
from paofed.live.settings import Settings
from paofed.live.store import Store

AUTHORITY = "authority.pem"
SERVER_FILE = "server.json"
DEVICES = "devices"
_VALID = 10.0  # years that a certificate is good for, unless it is rotated or revoked


class Fleet:
    """A fleet's folder, to be managed."""

    def __init__(self, folder: str | Path) -> None:
        """Open the folder of a fleet that was created."""
        self.folder = Path(folder)
        self.settings = Settings.load(self.folder)

    @classmethod
    def create(cls, folder: str | Path, settings: Settings, manifest: Manifest) -> Self:
        """Make a folder with all that a server and a broker need."""
        folder = Path(folder)
        store = Store.create(folder, manifest)
        with closing(store):
            folder.chmod(0o700)
            make_folder(folder / DEVICES)
            make_folder(folder / broker.FOLDER)
            settings.save(folder)
        fleet = cls(folder)
        fleet.rotate_server()
        return fleet

    def store(self) -> closing[Store]:
        """The fleet's store, to be closed in the end."""
        return closing(Store.open(self.folder))

    def credential(self) -> Credential:
        """The server's own."""
        return Credential.load(self.folder / SERVER_FILE)

    # Who is in it

    def add(self, labels: Iterable[str]) -> Iterator[Path]:
        """Add devices; gives the file to put on each. All are told to the broker in the end."""
        with self.store() as store:
            try:
                for label in labels:
                    if not label.strip() or not label.isprintable():
                        raise InputError(f"the label {label!r} is no name: expected printable text")
                    yield self._equip(store, store.add(label), label)
            finally:
                self._tell_broker(store)

    def rotate(self, label: str) -> Path:
        """Give a device a new credential; the old one is good no more."""
        with self.store() as store:
            path = self._equip(store, store.member(label).device, label)
            self._tell_broker(store)
            return path

    def remove(self, label: str) -> bool:
        """Let a device leave for good; whether the broker could be told to forget it."""
        with self.store() as store:
            member = store.member(label)
            store.remove(member.device)
            self._file(member.device, label).unlink(missing_ok=True)
            return self._tell_broker(store)

    def quarantine(self, label: str, *, on: bool = True) -> None:
        """Let the server refuse what a device sends, or no longer."""
        with self.store() as store:
            store.quarantine(store.member(label).device, on=on)

    def rotate_server(self) -> None:
        """Give broker and server new credentials, and write the broker's settings anew."""
        place = self.folder / broker.FOLDER
        with self.store() as store:
            if self.settings.security != "none":
                if not (self.folder / AUTHORITY).exists() and not (place / AUTHORITY).exists():
                    # The fleet is new, or did without until now; one that was lost is an error.
                    Authority.create(self.settings.name).save(self.folder / AUTHORITY)
                authority = self._authority()
                hosts = dict.fromkeys((self.settings.host, "localhost", broker.LOCAL))
                issued = authority.issue("broker", years=_VALID, hosts=list(hosts))
                write_text(place / AUTHORITY, authority.certificate)
                write_text(place / "certificate.pem", issued.certificate)
                write_secret(place / "key.pem", issued.key)
            server, mark = self._issue(SERVER, SERVER)
            store.serve_as(mark)
            server.save(self.folder / SERVER_FILE)
            broker.write_configuration(self.folder, self.settings, store.manifest())
            self._tell_broker(store)

    def _equip(self, store: Store, device: int, label: str) -> Path:
        """Issue a credential; the store knows it before the device does."""
        credential, mark = self._issue(str(device), label)
        store.reissue(device, mark)
        path = self._file(device, label)
        credential.save(path)
        return path

    def _issue(self, name: str, label: str) -> tuple[Credential, str]:
        """A credential, and what the broker will know it by."""
        settings = self.settings
        plain = Credential(
            fleet=settings.name, name=name, label=label, host=settings.host, port=settings.port
        )
        if settings.security == "none":
            return plain, ""
        authority = self._authority()
        known = {**vars(plain), "authority": authority.certificate}
        if settings.security == "password":
            password = broker.new_password()
            return Credential(**{**known, "password": password}), broker.hashed(password)
        issued = authority.issue(name, years=_VALID)
        proof = {"certificate": issued.certificate, "key": issued.key}
        return Credential(**{**known, **proof}), issued.number

    def _tell_broker(self, store: Store) -> bool:
        """Write what the broker must know of the fleet's members; whether it could be told."""
        security, members = self.settings.security, store.members()
        if security == "none":
            return False
        broker.write_access(self.folder, self.settings.name, members)
        if security == "password":
            broker.write_passwords(self.folder, store.server(), members)
        else:
            numbers = [mark for mark in store.revoked() if not broker.is_hash(mark)]
            revoked = self._authority().revocations(numbers)
            write_text(self.folder / broker.FOLDER / "revoked.pem", revoked)
        return broker.reload(self.folder)

    def _authority(self) -> Authority:
        return Authority.load(self.folder / AUTHORITY)

    def _file(self, device: int, label: str) -> Path:
        words = re.sub(r"[^\w.-]+", "-", label).strip("-.")[:40]
        return self.folder / DEVICES / f"{device}-{words or 'device'}.json"
