"""What mosquitto must know: its settings, who may do what, whom it refuses."""

import base64
import hashlib
import os
import pwd
import re
import secrets
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from paofed.errors import FileError
from paofed.files import read_text, write_secret, write_text
from paofed.live.fleet.settings import Settings
from paofed.live.journal.roster import Member
from paofed.live.network.topics import SERVER, Topics
from paofed.live.protocol.manifest import Manifest

FOLDER = "broker"
CONFIGURATION = "mosquitto.conf"
ACCESS = "access"
LOCAL = "127.0.0.1"
_KIND = "$7$"  # PBKDF2 with SHA-512
_ROUNDS = 101  # mosquitto's own number; these passwords are random, so none is worth guessing
_WORDS = 128  # the most bytes of a packet beside its payload
_STARTING = 20.0  # seconds that a broker may take before it can be told anything
_LOOK = 0.005  # seconds between two looks at whether it can
_GROWTH = 1024  # bytes by which a manifest may grow before the broker has to be restarted
_MANAGED = {
    "certificate": """\
tls_version tlsv1.3
cafile {folder}/authority.pem
certfile {folder}/certificate.pem
keyfile {folder}/key.pem
crlfile {folder}/revoked.pem
require_certificate true
use_identity_as_username true
""",
    "password": """\
tls_version tlsv1.3
cafile {folder}/authority.pem
certfile {folder}/certificate.pem
keyfile {folder}/key.pem
password_file {folder}/passwords
""",
}
_COMMON = """\
# Written by paofed; `paofed fleet rotate {fleet} --server` writes it anew, after a move, say.
# mosquitto warns that the pattern for the manifest has no %u: that is as it should be.
# Start it with: mosquitto -c {folder}/{configuration}
listener {listener}
set_tcp_nodelay true
{managed}allow_anonymous {anonymous}
{rights}max_packet_size {largest}
max_queued_messages 10000
persistence false
sys_interval 2
log_dest stderr
log_dest topic
log_type error
log_type warning
log_type notice
pid_file {folder}/mosquitto.pid
{user}"""
# A connection is known by the name that was checked, so no device can end another's.
_RIGHTS = """\
use_username_as_clientid true
acl_file {folder}/{access}
"""


def write_configuration(folder: Path, home: Path, settings: Settings, manifest: Manifest) -> None:
    """Write mosquitto's settings for a fleet's folder; `home` is where the folder will be."""
    place = (home / FOLDER).resolve()
    managed = _MANAGED.get(settings.security, "")
    text = _COMMON.format(
        folder=place,
        fleet=home.resolve(),
        configuration=CONFIGURATION,
        listener=f"{settings.port}" if managed else f"{settings.port} {LOCAL}",
        managed=managed.format(folder=place),
        anonymous="false" if managed else "true",
        rights=_RIGHTS.format(folder=place, access=ACCESS) if managed else "",
        largest=_largest(manifest) + len(settings.prefix) + _GROWTH,
        user=_owner(),
    )
    write_text(folder / FOLDER / CONFIGURATION, text)


def make_room(folder: Path, manifest: Manifest) -> bool:
    """Let the broker pass on packets of a manifest that has grown; return if its file changed."""
    path, largest = folder / FOLDER / CONFIGURATION, _largest(manifest)
    if not path.is_file():  # the fleet uses another broker
        return False
    text = read_text(path)
    found = re.search(r"^max_packet_size ([0-9]{1,9})$", text, re.MULTILINE)
    if found is None or int(found[1]) >= largest:
        return False
    write_text(path, f"{text[: found.start(1)]}{largest + _GROWTH}{text[found.end(1) :]}")
    return True


def _largest(manifest: Manifest) -> int:
    """Return the most bytes of a packet: the manifest's, which is the largest thing that travels.

    A larger packet ends its connection.
    """
    return _WORDS + max(len(manifest.to_json()), 4 * manifest.features)


def _owner() -> str:
    """Return the user that mosquitto becomes when root starts it: the owner of these files."""
    try:
        return f"user {pwd.getpwuid(os.getuid()).pw_name}\n"
    except KeyError:  # the user has no name, as in a container
        return ""


def access(topics: Topics, members: Iterable[Member]) -> str:
    """Return who may do what: a device may write its own topic and read its own, nothing else.

    A gateway may do so for each of its devices that is not refused.
    """
    members = list(members)
    lines = [
        f"user {topics.user(SERVER)}",
        f"topic readwrite {topics.root}/#",
        "topic read $SYS/broker/log/#",
        "topic read $SYS/broker/publish/messages/+",
        "",
        f"pattern write {topics.up_of_user}",
        f"pattern read {topics.down_of_user}",
        f"pattern read {topics.manifest}",
    ]
    for member in members:
        if member.removed or member.quarantined:
            lines += ["", f"user {topics.user(member.device)}", f"topic deny {topics.root}/#"]
        elif member.is_gateway:
            lines += ["", f"user {topics.user(member.device)}"]
            for other in members:
                heard = other.is_spoken_for and not (other.removed or other.quarantined)
                if heard and other.gateway == member.device:
                    lines.append(f"topic write {topics.up(other.device)}")
                    lines.append(f"topic read {topics.down(other.device)}")
    return "\n".join(lines) + "\n"


def write_access(folder: Path, topics: Topics, members: Iterable[Member]) -> None:
    """Write the broker's file that says who may do what."""
    write_secret(folder / FOLDER / ACCESS, access(topics, members))


def has_access(folder: Path, topics: Topics, members: Iterable[Member]) -> bool:
    """Whether the broker's file of rights is the same as it would be written now."""
    try:
        return read_text(folder / FOLDER / ACCESS) == access(topics, members)
    except FileError:
        return False


def denied(folder: Path, topics: Topics) -> set[int]:
    """Return the indices of those to whom `write_access` has denied everything."""
    user, deny = re.escape(topics.user("")), re.escape(f"topic deny {topics.root}/#")
    try:
        text = read_text(folder / FOLDER / ACCESS)
    except FileError:
        return set()
    return {int(k) for k in re.findall(rf"^user {user}([0-9]+)\n{deny}$", text, re.MULTILINE)}


def write_passwords(folder: Path, topics: Topics, server: str, members: Iterable[Member]) -> None:
    """Write the hashes of the passwords of all members of the fleet."""
    known: list[tuple[object, str]] = [(SERVER, server)]
    known += [(m.device, m.credential) for m in members if not m.removed]
    lines = [f"{topics.user(who)}:{mark}" for who, mark in known if is_hash(mark)]
    write_secret(folder / FOLDER / "passwords", "\n".join(lines) + "\n")


def new_password() -> str:
    """Make a password that nobody has to remember."""
    return secrets.token_urlsafe(24)


def hashed(password: str) -> str:
    """Return a password as mosquitto keeps it: hashed."""
    salt = secrets.token_bytes(12)
    key = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, _ROUNDS)
    return f"{_KIND}{_ROUNDS}${base64.b64encode(salt).decode()}${base64.b64encode(key).decode()}"


def is_hash(credential: str) -> bool:
    """Whether a credential is a password's hash, not a certificate's number or empty."""
    return credential.startswith(_KIND)


def reload(folder: Path) -> bool:
    """Tell a broker that runs with these files to read them again; return whether one was told."""
    with suppress(OSError, ValueError):
        pid = int((folder / FOLDER / "mosquitto.pid").read_text())
        # Another process may have this number by now.
        if "mosquitto" in Path(f"/proc/{pid}/comm").read_text() and _is_ready(pid):
            os.kill(pid, signal.SIGHUP)
            return True
    return False


def _is_ready(pid: int) -> bool:
    """Wait until a broker that has just started can be told anything; whether it can.

    A broker writes its process number and listens before it handles the signal SIGHUP.
    """
    ends = time.monotonic() + _STARTING
    while not handles_reload(pid):
        if "Z" in _status(pid)["State"] or time.monotonic() > ends:
            return False
        time.sleep(_LOOK)
    return True


def handles_reload(pid: int) -> bool:
    """Whether a process handles the signal SIGHUP, which would end the process if it did not."""
    handled = int(_status(pid)["SigCgt"], 16)
    return bool(handled >> (signal.SIGHUP - 1) & 1)


def _status(pid: int) -> dict[str, str]:
    """Return what Linux says of a process: its state, the signals that it handles."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value for name, _, value in (line.partition(":") for line in lines)}
