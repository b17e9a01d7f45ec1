"""Finished parts of long work in files: each holds what it is a part of, and a checksum.

A file in a folder may be damaged, edited, or that of other work under this work's name. So a part
holds its key, a text that no other part has, and a checksum over the key and all of its content.
Both are compared when the part is read. A part that fails either comparison is computed again.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from paofed.errors import FileError
from paofed.files import read_text, write_text


def key_of_part(said: object) -> str:
    """Return a key that differs for any other value of `said`, which JSON can write."""
    return hashlib.sha256(_as_bytes(said)).hexdigest()


def checksum(key: str, content: Iterable[bytes]) -> str:
    """Return a checksum over the key of a part and its content, piece by piece."""
    found = hashlib.sha256()
    for piece in (key.encode(), *content):
        found.update(len(piece).to_bytes(8, "little") + piece)
    return found.hexdigest()


def require_part(
    path: Path, key: str, content: Iterable[bytes], *, key_there: object, checksum_there: object
) -> None:
    """Refuse a file whose key is not the one expected, or whose checksum is not its content's."""
    if key_there != key:
        raise FileError(f"{path} is not this part of the work: it holds the key of another")
    if checksum_there != checksum(key, content):
        raise FileError(f"{path} is damaged or was edited: its checksum is not that of its content")


def save_part(path: Path, key: str, content: dict[str, Any]) -> None:
    """Write a part as JSON, whole or not at all, with `key` and `checksum` beside its content."""
    sealed = {**content, "key": key, "checksum": checksum(key, [_as_bytes(content)])}
    write_text(path, json.dumps(sealed) + "\n")


def load_part(path: Path, key: str) -> dict[str, Any]:
    """Read the content of a part that `save_part` wrote; anything else is a FileError."""
    try:
        found = json.loads(read_text(path))
    except (ValueError, RecursionError):
        raise FileError(f"{path} is damaged: it is not JSON") from None
    if not isinstance(found, dict):
        raise FileError(f"{path} is damaged: it is not a part of any work")
    there = {"key_there": found.pop("key", None), "checksum_there": found.pop("checksum", None)}
    require_part(path, key, [_as_bytes(found)], **there)
    return found


def _as_bytes(value: object) -> bytes:
    """Write a value as JSON in one way only, so that equal values have equal bytes."""
    return json.dumps(value, sort_keys=True).encode()
