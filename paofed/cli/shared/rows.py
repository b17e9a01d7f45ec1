"""Lines as samples of a fleet: what its devices measure, the target, and perhaps when."""

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from paofed.cli.shared.samples import Reader, finite
from paofed.live.model.inputs import instant
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.seen import TIME


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
