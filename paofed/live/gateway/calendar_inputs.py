"""Inputs that the clock tells: the hour, the weekday, the month or the day of the year."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from paofed.core.columns.calendar import zone_of

Part = Literal["hour", "weekday", "month", "yearday"]
PARTS: tuple[str, ...] = get_args(Part)


@dataclass(frozen=True)
class CalendarInput:
    """A number of a sample's time, by the clocks of a zone."""

    part: Part
    zone: str = "UTC"

    def at(self, time: float) -> float:
        """Return the number at a time, in seconds since 1970.

        The hour is 0 to 24 with its minutes, the weekday 0 (Monday) to 6, the month 1 to 12, the
        day of the year 1 to 366.

        >>> CalendarInput("hour").at(5400.0), CalendarInput("weekday").at(0.0)
        (1.5, 3.0)
        """
        now = datetime.fromtimestamp(time, zone_of(self.zone))
        match self.part:
            case "hour":
                return now.hour + now.minute / 60 + now.second / 3600
            case "weekday":
                return float(now.weekday())
            case "month":
                return float(now.month)
            case _:
                return float(now.timetuple().tm_yday)
