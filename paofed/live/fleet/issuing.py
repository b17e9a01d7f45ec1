"""Credentials of a fleet's folder: how they are made, and how the broker is told of them."""

import re
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from paofed.errors import InputError
from paofed.files import read_text, write_text
from paofed.live.fleet import mosquitto
from paofed.live.fleet.accounts import BrokerAccount, account_of, mark_of
from paofed.live.fleet.settings import Settings
from paofed.live.journal.store import Store
from paofed.live.network.credential import SYSTEM, Credential
from paofed.live.network.topics import SERVER, Topics

if TYPE_CHECKING:  # imported where it is used: it needs cryptography
    from paofed.live.fleet.authority import Authority

AUTHORITY = "authority.pem"
SERVER_FILE = "server.json"
DEVICES = "devices"
REVOKED = "revoked.pem"
VALID = 10.0  # years that a certificate is good for, unless it is rotated or revoked


class Issuing:
    """A fleet's folder: its settings, its store, and its authority."""

    def __init__(
        self, folder: str | Path, accounts: Mapping[str, BrokerAccount] | None = None
    ) -> None:
        """Open the folder of a fleet that was created.

        `accounts` holds, by label, the accounts that a company gave to those who get credentials,
        where the broker is not the fleet's own.
        """
        self.folder = Path(folder)
        self.settings = settings = Settings.load(self.folder)
        self.topics = Topics(settings.name, full=settings.users == "full", prefix=settings.prefix)
        self.accounts = accounts or {}
        self.told = True  # whether the broker was told of the last change

    def store(self) -> closing[Store]:
        """Open the fleet's store; it is closed when the block ends."""
        return closing(Store.open(self.folder))

    def credential(self) -> Credential:
        """Return the server's own credential."""
        return Credential.load(self.folder / SERVER_FILE)

    def _equip(
        self, store: Store, device: int, label: str, until: float | None = None
    ) -> tuple[Path, Credential]:
        """Issue a credential; the store knows the credential before the device does.

        A gateway's credential says for which devices it speaks.
        """
        credential, mark = self._issue(store, str(device), label)
        others = tuple(m.device for m in store.voices(device) if m.is_spoken_for)
        credential = replace(credential, devices=others or None)
        store.reissue(device, mark, until)
        path = self._file(device, label)
        credential.save(path)
        return path, credential

    def _issue(self, store: Store, who: str, label: str) -> tuple[Credential, str]:
        """Return a credential, and the text by which the broker will know it."""
        settings, name = self.settings, self.topics.user(who)
        plain = Credential(
            fleet=settings.name,
            since=store.manifest().start,
            name=name,
            label=label,
            host=settings.host,
            port=settings.port,
            prefix=settings.prefix or None,
        )
        if settings.security == "none":
            return plain, ""
        if settings.security == "external":
            account = account_of(self.accounts, label)
            given = {"account": account.user, "password": account.password}
            trusted = self._trusted()
            return Credential(**{**vars(plain), **given, "authority": trusted}), mark_of(account)
        authority = self._authority()
        known = {**vars(plain), "authority": authority.certificate}
        if settings.security == "password":
            password = mosquitto.new_password()
            return Credential(**{**known, "password": password}), mosquitto.hashed(password)
        issued = authority.issue(name, years=VALID)
        proof = {"certificate": issued.certificate, "key": issued.key}
        return Credential(**{**known, **proof}), issued.number

    def _require_accounts(self, store: Store, labels: Iterable[str]) -> None:
        """Refuse labels without an account, or with somebody else's, before anything is done.

        A broker cannot tell apart two members that log in under one name.
        """
        if self.settings.security != "external":
            return
        used = {m.credential: m.label for m in store.members() if not m.removed}
        used[store.server()] = SERVER
        for label in labels:
            account = account_of(self.accounts, label)
            other = used.get(mark_of(account), label)
            if other != label:
                raise InputError(
                    f"the user {account.user!r} of {label!r} is that of {other!r} already: each "
                    f"needs one of its own, since the broker tells who is who by it"
                )

    def _tell_broker(self, store: Store) -> bool:
        """Write what the broker must know of the fleet's members.

        Return whether it could be told.
        """
        security, members = self.settings.security, store.members()
        store.expire(time.time())
        if security in ("none", "external"):
            # A broker without security asks nobody who they are, and a company's broker is not ours
            # to tell.
            self.told = security == "none"
            return self.told
        mosquitto.write_access(self.folder, self.topics, members)
        try:
            if security == "password":
                mosquitto.write_passwords(self.folder, self.topics, store.server(), members)
            else:
                revoked = self._authority().revocations(sorted(self._numbers(store)))
                write_text(self.folder / mosquitto.FOLDER / REVOKED, revoked)
        finally:  # the rights hold, even if the authority is kept elsewhere
            self.told = mosquitto.reload(self.folder)
        return self.told

    def _numbers(self, store: Store) -> set[str]:
        """Return the serial numbers of revoked certificates."""
        if self.settings.security != "certificate":
            return set()
        return {mark for mark in store.revoked() if re.fullmatch("[0-9a-f]+", mark)}

    def _revoked_at_broker(self) -> set[str]:
        """Return the serial numbers that the broker knows to be revoked."""
        path = self.folder / mosquitto.FOLDER / REVOKED
        if self.settings.security != "certificate" or not path.is_file():
            return set()
        from paofed.live.fleet.authority import revoked_numbers

        return revoked_numbers(read_text(path))

    def _trusted(self) -> str:
        """Return the certificates of the authority of a broker that is not the fleet's own."""
        name = self.settings.authority
        if not name:
            return SYSTEM
        from paofed.live.fleet.authority import trusted_text

        return trusted_text(self.folder / name)

    def _new_authority(self) -> None:
        """Make the fleet's authority, and its file."""
        from paofed.live.fleet.authority import Authority

        Authority.create(self.settings.name).save(self.folder / AUTHORITY)

    def _authority(self) -> "Authority":
        from paofed.live.fleet.authority import Authority

        return Authority.load(self.folder / AUTHORITY)

    def _file(self, device: int, label: str) -> Path:
        words = re.sub(r"[^\w.-]+", "-", label).strip("-.")[:40]
        return self.folder / DEVICES / f"{device}-{words or 'device'}.json"
