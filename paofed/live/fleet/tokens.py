"""Who may ask a fleet's server over HTTP: names, and a secret text for each, the token.

Tokens are kept as hashes, in a file of the fleet's folder that its owner alone may read. A token is
random and long, so that one round of hashing is enough: there is nothing to guess. Beside the
hashes stands a token of the folder itself, in the clear, for commands that are given the folder.

While there is no such file, everybody may ask. After the last token was revoked the file is still
there, and nobody may ask.
"""

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, get_args

from paofed.errors import FileError, InputError, NewerFormatError, require_format, unknown
from paofed.files import read_text, write_secret

FILE = "tokens.json"
FORMAT = 1
Right = Literal["see", "predict"]
RIGHTS: tuple[Right, ...] = get_args(Right)
_BYTES = 32
_HASH = r"[0-9a-f]{64}"
_NAME = r"[A-Za-z0-9_.-]{1,64}"


class Holder(NamedTuple):
    """What is known of the holder of a token."""

    hash: str  # SHA-256 of the token, hexadecimal
    may: tuple[Right, ...]


@dataclass(frozen=True)
class Tokens:
    """All tokens of a fleet."""

    own: str = field(repr=False)  # the folder's own token, which may do everything
    holders: Mapping[str, Holder]

    def rights(self, token: str) -> frozenset[Right]:
        """Return what the holder of a token may do; takes the same time for every token."""
        found: set[Right] = set()
        given = _hash(token)
        for kept, may in (*self.holders.values(), Holder(_hash(self.own), RIGHTS)):
            if hmac.compare_digest(kept, given):
                found.update(may)
        return frozenset(found)

    def save(self, folder: Path) -> None:
        """Write the tokens, whole or not at all."""
        holders = {name: holder._asdict() for name, holder in self.holders.items()}
        held = {"format": FORMAT, **asdict(self), "holders": holders}
        write_secret(folder / FILE, json.dumps(held, indent=1))

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """Read the tokens; None where there is no file."""
        path = folder / FILE
        if not path.exists():
            return None
        try:
            values = json.loads(read_text(path))
            require_format(f"{path} has tokens", values["format"], FORMAT)
            return cls._read(values)
        except NewerFormatError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise FileError(f"{path} cannot be understood: restore it from a backup") from None

    @classmethod
    def _read(cls, values: Any) -> Self:
        holders = {
            str(name): Holder(
                holder["hash"], tuple(right for right in RIGHTS if right in holder["may"])
            )
            for name, holder in values["holders"].items()
        }
        own = values["own"]
        if len(own) < _BYTES or not own.isascii():
            raise ValueError("no token of the folder's own")
        if not all(re.fullmatch(_HASH, holder.hash) for holder in holders.values()):
            raise ValueError("a hash that is none of a token")
        return cls(own, holders)


def make_token(folder: Path, name: str, may: Collection[str]) -> str:
    """Give somebody a token; it cannot be read again later."""
    if not re.fullmatch(_NAME, name):
        raise InputError(f"{name!r} is no name for a token: expected letters, digits, - _ and .")
    for right in may:
        if right not in RIGHTS:
            raise InputError(unknown("right", right, RIGHTS))
    known = Tokens.load(folder) or Tokens(secrets.token_urlsafe(_BYTES), {})
    if name in known.holders:
        raise InputError(f"there is a token of the name {name!r} already: revoke it first")
    token = secrets.token_urlsafe(_BYTES)
    holder = Holder(_hash(token), tuple(right for right in RIGHTS if right in may))
    replace(known, holders={**known.holders, name: holder}).save(folder)
    return token


def revoke_token(folder: Path, name: str) -> Tokens:
    """Revoke a token; return the tokens that are left."""
    known = Tokens.load(folder)
    if known is None or name not in known.holders:
        raise InputError(unknown("token", name, () if known is None else known.holders))
    left = {other: holder for other, holder in known.holders.items() if other != name}
    found = replace(known, holders=left)
    found.save(folder)
    return found


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()
