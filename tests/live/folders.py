"""Fleets' folders, and what is in them."""

import base64
import hashlib
from pathlib import Path

from cryptography import x509

from paofed.live.fleet import mosquitto
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.settings import Security, Settings
from paofed.live.journal.roster import Member
from paofed.live.network.credential import Credential
from tests.live.fleets import manifest

SECURE: tuple[Security, ...] = ("certificate", "password")
EVERY: tuple[Security, ...] = (*SECURE, "none")  # whose broker is the fleet's own


def create(folder: Path, security: Security = "certificate", **changes: str | int) -> Fleet:
    settings = Settings(name="greenhouse", security=security, http="", **changes)  # type: ignore[arg-type]
    return Fleet.create(folder / "fleet", settings, manifest())


def add(fleet: Fleet, *labels: str) -> list[Credential]:
    return [Credential.load(path) for path in fleet.add(labels)]


def members(fleet: Fleet) -> list[Member]:
    with fleet.store() as store:
        return store.roster.members()


def files(fleet: Fleet) -> set[str]:
    """Everything in the folder but SQLite's own."""
    return {
        str(path.relative_to(fleet.folder))
        for path in fleet.folder.rglob("*")
        if path.is_file() and not path.name.startswith("fleet.sqlite")
    }


def text(fleet: Fleet, name: str) -> str:
    return (fleet.folder / mosquitto.FOLDER / name).read_text()


def number(pem: str | None) -> int:
    assert pem is not None
    return x509.load_pem_x509_certificate(pem.encode()).serial_number


def revoked(fleet: Fleet) -> set[int]:
    listed = x509.load_pem_x509_crl(text(fleet, "revoked.pem").encode())
    return {entry.serial_number for entry in listed}


def opens(fleet: Fleet, who: str, password: str | None) -> bool:
    """Whether the broker would let somebody in, by mosquitto's rule."""
    name = f"{fleet.settings.name}/{who}"
    lines = dict(line.split(":") for line in text(fleet, "passwords").splitlines())
    if name not in lines or password is None:
        return False
    empty, kind, rounds, salt, key = lines[name].split("$")
    assert (empty, kind, int(rounds)) == ("", "7", 101)
    assert len(base64.b64decode(salt)) == 12
    assert len(base64.b64decode(key)) == 64
    found = hashlib.pbkdf2_hmac(
        "sha512", password.encode(), base64.b64decode(salt), int(rounds), dklen=64
    )
    return found == base64.b64decode(key)


def holds(credential: Credential, security: Security) -> None:
    """Nothing more than its kind of security asks for."""
    has = {
        name
        for name in ("authority", "certificate", "key", "password")
        if getattr(credential, name) is not None
    }
    assert (
        has
        == {
            "none": set(),
            "password": {"authority", "password"},
            "certificate": {"authority", "certificate", "key"},
        }[security]
    )
    assert (credential.tls() is None) == (security == "none")


def directives(fleet: Fleet) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in text(fleet, mosquitto.CONFIGURATION).splitlines():
        if not line.startswith("#"):
            word, value = line.split(" ", 1)
            found.setdefault(word, []).append(value)
    return found
