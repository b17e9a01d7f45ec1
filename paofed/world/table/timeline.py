"""How times become ticks: the length of a tick, which readings it keeps apart, moments in words."""

import math
from datetime import datetime
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.columns.calendar import zone_of
from paofed.durations import duration_text, number_text, seconds
from paofed.errors import FileError, InputError, shown
from paofed.world.table.columns import finite, positive
from paofed.world.table.times import FIRST, LAST, Times, instant

_MOST_COUNTED = 2.0**53  # ticks; times are floats, which count no further
_ROUNDING = 1e-6  # a part of a tick: by how much a moment on a boundary may miss it
_DAY = 86400.0  # seconds
_PARTS = range(1, 61)  # the usual step divided by these numbers is tried as the length of a tick


class Timeline(NamedTuple):
    """Ticks of equal length from an origin on."""

    calendar: bool
    origin: float  # the time at which tick 0 begins
    tick: float  # the length of a tick
    first: float  # the time of the first reading
    last: float
    zone: str = "UTC"  # the zone in which times are shown to people and read from them

    def ticks_of(self, times: FloatArray) -> IntArray:
        """Return the nearest tick of each time, so that clocks may be a little off."""
        # A half rounds up, not to the even tick: otherwise readings half a tick off would share
        # ticks in pairs.
        return np.floor((times - self.origin) / self.tick + (0.5 + _ROUNDING)).astype(np.int64)

    def from_on(self, moment: float) -> int:
        """Return the first tick that is not before a moment."""
        return int(np.ceil((moment - self.origin) / self.tick - _ROUNDING))

    def of_day(self, ticks: IntArray) -> IntArray:
        """Return which tick of its day, in UTC, each tick is; times must be of a calendar.

        Ticks with the same number are at the same time of day, but up to a tick apart where no
        whole number of ticks makes a day. Each tick of a day or longer has the number 0.
        """
        moments = self.origin + (ticks + _ROUNDING) * self.tick
        return (moments % _DAY // self.tick).astype(np.int64)

    def moment(self, text: str, what: str) -> float:
        """Read a share of the time covered (10%), a length from its beginning (30d), or a time."""
        length = seconds(text) if self.calendar else None
        try:
            if text.endswith("%"):
                return self.first + finite(text[:-1]) / 100 * (self.last - self.first)
            if length is not None:
                return self.first + length
            return instant(text, self.zone) if self.calendar else finite(text)
        except (ValueError, OverflowError):
            time = (
                "a time such as 2014-03-01, a length such as 30d (min, h, d, w)"
                if self.calendar
                else "a number"
            )
            raise InputError(
                f"{what} is {shown(text)}: expected {time}, or a share such as 10%", key=what
            ) from None

    def text(self, moment: float) -> str:
        """Write a moment as people do."""
        if not self.calendar or not FIRST <= moment <= LAST:
            return f"{moment:.15g}"
        exact = datetime.fromtimestamp(moment, zone_of(self.zone)).replace(tzinfo=None)
        return exact.isoformat(" ", "auto" if moment % 60 else "minutes")

    def with_ticks(self, text: str) -> "Timeline":
        """Return a timeline with ticks of the length in `text`, from the first reading on."""
        length = seconds(text) if self.calendar else positive(text)
        if not length:
            expected = (
                "a length such as 15min, 1h or 1d (ms, s, min, h, d, w)"
                if self.calendar
                else "a number above 0"
            )
            raise InputError(f"tick is {shown(text)}: expected {expected}", key="tick")
        return self._replace(tick=length, origin=self.first)

    def length_text(self, ticks: int = 1) -> str:
        """Write the length of so many ticks, as `with_ticks` reads it."""
        return (duration_text if self.calendar else number_text)(ticks * self.tick)


class Steps(NamedTuple):
    """The readings of all devices, one device after the other, each in order of time."""

    times: FloatArray  # (M,)
    later: BoolArray  # (M - 1,): whether the next reading is of the same device at a later time
    repeated: bool  # whether some device has two readings at one time, which no tick keeps apart

    @property
    def usual(self) -> float:
        """The median time between two readings of the same device."""
        if not self.later.any():
            raise FileError("no device has readings at two times: say how long a `tick` is")
        return float(np.median(np.diff(self.times)[self.later]))

    def apart(self, line: Timeline) -> bool:
        """Whether readings of a device at different times are in different ticks."""
        return not (np.diff(line.ticks_of(self.times))[self.later] == 0).any()


def steps_of(times: FloatArray, devices: IntArray) -> Steps:
    """Put the readings in order."""
    order = np.lexsort((times, devices))
    ordered, same = times[order], np.diff(devices[order]) == 0
    later = np.diff(ordered) > 0
    return Steps(ordered, same & later, bool((same & ~later).any()))


def covered(times: Times, zone: str) -> Timeline:
    """Return a timeline over the times of the readings, before the length of a tick is known."""
    first, last = float(times.values.min()), float(times.values.max())
    return Timeline(times.calendar, first, 1.0, first, last, zone)


def timeline(times: Times, steps: Steps, tick: str | None, zone: str = "UTC") -> Timeline:
    """Lay ticks over the times, from the first time on."""
    line = covered(times, zone)
    line = separating(line, steps) if tick is None else line.with_ticks(tick)
    if not (line.last - line.first) / line.tick < _MOST_COUNTED:
        raise InputError(
            f"the table goes from {line.text(line.first)} to {line.text(line.last)}, and ticks of "
            f"{line.tick:g} are too many to count: take longer ticks (`tick`)"
        )
    return line


def separating(line: Timeline, steps: Steps) -> Timeline:
    """Return ticks of the usual step or, where these do not keep readings apart, shorter ones.

    Ticks of the shortest step keep all readings apart, except readings of one device at the same
    time.
    """
    usual, line = steps.usual, line._replace(origin=line.first)
    for part in _PARTS:
        shorter = line._replace(tick=usual / part)
        if steps.apart(shorter):
            return shorter
    return line._replace(tick=float(np.diff(steps.times)[steps.later].min()))


def longer(line: Timeline, steps: Steps) -> str | None:
    """Return the longest tick found that keeps readings apart as well, or None.

    Only whole multiples of the line's tick that divide the usual step are tried; other lengths
    might do as well.
    """
    most = round(steps.usual / line.tick)
    small = [part for part in range(1, math.isqrt(most) + 1) if most % part == 0]
    for ticks in sorted({*small, *(most // part for part in small)} - {1}, reverse=True):
        if steps.apart(line.with_ticks(text := line.length_text(ticks))):
            return text
    return None
