"""The time of a sample as inputs: time of day, weekday and day of the year; time zones."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal, get_args
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray
from paofed.core.columns.transform import Measures, Transform, require, turn, turn_labels
from paofed.errors import InputError, shown

Cycle = Literal["hour", "weekday", "yearday"]
CYCLES: tuple[str, ...] = get_args(Cycle)
_TURNS = {
    "hour": "hour / 24, with its minutes",
    "weekday": "weekday / 7, with Monday = 0",
    "yearday": "yearday / days of the year, with 1 January = 0",
}
_DAY = 86400


@dataclass(frozen=True)
class Calendar(Transform):
    """Sine and cosine of the time of day, the weekday or the day of the year, by a zone's clocks.

    Weekday and day of the year change at midnight, the time of day changes all the time.
    """

    cycle: Cycle
    zone: str = "UTC"

    kind = "calendar"

    def __post_init__(self) -> None:
        require(self.cycle in CYCLES, self, f"a cycle of {', '.join(CYCLES)}")
        zone_of(self.zone)

    @property
    def measures(self) -> Measures:
        """A calendar is computed from times."""
        return "time"

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the two numbers: sine, then cosine."""
        return turn_labels(self.cycle)

    @property
    def recipe(self) -> str:
        """Say what a full turn is, and by which zone's clocks."""
        return f"sin and cos of 2 pi {_TURNS[self.cycle]}; {self.zone}"

    def numbers(self, *values: NDArray[Any]) -> FloatArray:
        """Return two numbers for each time."""
        local = values[0] + ahead_of_utc(self.zone, values[0])
        if self.cycle == "hour":
            return turn(np.mod(local, _DAY) / _DAY)
        days = np.floor(local / _DAY).astype(np.int64).astype("datetime64[D]")
        if self.cycle == "weekday":
            return turn((days.astype(np.int64) + 3) % 7 / 7)  # 1970 began on a Thursday
        year = days.astype("datetime64[Y]")
        first, last = (y.astype("datetime64[D]") for y in (year, year + 1))
        return turn((days - first) / (last - first))


def ahead_of_utc(zone: str, times: FloatArray) -> FloatArray:
    """Return by how many seconds the clocks of a zone are ahead of UTC at each time."""
    if zone == "UTC":
        return np.zeros_like(times)
    found, where = np.unique(np.floor(times), return_inverse=True)
    clocks = zone_of(zone)
    shown = (datetime.fromtimestamp(time, UTC).astimezone(clocks) for time in found.tolist())
    ahead: FloatArray = np.array([s.replace(tzinfo=UTC).timestamp() for s in shown]) - found
    return ahead[where]


@cache
def zone_of(name: str) -> ZoneInfo:
    """Return the clocks of a zone by its name in the tz database."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise InputError(
            f"{shown(name)} is no zone that is known here: expected a name such as Europe/Oslo "
            f"(where no zone is known: pip install tzdata)"
        ) from None
