"""How times become ticks: the length of a tick, which readings it keeps apart, moments in words."""

import math
from datetime import datetime
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.columns.calendar import zone_of
from paofed.errors import FileError, InputError
from paofed.world.table.columns import (
    duration_text,
    finite,
    number_text,
    positive,
    seconds,
)
from paofed.world.table.times import FIRST, LAST, Times, instant

_ROUNDING = 1e-6  # of a tick: what a moment on a boundary may miss it by
_PARTS = range(1, 61)  # of the usual step, to be tried as ticks


class Timeline(NamedTuple):
    """Ticks from an origin on."""

    calendar: bool
    origin: float  # the time of tick 0
    tick: float  # its length
    first: float  # what the readings cover
    last: float
    zone: str = "UTC"  # in which people are told times, and tell them

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
                return self.first + finite(text[:-1]) / 100 * (self.last - self.first)
            if length is not None:
                return self.first + length
            return instant(text, self.zone) if self.calendar else finite(text)
        except ValueError:
            time = (
                "a time such as 2014-03-01, a length such as 30d (min, h, d, w)"
                if self.calendar
                else "a number"
            )
            raise InputError(
                f"`{what}` is {text!r}: expected {time}, or a share such as 10%"
            ) from None

    def text(self, moment: float) -> str:
        """A moment as people write it."""
        if not self.calendar or not FIRST <= moment <= LAST:
            return f"{moment:.15g}"
        exact = datetime.fromtimestamp(moment, zone_of(self.zone)).replace(tzinfo=None)
        return exact.isoformat(" ", "auto" if moment % 60 else "minutes")

    def with_ticks(self, text: str) -> "Timeline":
        """Other ticks, of a length in words, from the first reading on."""
        length = seconds(text) if self.calendar else positive(text)
        if not length:
            expected = (
                "a length such as 15min, 1h or 1d (ms, s, min, h, d, w)"
                if self.calendar
                else "a number above 0"
            )
            raise InputError(f"`tick` is {text!r}: expected {expected}")
        return self._replace(tick=length, origin=self.first)

    def length_text(self, ticks: int = 1) -> str:
        """That many ticks as people write it, and `with_ticks` reads it."""
        return (duration_text if self.calendar else number_text)(ticks * self.tick)


class Steps(NamedTuple):
    """The readings of all devices, one device after the other, each in order of time."""

    times: FloatArray  # (M,)
    later: BoolArray  # (M - 1,): the next is of the same device, at a later time
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
    """The time that readings cover, before anything is known of ticks: any length will do."""
    first, last = float(times.values.min()), float(times.values.max())
    return Timeline(times.calendar, first, 1.0, first, last, zone)


def timeline(times: Times, steps: Steps, tick: str | None, zone: str = "UTC") -> Timeline:
    """Lay ticks over the times, from the first one on."""
    line = covered(times, zone)
    return separating(line, steps) if tick is None else line.with_ticks(tick)


def separating(line: Timeline, steps: Steps) -> Timeline:
    """Ticks of the usual step or, where these would not keep readings apart, shorter ones.

    Ticks of the shortest step always do, but for readings of one device at the same time.
    """
    usual, line = steps.usual, line._replace(origin=line.first)
    for part in _PARTS:
        shorter = line._replace(tick=usual / part)
        if steps.apart(shorter):
            return shorter
    return line._replace(tick=float(np.diff(steps.times)[steps.later].min()))


def longer(line: Timeline, steps: Steps) -> str | None:
    """The longest tick that keeps readings apart as well; None if none was found.

    It is sought among whole ticks of the line that divide the usual step: others may do, too.
    """
    most = round(steps.usual / line.tick)
    small = [part for part in range(1, math.isqrt(most) + 1) if most % part == 0]
    for ticks in sorted({*small, *(most // part for part in small)} - {1}, reverse=True):
        if steps.apart(line.with_ticks(text := line.length_text(ticks))):
            return text
    return None
