"""Where telemetry comes from: a broker that others run, and the login there."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from paofed.errors import FileError, InputError, shown

_FILES = ("authority", "certificate", "key")


@dataclass(frozen=True, kw_only=True)
class TelemetryLogin:
    """A login (paofed.live.network.transport) at any broker."""

    host: str = "localhost"
    port: int = 1883
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    encrypted: bool = False  # trusts the authorities of this machine, unless `authority` names one
    authority: str | None = None  # these three are names of files
    certificate: str | None = None
    key: str | None = None
    client_id: str = ""  # "": the broker chooses one

    @property
    def name(self) -> str:
        """The user or client name."""
        return self.user or self.client_id or "gateway"

    @classmethod
    def of(cls, values: Mapping[str, Any], folder: Path) -> Self:
        """Make a login from what people wrote; file names are relative to `folder`."""
        kinds = {"port": int, "encrypted": bool}
        for key, value in values.items():
            if type(value) is not kinds.get(key, str):
                got = "no text" if key == "password" else shown(value)  # a secret is never shown
                raise InputError(
                    f"telemetry.{key} is {got}: expected a value of type "
                    f"{kinds.get(key, str).__name__}"
                )
        found: dict[str, Any] = {
            k: str(folder / v) if k in _FILES else v for k, v in values.items()
        }
        login = cls(**found)
        if not 0 < login.port < 2**16:
            raise InputError(f"telemetry.port is {login.port}: expected 1 to 65535")
        if (login.certificate is None) != (login.key is None):
            raise InputError("telemetry needs both certificate and key, or neither")
        return login

    def tls(self) -> ssl.SSLContext | None:
        """Return TLS settings, where anything asks for TLS."""
        if not (self.encrypted or self.authority or self.certificate):
            return None
        try:
            context = ssl.create_default_context(cafile=self.authority)
            if self.certificate is not None:
                context.load_cert_chain(self.certificate, self.key)
        except (ssl.SSLError, OSError) as error:
            files = ", ".join(name for name in (self.authority, self.certificate) if name)
            raise FileError(f"{files or 'TLS'} cannot be used: {error.strerror}") from None
        return context
