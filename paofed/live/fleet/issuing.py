"""Credentials of a fleet's folder: how they are made, and how the broker is told of them."""

import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paofed.errors import InputError
from paofed.files import read_text, write_text
from paofed.live.fleet import mosquitto
from paofed.live.fleet.accounts import BrokerAccount, account_of, mark_of
from paofed.live.fleet.kept_methods import opened
from paofed.live.fleet.settings import Settings
from paofed.live.journal.roster import Issue
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


def revoked_at_broker(folder: Path) -> set[str]:
    """Return the serial numbers of certificates that the broker of a fleet's folder refuses."""
    path = folder / mosquitto.FOLDER / REVOKED
    if not path.is_file():
        return set()
    from paofed.live.fleet.authority import revoked_numbers

    return revoked_numbers(read_text(path))


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
        return opened(self.folder)

    def credential(self) -> Credential:
        """Return the server's own credential."""
        return Credential.load(self.folder / SERVER_FILE)

    def _enrol(self, store: Store, labels: Iterable[str]) -> list[Path]:
        """Add devices, all or none; return their files."""
        issued: dict[int, Credential] = {}
        store.roster.add_all(labels, self._issue_into(issued, store))
        return self._saved(issued)

    def _equip(
        self, store: Store, devices: Iterable[int], until: float | None = None
    ) -> dict[Path, Credential]:
        """Give members new credentials, all or none; return their files and what these hold.

        A gateway's credential says for which devices it speaks.
        """
        issued: dict[int, Credential] = {}
        store.roster.reissue_all(devices, self._issue_into(issued, store), until)
        members = [member for member in store.roster.members() if not member.removed]
        for gateway in {member.device for member in members if member.is_gateway} & issued.keys():
            spoken = (m.device for m in members if m.gateway == gateway and m.is_spoken_for)
            issued[gateway] = replace(issued[gateway], devices=tuple(spoken) or None)
        return dict(zip(self._saved(issued), issued.values(), strict=True))

    def _saved(self, issued: Mapping[int, Credential]) -> list[Path]:
        """Write the files of devices.

        This comes last: the store knows a credential before anybody has it.
        """
        files = {self._file(device, held.label): held for device, held in issued.items()}
        for path, credential in files.items():
            credential.save(path)
        return list(files)

    def _issue_into(self, issued: dict[int, Credential], store: Store) -> Issue:
        """Return what issues a credential to a device and puts the credential into `issued`."""
        issue = self._issuer(store)

        def keep(device: int, label: str) -> str:
            issued[device], mark = issue(str(device), label)
            return mark

        return keep

    def _issuer(self, store: Store) -> Callable[[str, str], tuple[Credential, str]]:
        """Return what issues a credential, for a name and a label.

        It returns beside the credential the text by which the broker will know it.
        """
        settings, since, prove = self.settings, store.epochs.manifest().start, self._prover()

        def issue(who: str, label: str) -> tuple[Credential, str]:
            name = self.topics.user(who)
            proof, mark = prove(name, label)
            credential = Credential(
                fleet=settings.name,
                since=since,
                name=name,
                label=label,
                host=settings.host,
                port=settings.port,
                prefix=settings.prefix or None,
                **proof,
            )
            return credential, mark

        return issue

    def _prover(self) -> Callable[[str, str], tuple[dict[str, Any], str]]:
        """Return what makes the secret part of a credential, for a name at the broker and a label.

        It returns beside that part the text by which the broker will know it.
        """
        security = self.settings.security
        if security == "none":
            return lambda *_: ({}, "")
        if security == "external":
            trusted = {"authority": self._trusted()}

            def given(_: str, label: str) -> tuple[dict[str, Any], str]:
                account = account_of(self.accounts, label)
                secret = {"account": account.user, "password": account.password}
                return trusted | secret, mark_of(account)

            return given
        authority = self._authority()
        trusted = {"authority": authority.certificate}

        def agreed(*_: str) -> tuple[dict[str, Any], str]:
            password = mosquitto.new_password()
            return trusted | {"password": password}, mosquitto.hashed(password)

        def certified(name: str, _: str) -> tuple[dict[str, Any], str]:
            issued = authority.issue(name, years=VALID)
            proof = {"certificate": issued.certificate, "key": issued.key}
            return trusted | proof, issued.number

        return agreed if security == "password" else certified

    def _require_accounts(
        self, store: Store, labels: Collection[str], *, devices: bool = True
    ) -> None:
        """Refuse labels without an account, or with somebody else's, before anything is done.

        A broker cannot tell apart two members that log in under one name. The labels are those of
        devices, or else the server's.
        """
        if self.settings.security != "external":
            return
        if devices and SERVER in labels:
            raise InputError(
                f"no device can be called {SERVER!r} here: with a broker that is not the fleet's "
                f"own, this label stands for the server's account; choose another name"
            )
        used = {m.credential: m.label for m in store.roster.members() if not m.removed}
        used[store.credentials.server()] = SERVER
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
        security, members = self.settings.security, store.roster.members()
        store.credentials.expire(time.time())
        self._keep_revoked(store)
        if security in ("none", "external"):
            # A broker without security asks nobody who they are, and a company's broker is not ours
            # to tell.
            self.told = security == "none"
            return self.told
        mosquitto.write_access(self.folder, self.topics, members)
        try:
            if security == "password":
                server = store.credentials.server()
                mosquitto.write_passwords(self.folder, self.topics, server, members)
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
        from paofed.live.fleet.authority import is_number

        return set(filter(is_number, store.credentials.revoked()))

    def _keep_revoked(self, store: Store) -> None:
        """Let the store know what the broker knows to be revoked: nothing ever is good again.

        The store may be a copy from before a revocation, or may have lost rows.
        """
        if self.settings.security == "certificate":
            store.credentials.revoke(
                *revoked_at_broker(self.folder).difference(store.credentials.revoked())
            )

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
