"""Finished pieces of a long study: files in a folder, so that a second start goes on.

A folder belongs to one study. `study.json` says which one, and another study is refused.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from paofed.errors import FileError, InputError
from paofed.files import make_folder, read_text, write_text
from paofed.simulate.results.result import versions


class Units:
    """The finished units of one study in one folder; each is written whole or not at all."""

    def __init__(self, folder: Path, study: Mapping[str, Any]) -> None:
        self._folder = folder
        about = json.loads(json.dumps({"study": study, "versions": versions()}))
        file = folder / "study.json"
        if file.exists():
            _require_same(file, about)
            return
        make_folder(folder)
        write_text(file, json.dumps(about, indent=1) + "\n")

    def record(self, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return a unit: read, if there is such a file, or made and written."""
        file = self._folder / f"{name.replace('/', '_')}.json"
        if not file.exists():
            write_text(file, json.dumps(make()) + "\n")
        return _read(file)


def _require_same(file: Path, about: Mapping[str, Any]) -> None:
    """Refuse a folder whose units are of another study or another version."""
    found = _read(file)
    for part in ("study", "versions"):
        there, here = found.get(part, {}), about[part]
        differing = [key for key in here if there.get(key) != here[key]]
        if differing:
            raise InputError(
                f"{file.parent} holds a study with another {differing[0]}: give another folder, "
                f"or remove it"
            )


def _read(file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(read_text(file))
    except json.JSONDecodeError:
        raise FileError(f"{file} is not JSON: remove it, and it is made again") from None
    return found
