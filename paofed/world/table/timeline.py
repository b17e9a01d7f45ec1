"""How times become ticks: times as numbers, the length of a tick, and moments in words."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray, IntArray
from paofed.errors import FileError, InputError
from paofed.world.table.columns import TextArray, duration_text, seconds
from paofed.world.table.source import Source

_CALENDAR = ("year", "month", "day", "hour", "minute", "second")
_UNIX = {"unix": 1.0, "unix-ms": 1e-3}  # numbers that are times all the same
_FIRST, _LAST = -62_135_596_800.0, 253_402_300_799.0  # seconds: the years 1 to 9999
_RANGES = {"year": (1, 9999), "month": (1, 12), "day": (1, 31), "hour": (0, 23)}
_LENGTH = "a length such as 15min or 30d (ms, s, min, h, d, w)"
_ROUNDING = 1e-6  # of a tick: what a moment on a boundary may miss it by


class Times(NamedTuple):
    """The time of every reading: seconds since 1970 where `calendar`, else plain numbers."""

    values: FloatArray  # (M,)
    calendar: bool


class Timeline(NamedTuple):
    """Ticks from an origin on."""

    calendar: bool
    origin: float  # the time of tick 0
    tick: float  # its length
    first: float  # what the readings cover
    last: float

    def ticks_of(self, times: FloatArray) -> IntArray:
        """The tick of each time: the nearest, so that clocks may be a little off."""
        # Up from the half on, not to the even one: readings half a tick off must not meet in pairs.
        return np.floor((times - self.origin) / self.tick + (0.5 + _ROUNDING)).astype(np.int64)

    def from_on(self, moment: float) -> int:
        """The first tick that is not before a moment."""
        return int(np.ceil((moment - self.origin) / self.tick - _ROUNDING))

    def moment(self, text: str, what: str) -> float:
        """Read a share of the time covered (10%), a length from its beginning (30d), or a time."""
        length = seconds(text) if self.calendar else None
        try:
            if text.endswith("%"):
                return self.first + _finite(text[:-1]) / 100 * (self.last - self.first)
            if length is not None:
                return self.first + length
            return _instant(text) if self.calendar else _finite(text)
        except ValueError:
            time = (
                "a time such as 2014-03-01, a length such as 30d (min, h, d, w)"
                if self.calendar
                else "a number"
            )
            raise InputError(
                f"{what} is {text!r}: expected {time}, or a share such as 10%"
            ) from None

    def text(self, moment: float) -> str:
        """A moment as people write it."""
        if not self.calendar or not _FIRST <= moment <= _LAST:
            return f"{moment:.15g}"
        exact = datetime.fromtimestamp(moment, UTC).replace(tzinfo=None)
        return exact.isoformat(" ", "auto" if moment % 60 else "minutes")

    def length_text(self, ticks: int = 1) -> str:
        """That many ticks as people write it."""
        if not self.calendar:
            return f"{ticks * self.tick:g}"
        return duration_text(ticks * self.tick)


def times_of(source: Source, names: Sequence[str], form: str | None) -> Times:
    """Read the time of every row from one column or several."""
    times = _times(source, names, form)
    if times.calendar:
        beyond = (times.values < _FIRST) | (times.values > _LAST)
        source.refuse_where(
            beyond, "its time is beyond the year 9999: are these milliseconds (unix-ms)?"
        )
    return times


def _times(source: Source, names: Sequence[str], form: str | None) -> Times:
    if len(names) > 1 and {name.lower() for name in names} <= set(_CALENDAR):
        _refuse_form(form, "columns of a calendar")
        return Times(_from_calendar(source, names), calendar=True)
    if len(names) == 1:
        (name,) = names
        instants = source.instants(name)
        if instants is not None:
            _refuse_form(form, "a column of times")
            source.refuse_where(np.isnan(instants), "there is no time")
            return Times(instants, calendar=True)
        if form in _UNIX or (form is None and source.is_number(name)):
            numbers = source.numbers(name)
            source.refuse_where(np.isnan(numbers), "there is no time")
            return Times(numbers * _UNIX.get(form or "", 1.0), calendar=form in _UNIX)
    texts = source.texts(names[0])
    for name in names[1:]:
        texts = np.char.add(np.char.add(texts, " "), source.texts(name))
    return Times(_from_texts(source, texts, form), calendar=True)


def timeline(times: Times, devices: IntArray, tick: str | None) -> Timeline:
    """Lay ticks over the times, from the first one on."""
    if tick is None:
        length = usual_step(times.values, devices)
    else:
        length = (seconds(tick) if times.calendar else positive(tick)) or 0.0
        if not length:
            expected = (
                "a length such as 15min, 1h or 1d (ms, s, min, h, d, w)"
                if times.calendar
                else "a number above 0"
            )
            raise InputError(f"tick is {tick!r}: expected {expected}")
    first, last = float(times.values.min()), float(times.values.max())
    return Timeline(times.calendar, first, length, first, last)


def positive(text: str) -> float | None:
    """A finite number above 0; 0 where it is not above, None where it is no number."""
    try:
        return max(_finite(text), 0.0)
    except ValueError:
        return None


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not finite")
    return number


def usual_step(times: FloatArray, devices: IntArray) -> float:
    """The median time between two readings of the same device."""
    order = np.lexsort((times, devices))
    steps = np.diff(times[order])[np.diff(devices[order]) == 0]
    if not (steps > 0).any():
        raise FileError("no device has readings at two times: say how long a tick is")
    return float(np.median(steps[steps > 0]))


def _from_calendar(source: Source, names: Sequence[str]) -> FloatArray:
    """From numbers in columns called year, month, day and so on."""
    parts = dict.fromkeys(_CALENDAR, np.zeros(0))
    for name in names:
        parts[name.lower()] = source.numbers(name)
        source.refuse_where(np.isnan(parts[name.lower()]), f"there is no {name}")
    if missing := [part for part in _CALENDAR[:3] if not parts[part].size]:
        raise InputError(f"the time lacks {', '.join(missing)}: name these columns too")
    known = {part: values for part, values in parts.items() if values.size}
    for part, values in known.items():
        low, high = _RANGES.get(part, (0, 59))
        wrong = (values != np.floor(values)) | (values < low) | (values > high)
        if wrong.any():
            row = int(np.argmax(wrong))
            source.refuse(row, f"{part} is {values[row]:g}: expected {low} to {high}")
    # Equal times are read once: a fleet's devices share most of them.
    code = np.zeros(len(known["year"]))
    for values in known.values():
        code = 100 * code + values
    _, rows, inverse = np.unique(code, return_index=True, return_inverse=True)
    instants = np.empty(rows.size)
    for i, row in enumerate(rows.tolist()):
        spelt = {part: int(values[row]) for part, values in known.items()}
        try:
            instants[i] = datetime(**spelt, tzinfo=UTC).timestamp()
        except ValueError as error:
            source.refuse(row, f"{', '.join(f'{k} {v}' for k, v in spelt.items())}: {error}")
    return instants[inverse]


def _refuse_form(form: str | None, times: str) -> None:
    if form is not None:
        raise InputError(f"time_format is {form!r}, but {times} need none: leave it out")


def _from_texts(source: Source, texts: TextArray, form: str | None) -> FloatArray:
    found, rows, inverse = np.unique(texts, return_index=True, return_inverse=True)
    instants = np.empty(found.size)
    for i, (text, row) in enumerate(zip(found.tolist(), rows.tolist(), strict=True)):
        try:
            instants[i] = _instant(text, form)
        except ValueError:
            expected = f"{form!r}" if form else "2014-03-01 13:00; for others give time_format"
            source.refuse(row, f"{text!r} is no time: expected one like {expected}")
    return instants[inverse]


def _instant(text: str, form: str | None = None) -> float:
    """Seconds since 1970; a time without a zone is taken as UTC."""
    spelt = datetime.strptime(text, form) if form else datetime.fromisoformat(text)  # noqa: DTZ007
    return (spelt if spelt.tzinfo else spelt.replace(tzinfo=UTC)).timestamp()
