"""A fleet's settings: what people may edit in `fleet.toml`."""

import ipaddress
import math
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, Self, get_args

from paofed.errors import InputError, shown, unknown
from paofed.files import read_text, write_text
from paofed.toml import toml_of

FILE = "fleet.toml"
Security = Literal["certificate", "password", "external", "none"]
Users = Literal["full", "short"]


class SettingsError(InputError):
    """Settings that cannot be followed; the error names their file."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where the broker is, who may speak to it, and where the server shows its health."""

    name: str
    host: str = "localhost"
    port: int = 8883
    security: Security = "certificate"
    users: Users = "full"
    prefix: str = ""
    authority: str = ""
    http: str = "127.0.0.1:9883"
    http_names: str = ""
    snapshot_every: int = 100
    keep_days: int = 30
    budget: int = 0
    validation: str = ""
    validation_limit: float = 0.0

    def __post_init__(self) -> None:
        _check("name", re.fullmatch(r"[A-Za-z0-9_-]{1,32}", self.name), self.name, _NAME)
        _check("host", _is_host(self.host), self.host, "a host name or an address")
        _check("port", 0 < self.port < 2**16, self.port, "1 to 65535")
        for name, kinds in (("security", Security), ("users", Users)):
            value, known = getattr(self, name), get_args(kinds)
            _check(name, value in known, value, ", ".join(known))
        _check("prefix", re.fullmatch(_PREFIX, self.prefix), self.prefix, _BELOW)
        right = self.authority == "" or self.security == "external"
        _check("authority", right, self.authority, '"" unless security is external')
        for name in ("authority", "validation"):
            value = getattr(self, name)
            file = re.fullmatch(r"[\w./ -]*", value, re.ASCII)
            _check(name, file, value, "a file: letters, digits, spaces and . / - _")
        right = self.http == "" or self._http_place() is not None
        _check("http", right, self.http, '"HOST:PORT", or "" for none')
        right = self.http_names == "" or all(map(_is_host, self.http_names.split(" ")))
        _check("http_names", right, self.http_names, "host names with a space between two")
        every, keep = self.snapshot_every, self.keep_days
        _check("snapshot_every", 1 <= every <= _MOST_TICKS, every, f"1 to {_MOST_TICKS:,} ticks")
        _check("keep_days", 0 <= keep <= _MOST_DAYS, keep, f"0 to {_MOST_DAYS:,} days")
        _check("budget", self.budget >= 0, self.budget, "bytes a day, or 0 for no budget")
        limit = self.validation_limit
        _check("validation_limit", 0 <= limit < math.inf, limit, "an error, or 0 for no limit")

    @property
    def keep(self) -> float:
        """How many seconds the journal reaches back."""
        return 86400.0 * self.keep_days

    def validation_file(self, folder: Path) -> Path | None:
        """Return the file of samples by which the server judges its model, if there is one."""
        return folder / self.validation if self.validation else None

    def http_place(self) -> tuple[str, int]:
        """Return host and port of the server's health and metrics."""
        place = self._http_place()
        if place is None:
            raise SettingsError(f"{FILE} shows health nowhere: set http")
        return place

    def _http_place(self) -> tuple[str, int] | None:
        host, _, port = self.http.rpartition(":")
        right = _is_host(host) and re.fullmatch(r"[0-9]{1,5}", port)
        return (host, int(port)) if right and 0 < int(port) < 2**16 else None

    def save(self, folder: Path) -> None:
        """Write the settings, each with a comment."""
        write_text(folder / FILE, _TEXT.format(**{f.name: getattr(self, f.name) for f in _FIELDS}))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read the settings; the error for an unknown key suggests the nearest known one."""
        path = folder / FILE
        if not path.is_file():
            raise SettingsError(f"{folder} holds no fleet: there is no {FILE} in it")
        text = read_text(path)
        try:
            values = toml_of(text)
            if "name" not in values:
                raise SettingsError("there is no name")
            _check_types(values)
            return cls(**values)
        except InputError as error:
            raise SettingsError(f"{path}: {error}") from None


_MOST_TICKS, _MOST_DAYS = 2**32, 10**5  # ticks have 32 bits on the wire
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME = "1 to 32 letters, digits, - or _"
_PREFIX = r"(?=.{0,128}$)(?:[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*)?"
_BELOW = "at most 128 letters, digits, - _ . in parts with / between them"
_FIELDS = fields(Settings)
_TEXT = """\
# Devices carry the first seven in their files, and the broker's files follow from them: after a
# change, `paofed fleet rotate` writes both anew.
name = "{name}"  # begins every topic, so it travels with every message: short is cheap
host = "{host}"  # of the broker, as devices reach it
port = {port}
security = "{security}"  # certificate, password, external (a broker that is not the fleet's own),
                    # or none (no encryption; one machine only)
users = "{users}"  # names at the broker: full (NAME/0), or short (0), which may be another's, too
prefix = "{prefix}"  # stands before all topics: company/site7
authority = "{authority}"  # with external: the file with its broker's authority; "": the system's

http = "{http}"  # where the server shows health and metrics; "" for nowhere
http_names = "{http_names}"  # further names by which it may be asked while there are no tokens
snapshot_every = {snapshot_every}  # ticks
keep_days = {keep_days}  # of the journal: how far the fleet can go back
budget = {budget}  # bytes that a device may cost in a day, as MQTT messages; 0 for no budget
validation = "{validation}"  # file of samples, by which the server judges its model; "" for none
validation_limit = {validation_limit}  # the greatest error on it that is right; 0: no limit
"""


def _is_host(text: str) -> bool:
    if not re.fullmatch(r"[A-Za-z0-9_.:%-]+", text):  # an IPv6 zone (fe80::1%...) may hold anything
        return False
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return len(text) < 254 and re.fullmatch(rf"{_LABEL}(?:\.{_LABEL})*", text) is not None
    return True


def _check_types(values: dict[str, Any]) -> None:
    types = {f.name: f.type for f in _FIELDS}
    for key, value in values.items():
        if key not in types:
            raise SettingsError(unknown("setting", key, types))
        known = types[key]
        expected = known if known in (int, float) else str
        right = type(value) is expected or (expected is float and type(value) is int)
        _check(key, right, value, f"a value of type {expected.__name__}")


def _check(name: str, right: object, got: object, expected: str) -> None:
    if not right:
        raise SettingsError(f"the setting {name} is {shown(got)}: expected {expected}")
