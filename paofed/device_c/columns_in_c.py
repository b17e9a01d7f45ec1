"""How a fleet's samples become numbers, as the device in C takes it: columns by place and kind."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.columns.calendar import Calendar, ahead_of_utc
from paofed.core.columns.categories import COMPASS, Compass, OneHot
from paofed.core.columns.numbers import Cyclic, Number
from paofed.core.columns.transform import Transform
from paofed.errors import InputError
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.quantity import Quantity
from paofed.live.protocol.seen import TIME, Seen

FURTHEST = 5e10  # seconds: further from 1970, the device in C knows no calendar
_SHORTEST = 60.0  # seconds of a period of time, of which C counts 6e7: from 1970 to 2084
_MOST = 2**16 - 1  # of anything that C counts in 16 bits
_DAY = 86400
_YEARS = (1, 30)  # how long before and after its beginning a fleet's clocks are known
_ALWAYS = -2 * FURTHEST


class Clocks(NamedTuple):
    """The clocks of a zone are so many seconds ahead of UTC from a time on."""

    since: float
    ahead: float


class ColumnInC(NamedTuple):
    """The fields of `struct paofed_column` in paofed.h; texts and clocks stand in its arrays."""

    kind: str  # the name of its number in paofed.h, without PAOFED_
    place: int = 0
    offset: float = 0.0
    scale: float = 1.0
    logarithm: int = 0
    differs: int = 0
    lag: int = 0
    past: int = 0
    texts: tuple[str, ...] = ()
    clocks: tuple[Clocks, ...] = ()

    def counts(self) -> dict[str, int]:
        """Return the fields that are whole numbers."""
        names = ("place", "logarithm", "differs", "lag", "past")
        rows = len(self.texts) or len(self.clocks)
        return {**{name: getattr(self, name) for name in names}, "count": rows}


@dataclass(frozen=True)
class SeenInC:
    """The fields of `struct paofed_seen` in paofed.h, and the sizes of what is remembered."""

    inputs: tuple[str, ...]  # names of the values of a sample; the time is the last, if it matters
    columns: tuple[ColumnInC, ...]  # of the inputs, then of the target
    remembered: tuple[int, ...]  # places of values
    reach: int  # ticks
    timed: bool
    origin: float


def seen_in_c(manifest: Manifest) -> SeenInC | None:
    """Translate what the model sees of a sample; None where it sees scaled numbers alone."""
    seen = manifest.seen
    if seen is None:
        return None
    _require_followed(manifest, seen)
    inputs = tuple(number.name for number in manifest.inputs)
    inputs = (*inputs, TIME) if seen.needs_time else inputs
    places = {name: place for place, name in enumerate((*inputs, manifest.target.name))}
    past = {name: place for place, name in enumerate(seen.reaches)}
    columns = [
        _column(column, places, past, manifest.start) for column in (*seen.inputs, seen.target)
    ]
    return SeenInC(
        inputs=inputs,
        columns=tuple(columns),
        remembered=tuple(places[name] for name in past),
        reach=max(seen.reaches.values(), default=0),
        timed=seen.needs_time,
        origin=manifest.begins(manifest.from_tick),
    )


def limits_in_c(manifest: Manifest, found: SeenInC) -> FloatArray:
    """Return offset, scale and limits of each value of a sample, as text or time have them."""
    texts = {c.place: c for c in found.columns[:-1] if c.kind in ("COMPASS", "ONE_HOT")}
    rows = []
    for place, number in enumerate(manifest.inputs):
        if place not in texts:
            rows.append(number_in_c(number))
        elif texts[place].kind == "COMPASS":
            rows.append([0.0, 1.0, 0.0, len(COMPASS) - 1])
        else:
            rows.append([0.0, 1.0, -1.0, len(texts[place].texts) - 1])
    if found.timed:
        rows.append([0.0, 1.0, -FURTHEST, FURTHEST])
    return np.array([*rows, number_in_c(manifest.target)], dtype=np.float64)


def number_in_c(number: Quantity) -> list[float]:
    """Return offset, scale and limits; the largest float32 where there is no limit."""
    most = float(np.finfo(np.float32).max)
    low = -most if number.low is None else max(number.low, -most)
    high = most if number.high is None else min(number.high, most)
    return [number.offset, number.scale, low, high]


def _column(
    column: Transform, places: dict[str, int], past: dict[str, int], start: float
) -> ColumnInC:
    place = places[TIME if column.measures == "time" else column.name]
    match column:
        case Number():
            scaling = column.offset, column.scale, int(column.logarithm)
            lag = column.lag or column.diff
            told = int(column.diff > 0), lag, past[column.name] if lag else 0
            return ColumnInC("NUMBER", place, *scaling, *told)
        case Cyclic():
            return ColumnInC("CYCLIC", place, scale=column.period)
        case Compass():
            return ColumnInC("COMPASS", place)
        case OneHot():
            return ColumnInC("ONE_HOT", place, texts=column.categories)
        case Calendar():
            return ColumnInC(column.cycle.upper(), place, clocks=_clocks(column.zone, start))
    raise InputError(f"the device in C knows no {column.kind}: let a gateway take part for it")


def _require_followed(manifest: Manifest, seen: Seen) -> None:
    """Refuse what the device in C does not do of all that a model may see."""
    texts: dict[str, Transform] = {}
    for column in seen.inputs:
        if isinstance(column, Cyclic) and column.time and column.period < _SHORTEST:
            raise InputError(
                f"the fleet's model sees the time in turns of {column.period:g} seconds: the "
                f"device in C takes {_SHORTEST:g} at least"
            )
        if column.measures == "text" and texts.setdefault(column.name, column) != column:
            raise InputError(
                f"the fleet's model sees {column.name} as {texts[column.name].kind} and as "
                f"{column.kind}: the device in C takes a text in one way; let a gateway take part "
                f"for the device"
            )
    began = manifest.begins(manifest.from_tick)
    if not 0 <= began < FURTHEST:
        raise InputError(
            f"the fleet's ticks begin {began:g} seconds after 1970: the device in C takes 0 to "
            f"{FURTHEST:g}"
        )
    if seen.count > _MOST:
        raise InputError(
            f"the fleet's model sees {seen.count} numbers: the device in C takes {_MOST} at most"
        )


def _clocks(zone: str, start: float) -> tuple[Clocks, ...]:
    """Return by how much a zone is ahead of UTC, from a year before the fleet began on."""
    if zone == "UTC":
        return ()
    first = datetime.fromtimestamp(start, UTC).year
    begin, end = (
        int(datetime(year, 1, 1, tzinfo=UTC).timestamp())
        for year in (first - _YEARS[0], first + _YEARS[1])
    )
    days = np.arange(begin, end, _DAY, dtype=np.float64)
    return tuple(_changes(zone, days, ahead_of_utc(zone, days)))


def _changes(zone: str, days: FloatArray, ahead: FloatArray) -> Iterator[Clocks]:
    yield Clocks(_ALWAYS, float(ahead[0]))
    for place in np.flatnonzero(np.diff(ahead)).tolist():
        after, day = float(ahead[place + 1]), int(days[place])
        yield Clocks(float(_first(zone, day, after)), after)


def _first(zone: str, day: int, after: float) -> int:
    """Return the first second at which the clocks are as they are at the end of a day."""

    def changed(second: int) -> int:
        return int(ahead_of_utc(zone, np.array([float(day + second)]))[0] == after)

    return day + bisect_left(range(_DAY), 1, key=changed)
