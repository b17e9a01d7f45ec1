"""A long study in a folder: its finished pieces are files, so that a second start goes on.

A folder belongs to one study. `about.json` says by which command and versions it was made; a start
with others is refused.
"""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from paofed.errors import FileError
from paofed.files import make_folder, read_text, write_text
from paofed.parts import load_part, save_part
from paofed.simulate.results.result import versions

_ABOUT = "about.json"
_log = logging.getLogger(__name__)


def record(path: Path, key: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return a finished piece: read from its file if that holds it, else made and written whole.

    `key` says of what the piece is, as `key_of_part` makes it. A file that holds another piece, or
    is damaged, is told and replaced.
    """
    if path.exists():
        try:
            return load_part(path, key)
        except FileError as error:
            _log.warning("%s; it is computed again", error)
    save_part(path, key, make())
    return load_part(path, key)


def claim_folder(folder: Path, command: str) -> None:
    """Say in a folder what its units are; refuse a folder with other units."""
    make_folder(folder)
    path, about = folder / _ABOUT, {"command": command, "versions": versions()}
    if path.exists():
        try:
            found = json.loads(read_text(path))
        except json.JSONDecodeError:
            found = None
        if found != about:
            raise FileError(
                f"{folder} was made by {_said(found)}: expected {_said(about)}; give another --out"
            )
    write_text(path, json.dumps(about, indent=1) + "\n")


def _said(about: object) -> str:
    """Say the command of an about.json and its versions, in one line."""
    if not isinstance(about, dict) or not isinstance(about.get("versions"), dict):
        return "something else"
    made_with = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    return f"`{about.get('command')}` with {made_with}"
