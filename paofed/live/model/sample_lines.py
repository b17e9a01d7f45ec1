"""Lines as samples of a fleet: CSV, with or without a header, or JSON lines.

`Reader` makes values by name of lines; `SampleReader` reads by the names of a manifest: what its
devices measure, the target, and perhaps when.
"""

import csv
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TextIO

from paofed.errors import FileError, InputError
from paofed.live.model.asked_inputs import instant
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.seen import TIME


def opened(path: Path | None) -> AbstractContextManager[TextIO]:
    """Open a file, or standard input where none is named."""
    if path is None:
        return nullcontext(sys.stdin)
    try:
        return path.open(encoding="utf-8-sig")
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from None


class HeaderError(InputError):
    """Raised when nobody knows which number of a line is which."""


class Reader:
    """Turns lines into numbers, in the order of the names.

    The last `optional` names may be missing or empty, and are then NaN. Values of some names are no
    numbers; `others` has functions that read these, and say with a ValueError what they cannot
    read.

    A line of CSV is read by the last header before it, wherever that header is, or else by the
    order of the names. After a header or numbers, a line with too few words is no header. A line of
    words before the first numbers may be their header even if it holds none of the names: if it has
    as many words as the line after it has numbers, those numbers are refused.
    """

    def __init__(
        self,
        names: Sequence[str],
        optional: int = 0,
        others: Mapping[str, Callable[[Any], Any]] = MappingProxyType({}),
    ) -> None:
        self._optional = optional
        self._others = others
        self._columns: list[int] | None = None  # the column of each name in a line of CSV
        self._useless = ""  # what is wrong with the header
        self._header: list[str] = []  # the last good header
        self._words: list[str] = []  # words before the first numbers, which may be a header
        self._number = 0
        self._name(names)

    def rename(
        self,
        names: Sequence[str],
        optional: int | None = None,
        others: Mapping[str, Callable[[Any], Any]] | None = None,
    ) -> None:
        """Read by these names from now on; the header counts as before.

        Where lines were read by the order of the names, they need all numbers from now on: a
        shorter line may be in the old order.
        """
        by_order = self._columns is not None and not self._header
        self._columns = None
        self._optional = self._optional if optional is None else optional
        self._others = self._others if others is None else others
        self._name(names)
        if by_order:
            self._needed = len(names)
        elif self._header:
            self._follow(self._header)

    def _name(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self._needed = len(names) - self._optional
        self._width = len(names)  # the most cells in a line of CSV

    def read(self, lines: Iterable[str]) -> Iterator[list[Any]]:
        """Yield all lines; raise an error for the first that cannot be used."""
        for line in lines:
            values = self.parse(line)
            if values is not None:
                yield values

    def parse(self, line: str) -> list[Any] | None:
        """Read the next line; None where it holds no numbers: it is empty, or a header.

        A line that cannot be used is an InputError; where the lines that follow cannot be used
        either, it is a HeaderError.
        """
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
        if self._is_header([cell.strip() for cell in cells]):
            return None
        if self._useless:
            raise HeaderError(self._useless)
        columns = self._columns or list(range(len(self._names)))
        fewest = max(columns[: self._needed], default=-1) + 1
        if not fewest <= len(cells) <= self._width:
            raise self._wrong(line)
        values = self._checked(line, [cells[i] if 0 <= i < len(cells) else "" for i in columns])
        if self._columns is None and len(cells) <= len(self._words):
            raise self._lost(
                f"line {self._number} is {line!r}, and nobody knows which number is which: "
                f"{', '.join(self._words)} may be its header (expected {', '.join(self._names)})"
            )
        self._columns = columns
        return values

    def _is_header(self, cells: list[str]) -> bool:
        """Whether these cells are names, by which the lines that follow are to be read."""
        if self._columns is not None and len(cells) < self._needed:
            return False  # a stray word: so few numbers could not be used anyway
        words = any(cells) and not any(map(_is_number, cells))
        if self._columns is None and words and len(cells) > len(self._words):
            self._words = cells
        named = any(name in cells for name in self._names)
        if not named or not (words or self._columns is None):
            return False
        self._follow(cells)
        return True

    def _follow(self, cells: list[str]) -> None:
        """Read the lines that follow by a header."""
        named = [name for name in self._names if name in cells]
        self._columns, self._needed = None, len(self._names) - self._optional
        for name in self._names[: self._needed]:
            if name not in named:
                raise self._lost(f"the header has no column {name!r}: it has {', '.join(cells)}")
        for name in named:
            if cells.count(name) > 1:
                raise self._lost(f"the header has {name!r} more than once: {', '.join(cells)}")
        self._width, self._useless, self._header = len(cells), "", cells
        self._columns = [cells.index(name) if name in named else -1 for name in self._names]

    def _lost(self, why: str) -> HeaderError:
        """Refuse every line of CSV from now on, unless a good header comes."""
        self._useless = why
        return HeaderError(why)

    def _from_json(self, line: str) -> list[Any]:
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            raise self._wrong(line) from None
        return [values.get(name) for name in self._names]

    def _checked(self, line: str, cells: list[Any]) -> list[Any]:
        values: list[Any] = []
        for i, cell in enumerate(cells):
            missing = cell is None or (isinstance(cell, str) and not cell.strip())
            if missing and i >= self._needed:
                values.append(math.nan)
                continue
            read: Callable[[Any], Any] = self._others.get(self._names[i], finite)
            try:
                values.append(read(cell))
            except (TypeError, ValueError, OverflowError):
                raise self._wrong(line) from None
        return values

    def _wrong(self, line: str) -> InputError:
        count = str(self._needed)
        if self._needed < len(self._names):
            count += f" or {len(self._names)}"
        what = "values" if self._others else "finite numbers"
        return InputError(
            f"line {self._number} is {line!r}: expected {count} {what} ({', '.join(self._names)})"
        )


def finite(cell: Any) -> float:
    """Read a finite number; raises ValueError."""
    value = math.nan if isinstance(cell, bool) else float(cell)
    if not math.isfinite(value):
        raise ValueError(f"{cell} is not finite")
    return value


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


class Row(NamedTuple):
    """One sample."""

    x: list[Any]  # numbers, and texts
    y: float  # NaN where the line has no target
    at: float | None  # seconds since 1970; None: now


class SampleReader:
    """Reads lines by the names of a manifest: inputs, target and, where it matters, the time.

    The time is seconds since 1970 or as in 2014-03-01T13:00+01:00, in UTC where no zone is said; it
    may be left out. The target may be left out as well, unless it is `needed`. With
    `looked_back_at`, a line has a target only if some input looks back at the target.
    """

    def __init__(
        self, manifest: Manifest, *, needed: bool = False, looked_back_at: bool = False
    ) -> None:
        self._needed, self._looked_back_at = needed, looked_back_at
        self._manifest = manifest
        self.names = self._names()
        self._reader = Reader(self.names, self._optional(), self._others())

    def follow(self, manifest: Manifest) -> None:
        """Read by another manifest from now on."""
        self._manifest = manifest
        if self._names() != self.names:
            self.names = self._names()
            self._reader.rename(self.names, self._optional(), self._others())

    def read(self, lines: Iterable[str]) -> Iterator[Row]:
        """Yield all samples; raise an error for the first line that cannot be used."""
        return (row for row in map(self.parse, lines) if row is not None)

    def parse(self, line: str) -> Row | None:
        """Read the next line; None where it holds no sample."""
        values = self._reader.parse(line)
        if values is None:
            return None
        named = dict(zip(self.names, values, strict=True))
        x = [named[number.name] for number in self._manifest.inputs]
        at = named[TIME] if self._has_time() else math.nan
        y = named.get(self._manifest.target.name, math.nan)
        return Row(x, y, None if math.isnan(at) else at)

    def _has_time(self) -> bool:
        """Whether lines may hold the time: only where it matters."""
        seen, measured = self._manifest.seen, [number.name for number in self._manifest.inputs]
        return seen is not None and seen.needs_time and TIME not in measured

    def _names(self) -> list[str]:
        names = [number.name for number in self._manifest.inputs]
        names += [self._manifest.target.name] * self._has_target()
        return [*names, TIME] if self._has_time() else names

    def _has_target(self) -> bool:
        """Whether lines may have the target."""
        seen, target = self._manifest.seen, self._manifest.target.name
        return not self._looked_back_at or (seen is not None and target in seen.reaches)

    def _optional(self) -> int:
        return (self._has_target() and not self._needed) + self._has_time()

    def _others(self) -> dict[str, Any]:
        seen = self._manifest.seen
        texts = dict.fromkeys(seen.texts if seen else (), _text)
        return {**texts, TIME: _instant} if self._has_time() else texts


def _text(cell: Any) -> str:
    if not isinstance(cell, str) or not cell.strip():
        raise ValueError(f"{cell!r} is no text")
    return cell.strip()


def _instant(cell: Any) -> float:
    try:
        return finite(cell)
    except ValueError:
        return finite(instant(str(cell)))
