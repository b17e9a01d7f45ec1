"""Numbers by name, line by line: CSV, with or without a header, or JSON lines."""

import csv
import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TextIO

from paofed.errors import FileError, InputError


def opened(path: Path | None) -> AbstractContextManager[TextIO]:
    """A file, or standard input where none is named."""
    if path is None:
        return nullcontext(sys.stdin)
    try:
        return path.open(encoding="utf-8-sig")
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from None


class Reader:
    """Turns lines into numbers, in the order of the names.

    The last `optional` names may be missing or empty, and are then not a number (nan).
    """

    def __init__(self, names: Sequence[str], optional: int = 0) -> None:
        self._names = list(names)
        self._needed = len(names) - optional
        self._columns: list[int] | None = None  # where each name stands in a line of CSV
        self._width = len(names)  # the most cells in a line of CSV
        self._useless = ""  # what is wrong with the header
        self._number = 0

    def read(self, lines: Iterable[str]) -> Iterator[list[float]]:
        """All lines; the first that cannot be used is an error."""
        for line in lines:
            values = self.parse(line)
            if values is not None:
                yield values

    def parse(self, line: str) -> list[float] | None:
        """The next line, or None where it holds no numbers: it is empty, or the header."""
        self._number += 1
        line = line.strip().removeprefix("\ufeff")
        if not line:
            return None
        if line.startswith("{"):
            return self._checked(line, self._from_json(line))
        try:
            (cells,) = csv.reader([line], strict=True)
        except csv.Error:
            cells = []
        if self._useless:  # nobody knows which number is which
            raise InputError(self._useless)
        if self._columns is None:
            self._columns = self._header(cells)
            if self._columns is not None:
                return None
            self._columns = list(range(len(self._names)))
        fewest = max(self._columns[: self._needed], default=-1) + 1
        if not fewest <= len(cells) <= self._width:
            raise self._wrong(line)
        return self._checked(line, [cells[i] if 0 <= i < len(cells) else "" for i in self._columns])

    def _header(self, cells: list[str]) -> list[int] | None:
        """Where the names stand, if these cells are names."""
        names = [cell.strip() for cell in cells]
        if not set(names) & set(self._names):
            return None
        for name in self._names[: self._needed]:
            if name not in names:
                self._useless = f"the header has no column {name!r}: it has {', '.join(names)}"
                raise InputError(self._useless)
        self._width = len(names)
        return [names.index(name) if name in names else -1 for name in self._names]

    def _from_json(self, line: str) -> list[Any]:
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            raise self._wrong(line) from None
        return [values.get(name) for name in self._names]

    def _checked(self, line: str, cells: list[Any]) -> list[float]:
        values = []
        for i, cell in enumerate(cells):
            missing = cell is None or (isinstance(cell, str) and not cell.strip())
            if missing and i >= self._needed:
                values.append(math.nan)
                continue
            try:
                value = math.nan if isinstance(cell, bool) else float(cell)
            except (TypeError, ValueError, OverflowError):
                value = math.nan
            if not math.isfinite(value):
                raise self._wrong(line)
            values.append(value)
        return values

    def _wrong(self, line: str) -> InputError:
        count = str(self._needed)
        if self._needed < len(self._names):
            count += f" or {len(self._names)}"
        return InputError(
            f"line {self._number} is {line!r}: expected {count} finite numbers "
            f"({', '.join(self._names)})"
        )
