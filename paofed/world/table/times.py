"""The time of every reading, from one column or several, also by the clocks of a zone."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, NoReturn

import numpy as np

from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.columns.calendar import zone_of
from paofed.errors import InputError, shown
from paofed.world.table.columns import Texts
from paofed.world.table.source import Source

# Seconds: the years 1 to 9999, but for two days at each end, so that clocks of all zones show them.
FIRST, LAST = -62_135_424_000.0, 253_402_127_999.0
_CALENDAR = ("year", "month", "day", "hour", "minute", "second")
_CLOCK = {"hour": 3600.0, "minute": 60.0, "second": 1.0}
_RANGES = {"year": (1, 9999), "month": (1, 12), "day": (1, 31), "hour": (0, 23)}
# Formats of numbers that are times: seconds or milliseconds since 1970.
_UNIX = {"unix": 1.0, "unix-ms": 1e-3}
_NUMBER = "number"  # the format of numbers that are not times, even if they look like times
# How many parts of a calendar (year, month, ...) a compact date of so many digits has.
_DIGITS = {8: 3, 10: 4, 12: 5, 14: 6}
# Compact dates have these years; other numbers are counts, or seconds since 1970.
_YEARS = (1900, 2100)


class Times(NamedTuple):
    """The time of every reading: seconds since 1970 where `calendar`, else plain numbers."""

    values: FloatArray  # (M,)
    calendar: bool


class _Found(NamedTuple):
    """Times as they were read; a time without a zone is taken as UTC for now."""

    values: FloatArray
    calendar: bool
    local: BoolArray | bool = False  # which of the times have no zone


def times_of(
    source: Source,
    names: Sequence[str],
    form: str | None,
    zone: str | None = None,
    device: str | None = None,
) -> Times:
    """Read the time of every row from one column or several.

    Times without a zone are by the clocks of `zone`, or UTC if that is None. `device` names the
    column of the device.
    """
    found = _times(source, names, form)
    if not found.calendar:
        if zone is not None:
            raise InputError(
                f"zone is {zone!r}, but times are plain numbers: leave it out", key="zone"
            )
        return Times(found.values, calendar=False)
    beyond = (found.values < FIRST) | (found.values > LAST)
    source.refuse_where(
        beyond, "its time is not in the years 1 to 9999: are these milliseconds (unix-ms)?"
    )
    local = np.broadcast_to(found.local, found.values.shape)
    if zone is None or not local.any():
        return Times(found.values, calendar=True)
    devices = np.zeros(local.size, np.int64) if device is None else source.texts(device).which
    return Times(in_utc(source, found.values, local, zone, devices), calendar=True)


def _times(source: Source, names: Sequence[str], form: str | None) -> _Found:
    if len(names) > 1 and {name.lower() for name in names} <= set(_CALENDAR):
        _refuse_form(form, "columns of a calendar")
        return _Found(_from_calendar(source, names), calendar=True, local=True)
    if len(names) == 1:
        (name,) = names
        instants = source.instants(name)
        if instants is not None:
            _refuse_form(form, "a column of times")
            source.refuse_where(np.isnan(instants), "there is no time")
            return _Found(instants, calendar=True, local=not source.has_zone(name))
        if form in (*_UNIX, _NUMBER) or (form is None and source.is_number(name)):
            numbers = source.numbers(name)
            source.refuse_where(np.isnan(numbers), "there is no time")
            if form is None and (instants := _from_compact(source, name, numbers)) is not None:
                return _Found(instants, calendar=True, local=True)
            return _Found(numbers * _UNIX.get(form or "", 1.0), calendar=form in _UNIX)
    return _from_texts(source, source.texts(*names), form)


def _refuse_form(form: str | None, times: str) -> None:
    if form is not None:
        raise InputError(
            f"time_format is {form!r}, but {times} need none: leave it out", key="time_format"
        )


def _from_calendar(source: Source, names: Sequence[str]) -> FloatArray:
    """Return times from numeric columns called year, month, day and so on."""
    found = {name.lower(): source.numbers(name) for name in names}
    if missing := [part for part in _CALENDAR[:3] if part not in found]:
        raise InputError(f"the time lacks {', '.join(missing)}: name these columns too")
    parts = {part: found[part] for part in _CALENDAR if part in found}
    instants, real = _instants(parts)
    if not real.all():
        row = int(np.argmin(real))
        _refuse_part(source, row, {part: float(values[row]) for part, values in parts.items()})
    return instants


def _refuse_part(source: Source, row: int, parts: Mapping[str, float]) -> NoReturn:
    for part, value in parts.items():
        low, high = _range(part)
        if math.isnan(value):
            source.refuse(row, f"there is no {part}")
        if not (value.is_integer() and low <= value <= high):
            source.refuse(row, f"{part} is {value:g}: expected {low} to {high}")
    spelt = ", ".join(f"{part} {value:g}" for part, value in parts.items())
    source.refuse(row, f"{spelt}: the month has no such day")


def _from_compact(source: Source, name: str, numbers: FloatArray) -> FloatArray | None:
    """Return times from numbers such as 20230422, with or without hours, minutes and seconds.

    Returns None if the numbers are no dates. All numbers of a column must be dates of one length.
    Where only most of them are dates, the others are mistakes: of plain numbers that happen to
    begin with a year, only one in thirty is a date.
    """
    digits = len(f"{np.median(numbers):.0f}")
    if digits not in _DIGITS:
        return None
    pairs, years = [], numbers
    for _ in range(_DIGITS[digits] - 1):
        pairs.append(years % 100)
        years = np.floor(years / 100)
    instants, dates = _instants(dict(zip(_CALENDAR, (years, *reversed(pairs)), strict=False)))
    dates &= (years >= _YEARS[0]) & (years <= _YEARS[1])
    if 2 * dates.sum() <= dates.size:
        return None
    otherwise = "if these are plain numbers, give number as `time_format`"
    if not dates.all():
        row = int(np.argmin(dates))
        source.refuse(
            row,
            f"{name} is {numbers[row]:.15g}: expected a date of {digits} digits, as most are; "
            f"{otherwise}",
        )
    first = datetime.fromtimestamp(instants[0], UTC)
    source.doubts.append(
        f"{name} is read as dates, {numbers[0]:.0f} as {first:%Y-%m-%d %H:%M}; {otherwise}"
    )
    return instants


def _range(part: str) -> tuple[int, int]:
    return _RANGES.get(part, (0, 59))


def _instants(parts: Mapping[str, FloatArray]) -> tuple[FloatArray, BoolArray]:
    """Return seconds since 1970 of years, months, days and so on, and which of the times exist.

    >>> april = {"year": np.array([2023.0] * 2), "month": np.array([4.0] * 2)}
    >>> _instants({**april, "day": np.array([30.0, 31.0])})[1].tolist()
    [True, False]
    """
    real = np.ones(len(parts["year"]), dtype=np.bool_)
    for part, values in parts.items():
        low, high = _range(part)
        real &= (values == np.floor(values)) & (values >= low) & (values <= high)
    whole = {part: np.where(real, values, 1).astype(np.int64) for part, values in parts.items()}
    months = (12 * (whole["year"] - 1970) + whole["month"] - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (whole["day"] - 1)
    instants = days.astype("datetime64[s]").astype(np.float64)
    for part, length in _CLOCK.items():
        instants += length * whole.get(part, 0)
    return instants, real & (days.astype("datetime64[M]") == months)


def _from_texts(source: Source, texts: Texts, form: str | None) -> _Found:
    _, rows = np.unique(texts.which, return_index=True)
    instants, local = np.empty(rows.size), np.empty(rows.size, dtype=np.bool_)
    # In the order of the file, so that the error names the first wrong line.
    for i in np.argsort(rows).tolist():
        text = str(texts.different[i])
        try:
            spelt = _spelt(text, form)
        except ValueError:
            others = "for others give `time_format`, as in '%d.%m.%Y %H:%M'"
            expected = f"{form!r}" if form else f"2014-03-01 13:00; {others}"
            source.refuse(int(rows[i]), f"{shown(text)} is no time: expected one like {expected}")
        local[i] = spelt.tzinfo is None
        instants[i] = (spelt.replace(tzinfo=UTC) if local[i] else spelt).timestamp()
    return _Found(texts.rows(instants), calendar=True, local=texts.rows(local))


def _spelt(text: str, form: str | None) -> datetime:
    return datetime.strptime(text, form) if form else datetime.fromisoformat(text)  # noqa: DTZ007


def instant(text: str, zone: str = "UTC") -> float:
    """Return seconds since 1970; a time without a zone is by the clocks of `zone`."""
    spelt = _spelt(text, None)
    return (spelt if spelt.tzinfo else spelt.replace(tzinfo=zone_of(zone))).timestamp()


def in_utc(
    source: Source, shown: FloatArray, local: BoolArray, zone: str, devices: IntArray
) -> FloatArray:
    """Return seconds since 1970 of the times `shown` by a zone's clocks, where they are `local`.

    A time that clocks show twice is the earlier one for the first such reading of a device in the
    file, and the later one for readings of the device after that. `devices` are indices.
    """
    found, where = np.unique(shown, return_inverse=True)
    early, late = (_ahead(found, zone, fold)[where] for fold in (0, 1))
    never, twice = local & (early < late), local & (early > late)
    if never.any():
        row = int(np.argmax(never))
        wall = datetime.fromtimestamp(shown[row], UTC)
        source.refuse(
            row,
            f"clocks of {zone} never showed {wall:%Y-%m-%d %H:%M}, since they went forward: "
            f"expected local times; for clocks that keep winter time all year give a `zone` such "
            f"as Etc/GMT-1 (an hour ahead of UTC), for UTC none",
        )
    ahead = np.where(local, early, 0.0)
    seen: Counter[tuple[int, float]] = Counter()
    for row in np.flatnonzero(twice).tolist():
        reading = int(devices[row]), float(shown[row])
        if seen[reading]:
            ahead[row] = late[row]
        seen[reading] += 1
    if twice.any():
        source.doubts.append(
            f"{int(twice.sum()):,} readings at times that clocks of {zone} showed twice: the first "
            f"of a device in the file is taken as the earlier"
        )
    utc: FloatArray = shown - ahead
    return utc


def _ahead(shown: FloatArray, zone: str, fold: int) -> FloatArray:
    """Return by how many seconds clocks are ahead of UTC when they show a time.

    A `fold` of 0 is the first time that they show it, 1 the second.
    """
    clocks = zone_of(zone)
    walls = (datetime.fromtimestamp(time, UTC).replace(tzinfo=None) for time in shown.tolist())
    instants = [wall.replace(tzinfo=clocks, fold=fold).timestamp() for wall in walls]
    ahead: FloatArray = shown - np.array(instants)
    return ahead
