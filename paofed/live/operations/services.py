"""Services of the system (systemd) for a fleet's parts, hardened.

Broker and server run as the owner of the fleet's folder, whose files nobody else may read. Device
and gateway are templates for other machines, where a user `paofed` has a folder for each.
"""

import os
import pwd
import re
import shlex
import shutil
import sys
from importlib.resources import files
from pathlib import Path
from string import Template

from paofed.errors import InputError
from paofed.live.fleet import mosquitto
from paofed.live.fleet.settings import Settings

USER = "paofed"  # the user on machines of devices and gateways
_PLACES = ("/usr/sbin", "/usr/local/sbin")  # where daemons live
_USUAL = "/usr/sbin/mosquitto"  # where mosquitto will be, if it is not installed yet
_HOMES, _TEMPORARY = ("/home", "/root", "/run/user"), ("/tmp", "/var/tmp")  # noqa: S108 (names)
_LEARN = "device run device.json --state state.npz --quiet"
_BIND = "CAP_NET_BIND_SERVICE"
_FIRST_FREE = 1024  # lower ports need a capability


def services(folder: Path, settings: Settings, program: Path | None = None) -> dict[str, str]:
    """Return the services' files by name; `program` is paofed's, if not that which is running."""
    folder = folder.resolve()
    words = [str(program)] if program else [sys.executable, "-m", "paofed"]
    broker, server = (f"paofed-{settings.name}-{part}.service" for part in ("broker", "server"))
    place, paofed = folder / mosquitto.FOLDER, " ".join(map(_word, words))
    owned = {"fleet": settings.name, "user": owner(folder), "folder": _word(folder)}
    own = settings.security != "external"
    brokers = {
        broker: _filled(
            "broker",
            mosquitto=_word(_mosquitto()),
            configuration=_word(place / mosquitto.CONFIGURATION),
            writable=_word(place),
            hardening=_hardening(folder, binds=settings.port < _FIRST_FREE),
            **owned,
        )
    }
    return {
        **(brokers if own else {}),
        server: _filled(
            "server",
            paofed=paofed,
            broker=f" {broker}" if own else "",
            hardening=_hardening(folder, Path(words[0]), binds=_shows_below(settings)),
            **owned,
        ),
        "paofed-device@.service": _filled(
            "device",
            pipe=_word(f"./measure | exec {shlex.join(words)} {_LEARN}"),
            user=USER,
            hardening=_hardening(Path(words[0]), sensors=True),
        ),
        "paofed-gateway@.service": _filled(
            "gateway", paofed=paofed, user=USER, hardening=_hardening(Path(words[0]))
        ),
    }


def owner(folder: Path) -> str:
    """Return the name of a folder's owner."""
    number = folder.stat().st_uid
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:  # the owner has no name, as in a container
        return str(number)


def _filled(name: str, **values: str) -> str:
    return Template(_shipped(f"{name}.service")).substitute(values)


def _hardening(*used: Path, binds: bool = False, sensors: bool = False) -> str:
    """Return what a service may not do; the paths it uses must not be hidden from it."""
    return Template(_shipped("hardening.conf")).substitute(
        capabilities=_BIND if binds else "",
        protect_home="read-only" if _below(used, _HOMES) else "yes",
        private_tmp="no" if _below(used, _TEMPORARY) else "yes",
        private_devices="no" if sensors else "yes",
    )


def _below(paths: tuple[Path, ...], places: tuple[str, ...]) -> bool:
    return any(path.is_relative_to(place) for path in paths for place in places)


def _shows_below(settings: Settings) -> bool:
    return bool(settings.http) and settings.http_place()[1] < _FIRST_FREE


def _mosquitto() -> str:
    places = os.pathsep.join((os.environ.get("PATH", os.defpath), *_PLACES))
    return shutil.which("mosquitto", path=places) or _USUAL


def _word(word: Path | str) -> str:
    """Quote one word of a unit, in which %, $ and spaces have meanings."""
    text = str(word)
    if not text.isprintable():
        raise InputError(f"{text!r} cannot stand in a unit: expected printable text")
    text = text.replace("%", "%%")
    if re.fullmatch(r"[\w/.+,:=@%-]+", text):
        return text
    escaped = text.replace("\\", r"\\").replace('"', r"\"").replace("$", "$$")
    return f'"{escaped}"'


def _shipped(name: str) -> str:
    return files(__package__).joinpath("services", name).read_text(encoding="utf-8")
