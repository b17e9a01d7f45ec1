"""What a model sees, written from docs/live.md alone: no NumPy, no paofed."""

import math
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

Json = dict[str, Any]

COMPASS = ["N", "NNE", "NE", "ENE", "E", "ESE", "SE", "SSE",
           "S", "SSW", "SW", "WSW", "W", "WNW", "NW", "NNW"]  # fmt: skip


def turned(turns: float) -> list[float]:
    return [math.sin(2 * math.pi * turns), math.cos(2 * math.pi * turns)]


def numbers(column: Json, values: list[Any]) -> list[float]:
    """What the model sees of a column: values are of now, of before, or of both."""
    kind = column["transform"]
    if kind == "number":
        if column.get("logarithm"):
            values = [math.log(1 + value) for value in values]
        plain = values[0] - values[1] if "diff" in column else values[0]
        return [(plain - column.get("offset", 0.0)) / column.get("scale", 1.0)]
    if kind == "cyclic":
        return turned(values[0] / column["period"])
    if kind == "compass":
        return turned(COMPASS.index(values[0].upper()) / 16)
    if kind == "one-hot":
        return [float(values[0] == category) for category in column["categories"]]
    wall = datetime.fromtimestamp(values[0], UTC).astimezone(ZoneInfo(column.get("zone", "UTC")))
    if column["cycle"] == "hour":
        seconds = wall.second + wall.microsecond / 1e6
        return turned((wall.hour + (wall.minute + seconds / 60) / 60) / 24)
    if column["cycle"] == "weekday":
        return turned(wall.weekday() / 7)
    days = [datetime(year, 1, 1, tzinfo=UTC).toordinal() for year in (wall.year, wall.year + 1)]
    return turned((wall.toordinal() - days[0]) / (days[1] - days[0]))


def width(column: Json) -> int:
    kind = column["transform"]
    return len(column["categories"]) if kind == "one-hot" else 1 if kind == "number" else 2


def is_of_time(column: Json) -> bool:
    return column["transform"] == "calendar" or bool(column.get("time"))


def lags(column: Json) -> list[int]:
    return [0, column["diff"]] if "diff" in column else [column.get("lag", 0)]


def instant(value: float | str) -> float:
    """Seconds since 1970."""
    if not isinstance(value, str):
        return value
    time = datetime.fromisoformat(value)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
