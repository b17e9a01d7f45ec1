"""What a telemetry message says: topics that name their source, and values in payloads."""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

SOURCE, VALUE = "{source}", "{value}"
# Topics as these projects document them. Where VALUE is in the topic, payloads are plain numbers.
PRESETS = {
    "zigbee2mqtt": "zigbee2mqtt/{source}",
    "tasmota": "tele/{source}/SENSOR",
    "homie5": "homie/5/{source}/{value}",
    "statestream": "homeassistant/sensor/{source}_{value}/state",
}
LONGEST = 65_536  # the most bytes of a message
# A number above this is a time in milliseconds: in seconds, it would be the year 5138.
_MILLISECONDS = 1e11
_END = 253_402_300_800.0 - 86_400.0  # the last day of the year 9999, in any zone
Path = tuple[str, ...]  # keys from the outside to the inside; an empty path is the payload itself


class Pattern(NamedTuple):
    """A topic with the source's name in one of its parts; without it, all sources share it."""

    parts: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> "Pattern":
        """Read a pattern from the text that people write."""
        return cls(tuple(text.split("/")))

    @property
    def subscription(self) -> str:
        """The topic to subscribe to."""
        return "/".join("+" if SOURCE in part else part for part in self.parts)

    @property
    def is_shared(self) -> bool:
        """Whether the topic is one for all sources."""
        return not any(SOURCE in part for part in self.parts)

    def of_source(self, source: str) -> str:
        """The topic of one source."""
        return "/".join(part.replace(SOURCE, source) for part in self.parts)

    def source(self, topic: str) -> str | None:
        """Return the source whose topic this is, "" for one of all sources; None: no match."""
        parts = topic.split("/")
        if len(parts) != len(self.parts):
            return None
        found = ""
        for part, own in zip(parts, self.parts, strict=True):
            begin, named, end = own.partition(SOURCE)
            if not named and own != part:
                return None
            if named:
                if len(part) < len(begin + end) or not (
                    part.startswith(begin) and part.endswith(end)
                ):
                    return None
                found = part[len(begin) : len(part) - len(end)]
        return found

    def may_be(self, other: "Pattern") -> bool:
        """Whether some topic may match both patterns."""
        return len(self.parts) == len(other.parts) and all(
            mine == theirs or SOURCE in mine or SOURCE in theirs
            for mine, theirs in zip(self.parts, other.parts, strict=True)
        )


class Useless(NamedTuple):
    """Why something in a message is of no use: a value, by its name, or the whole message."""

    why: str
    name: str = ""

    def __str__(self) -> str:
        """Say it as the counts of what was passed over do."""
        return f"{self.name} {self.why}".lstrip()


class Telling(NamedTuple):
    """Values by name in a message, when they were measured, and why other values are missing."""

    values: Mapping[str, float]
    at: float | None  # seconds since 1970; None where the message does not say it
    passed_over: Sequence[Useless] = ()


class TelemetryShape(NamedTuple):
    """The paths of values, and perhaps of their time, in the messages of a topic."""

    pattern: Pattern
    paths: Mapping[str, Path]
    time: Path = ()

    def read(self, payload: bytes) -> Telling:
        """Take the values out of a message; a bad message can do no more than be passed over."""
        if len(payload) > LONGEST:
            return Telling({}, None, [Useless("longer than 64 KiB")])
        plain = not any(self.paths.values())
        try:
            content: Any = _plain(payload) if plain else json.loads(payload)
        except (ValueError, RecursionError):  # text in another encoding is a ValueError as well
            bad = [Useless("is not a number", name) for name in self.paths]
            return Telling({}, None, bad if plain else [Useless("not JSON")])
        at = _time(_at(content, self.time)) if self.time else None
        if self.time and at is None:
            return Telling({}, None, [Useless("without a time that can be read")])
        values, passed_over = {}, []
        for name, path in self.paths.items():
            found = _at(content, path)
            number, why = _number(found)
            if number is not None:
                values[name] = number
            elif found is not None:  # a value that is missing here may come in another message
                passed_over.append(Useless(why, name))
        if not values and not passed_over:
            passed_over = [Useless("without any of the values")]
        return Telling(values, at, passed_over)


def shapes_of(
    values: Mapping[str, tuple[Pattern, Path]], time: Path
) -> dict[Pattern, TelemetryShape]:
    """Return the shape of messages by topic; plain payloads hold no time."""
    found: dict[Pattern, TelemetryShape] = {}
    for name, (pattern, path) in values.items():
        shape = found.get(pattern, TelemetryShape(pattern, {}, time if path else ()))
        found[pattern] = shape._replace(paths={**shape.paths, name: path})
    return found


def _plain(payload: bytes) -> float:
    return _written(payload.decode())


def _written(text: str) -> float:
    """Read a number as people write it; true is 1, and false is 0."""
    words = {"true": 1.0, "false": 0.0}
    if "_" in text:  # Python alone would take an underscore
        raise ValueError(text)
    return words[text] if text in words else float(text)


def _at(content: Any, path: Path) -> Any:
    """Return what is at a path; None where there is nothing."""
    for key in path:
        if isinstance(content, dict):
            content = content.get(key)
        elif isinstance(content, list) and key.isdecimal() and int(key) < len(content):
            content = content[int(key)]
        else:
            return None
    return content


def _number(value: Any) -> tuple[float | None, str]:
    """Return a number, also of a text that is one, or why the value is no number."""
    try:
        number = _written(value) if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        return None, "is not a number"
    except OverflowError:
        number = math.inf
    return (number, "") if math.isfinite(number) else (None, "is not finite")


def _time(value: Any) -> float | None:
    """Return seconds since 1970 of seconds, milliseconds, or an ISO 8601 date and time.

    Times before 1970 and after the year 9999 are none that a calendar could tell.
    """
    try:
        seconds = (
            datetime.fromisoformat(value).timestamp()
            if isinstance(value, str)
            else _number(None if isinstance(value, bool) else value)[0]
        )
    except (ValueError, OverflowError, OSError):
        return None
    if seconds is not None and seconds > _MILLISECONDS:
        seconds /= 1000
    return seconds if seconds is not None and 0 <= seconds < _END else None
