"""The one file that goes onto a device: where the broker is, and how to prove who one is."""

import json
import ssl
import tempfile
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from paofed.errors import FileError, unknown
from paofed.files import read_text, write_secret
from paofed.live.network.topics import SERVER, Topics, is_index

SYSTEM = "system"  # stands for the authorities that the system trusts


@dataclass(frozen=True, kw_only=True)
class Credential:
    """What a client of the broker needs; its secrets are never shown."""

    fleet: str  # the first part of every topic after the prefix
    since: float  # when the fleet began, which tells it from another fleet of the same name
    name: str  # the name at the broker: see paofed.live.network.topics
    label: str  # the name that people use
    host: str
    port: int
    authority: str | None = None  # PEM, or SYSTEM; None: no encryption, on one machine only
    certificate: str | None = None
    key: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    account: str | None = None  # the name at a broker that is not the fleet's own
    prefix: str | None = None  # what stands before all topics
    devices: tuple[int, ...] | None = None  # for a gateway: the devices for whom it speaks

    @property
    def topics(self) -> Topics:
        """The fleet's topics, with full or short names as `name` is."""
        return Topics(self.fleet, full="/" in self.name, prefix=self.prefix or "")

    @property
    def who(self) -> str:
        """The name within the fleet: a device's index, or the server's."""
        return self.name.rpartition("/")[2]

    @property
    def device(self) -> int:
        """The index of the device."""
        return int(self.who)

    @property
    def user(self) -> str | None:
        """The name to give to the broker, where it asks for one."""
        return None if self.authority is None else self.account or self.name

    @property
    def client_id(self) -> str:
        """The connection's name.

        A careful broker uses the user's name instead, which it has checked.
        """
        return f"{self.topics.root.replace('/', '-')}-{self.who}"

    def speaking_for(self, device: int) -> Self:
        """Return the credential of one of the devices for whom this gateway's credential speaks."""
        name = self.topics.user(device)
        return replace(self, name=name, label=f"{self.label}'s device {device}", devices=None)

    def save(self, path: Path) -> None:
        """Write the file so that its owner alone may read it."""
        values = asdict(self)
        for name in _SELDOM:
            if values[name] is None:
                del values[name]
        write_secret(path, json.dumps(values, indent=1) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read the file; an error about it never shows what it holds."""
        path = Path(path)
        remedy = "expected the file that `paofed fleet add` or `paofed fleet rotate` wrote"
        try:
            values: Any = json.loads(read_text(path))
        except FileError:
            raise
        except (ValueError, RecursionError):
            raise FileError(f"{path} is not JSON: {remedy}") from None
        known = [f.name for f in fields(cls)]
        if not isinstance(values, dict):
            raise FileError(f"{path} is no device's file: {remedy}")
        for key in values:
            if key not in known:
                raise FileError(f"{path}: {unknown('entry', key, known)}: upgrade paofed")
        for name in known:
            _require_entry(path, name, values.get(name), remedy)
        if values.get("devices") is not None:
            values["devices"] = tuple(values["devices"])
        credential = cls(**values)
        who, topics = credential.who, credential.topics
        if credential.name != topics.user(who) or not (who == SERVER or is_index(who)):
            raise FileError(f"{path} names neither a device's index nor {SERVER!r}: {remedy}")
        return credential

    def tls(self) -> ssl.SSLContext | None:
        """Return the TLS settings: TLS 1.3, trusting the fleet's own authority alone.

        A broker that is not the fleet's own may be older (TLS 1.2), or certified by an authority
        that the system knows.
        """
        if self.authority is None:
            return None
        try:
            trusted = None if self.authority == SYSTEM else self.authority
            context = ssl.create_default_context(cadata=trusted)
            oldest = ssl.TLSVersion.TLSv1_2 if self.account else ssl.TLSVersion.TLSv1_3
            context.minimum_version = oldest
            if self.certificate is not None and self.key is not None:
                # The library loads certificates from files alone; this file is gone when the block
                # ends.
                with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:  # mode 0600
                    file.write(self.key + self.certificate)
                    file.flush()
                    context.load_cert_chain(file.name)
        except (ssl.SSLError, ValueError, TypeError):
            raise FileError(
                f"the certificate of {self.label!r} cannot be used: `paofed fleet rotate` writes "
                f"a new file"
            ) from None
        except OSError as error:
            raise FileError(
                f"the certificate of {self.label!r} has to pass through a temporary file, which "
                f"cannot be written: {error.strerror}"
            ) from None
        return context


_SELDOM = ("account", "prefix", "devices")  # entries that most files lack
_OPTIONAL = ("authority", "certificate", "key", "password", *_SELDOM)


def _require_entry(path: Path, name: str, value: object, remedy: str) -> None:
    if value is None and name in _OPTIONAL:
        return
    # No text may be empty: with an empty authority, a client would trust the whole world's.
    right = isinstance(value, str) and value != ""
    if name == "port":
        right = type(value) is int and 0 < value < 2**16
    if name == "since":
        right = type(value) in (int, float)
    if name == "devices":
        right = isinstance(value, list) and all(type(k) is int and k >= 0 for k in value)
    if not right:
        raise FileError(f"{path} has no usable {name!r}: {remedy}")
