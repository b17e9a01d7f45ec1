"""GATEWAY.toml: where telemetry comes from, what in it is what, and what is told in return."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Self, get_args

from paofed.core.columns.calendar import zone_of
from paofed.errors import InputError, shown, unknown
from paofed.files import read_text
from paofed.live.gateway import telemetry
from paofed.live.gateway.login import TelemetryLogin
from paofed.live.gateway.pairing import Rule
from paofed.live.gateway.telemetry import PRESETS, SOURCE, VALUE, Pattern, TelemetryShape, shapes_of
from paofed.toml import toml_of

Part = Literal["hour", "weekday", "month", "yearday"]
PARTS: tuple[str, ...] = get_args(Part)


class GatewayError(InputError):
    """Settings that cannot be followed; the error names their file."""


@dataclass(frozen=True, kw_only=True)
class Publishing:
    """What is published for others: predictions and errors, for every source."""

    topic: str = ""  # with {source}; "": nothing is published
    every: float = 1.0  # the least seconds between two messages of one kind and source
    retain: bool = False


@dataclass(frozen=True)
class CalendarInput:
    """An input that the clock tells: a number of a sample's time, by the clocks of a zone."""

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


@dataclass(frozen=True, kw_only=True)
class GatewaySettings:
    """All settings of a gateway."""

    file: Path
    state: Path
    admit: tuple[str, ...] = ()
    window: float = 60.0
    most_per_second: int = 10
    save_every: float = 60.0
    broker: TelemetryLogin
    shapes: tuple[TelemetryShape, ...]
    rule: Rule
    calendar: Mapping[str, CalendarInput]  # inputs that the clock tells, by name
    same: Mapping[str, str]  # the source to which each of several names in topics belongs
    publish: Publishing = Publishing()

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of all inputs."""
        return (*self.rule.inputs, *self.calendar)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the settings; file names in them are relative to the folder of `path`."""
        text = read_text(path)
        try:
            return cls._of(toml_of(text), path.resolve().parent)
        except InputError as error:
            raise GatewayError(f"{path}: {error}") from None

    @classmethod
    def _of(cls, values: dict[str, Any], folder: Path) -> Self:
        for key in values:
            if key not in KEYS:
                raise GatewayError(unknown("setting", key, KEYS))
        for key in ("file", "state", "telemetry", "inputs", "target"):
            if key not in values:
                raise GatewayError(f"there is no {key}")
        window = _positive("window", values.get("window", cls.window))
        source = _table("telemetry", values["telemetry"], _TELEMETRY)
        found = {key: source.pop(key) for key in _OF_TOPICS if key in source}
        told, calendar = _with_calendar(values["inputs"])
        inputs = _values("inputs", told, found)
        target = _values("target", values["target"], found)
        if len(target) != 1 or set(target) & {*inputs, *calendar}:
            raise GatewayError("target needs one name, which is not an input's")
        shared = frozenset(name for name, (pattern, _) in inputs.items() if pattern.is_shared)
        for name, (pattern, _) in target.items():
            if pattern.is_shared:
                raise GatewayError(f"target.{name} has a topic of all sources: expected {SOURCE}")
        publish = _publishing(values.get("publish", {}))
        time = _path("telemetry.time", found.get("time", ""))
        shapes = tuple(shapes_of({**inputs, **target}, time).values())
        plain = [name for shape in shapes for name, path in shape.paths.items() if not path]
        if time and plain:
            raise GatewayError(f"telemetry.time is given, and {plain[0]} is plain: it has no time")
        for shape in shapes if publish.topic else ():
            if shape.pattern.may_be(Pattern.of(publish.topic)):
                raise GatewayError("publish topic is one of telemetry: the gateway would hear it")
        return cls(
            file=folder / _text("file", values["file"]),
            state=folder / _text("state", values["state"]),
            admit=_texts("admit", values.get("admit", [])),
            window=window,
            most_per_second=_whole("most_per_second", values.get("most_per_second", 10)),
            save_every=_positive("save_every", values.get("save_every", cls.save_every)),
            broker=TelemetryLogin.of(source, folder),
            shapes=shapes,
            rule=Rule(tuple(inputs), next(iter(target)), window, shared, timed=bool(time)),
            calendar=calendar,
            same=_same(values.get("same", {})),
            publish=publish,
        )


_OF_TOPICS: tuple[str, ...] = ("preset", "topic", "time")
_TELEMETRY = (*_OF_TOPICS, *(field.name for field in fields(TelemetryLogin)))
_TABLES = ("telemetry", "inputs", "target", "same", "publish")
KEYS = ("file", "state", "admit", "window", "most_per_second", "save_every", *_TABLES)
_Found = Mapping[str, tuple[Pattern, telemetry.Path]]


def _values(key: str, values: object, where: Mapping[str, Any]) -> _Found:
    """Return for each name the topic and the path of its value."""
    if not isinstance(values, dict) or not values:
        raise GatewayError(f'{key} is {shown(values)}: expected lines of NAME = "PATH"')
    return {name: _value(f"{key}.{name}", told, where) for name, told in values.items()}


def _with_calendar(values: object) -> tuple[object, dict[str, CalendarInput]]:
    """Part the inputs that the clock tells from all others."""
    if not isinstance(values, dict):
        return values, {}
    told = {name: one for name, one in values.items() if _is_calendar(one)}
    others = {name: one for name, one in values.items() if name not in told}
    if told and not others:
        raise GatewayError("inputs are of the calendar alone: expected one that is measured")
    return others, {name: _calendar(f"inputs.{name}", one) for name, one in told.items()}


def _is_calendar(told: object) -> bool:
    return isinstance(told, dict) and "calendar" in told


def _calendar(key: str, told: object) -> CalendarInput:
    own = _table(key, told, ("calendar", "zone"))
    if own["calendar"] not in PARTS:
        raise GatewayError(unknown(f"calendar of {key}", str(own["calendar"]), PARTS))
    zone = _text(f"{key}.zone", own.get("zone", "UTC"))
    zone_of(zone)
    return CalendarInput(own["calendar"], zone)


def _same(values: object) -> dict[str, str]:
    """Return by every name in topics the source to which it belongs."""
    if not isinstance(values, dict):
        raise GatewayError(f'same is {shown(values)}: expected lines of SOURCE = ["NAME", "NAME"]')
    found: dict[str, str] = {}
    for source, names in values.items():
        for name in _texts(f"same.{source}", names):
            if found.setdefault(name, source) != source:
                raise GatewayError(f"same.{source} has {name!r}, which is {found[name]}'s already")
    return found


def _value(key: str, told: object, where: Mapping[str, Any]) -> tuple[Pattern, telemetry.Path]:
    """Read a path in the common messages, a part of their topic, or a topic with a path."""
    if isinstance(told, dict):
        own = _table(key, told, ("topic", "path"))
        pattern = _pattern(key, own.get("topic"), may_be_shared=True)
        return pattern, _path(key, own.get("path", ""))
    topic = _topic(where)
    if VALUE in topic:
        return _pattern(key, topic.replace(VALUE, _text(key, told))), ()
    path = _path(key, told)
    if not path:
        raise GatewayError(f"{key} is {shown(told)}: expected a path in the messages")
    return _pattern("telemetry.topic", topic), path


def _topic(where: Mapping[str, Any]) -> str:
    if "topic" not in where and "preset" not in where:
        raise GatewayError("telemetry has neither a preset nor a topic")
    usual = None
    if "preset" in where:
        preset = _text("telemetry.preset", where["preset"])
        if preset not in PRESETS:
            raise GatewayError(unknown("preset", preset, PRESETS))
        usual = PRESETS[preset]
    return _text("telemetry.topic", where.get("topic", usual))


def _pattern(key: str, topic: object, *, may_be_shared: bool = False) -> Pattern:
    text = _text(f"{key} (topic)", topic)
    pattern = Pattern.of(text)
    shared = may_be_shared and pattern.is_shared
    wild = set(text.replace(SOURCE, "")) & set("+#{}\0")
    if wild or text.count(SOURCE) != 1 - shared:
        expected = "no + or #" if shared else f"{SOURCE} in it once, and no + or #"
        raise GatewayError(f"{key} has the topic {shown(text)}: expected {expected}")
    return pattern


def _publishing(values: object) -> Publishing:
    told = _table("publish", values, tuple(field.name for field in fields(Publishing)))
    if "topic" in told:
        _pattern("publish", told["topic"])
    if "every" in told:
        _positive("publish.every", told["every"])
    if not isinstance(told.get("retain", False), bool):
        raise GatewayError(f"publish.retain is {told['retain']!r}: expected true or false")
    return Publishing(**told)


def _path(key: str, value: object) -> telemetry.Path:
    """Read keys, given as one text with dots between them, or as a list."""
    if isinstance(value, list):
        return _texts(key, value)
    return tuple(_text(key, value).split(".")) if value != "" else ()


def _table(key: str, value: object, known: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise GatewayError(f"{key} is {shown(value)}: expected a table")
    for name in value:
        if name not in known:
            raise GatewayError(unknown(f"setting of {key}", name, known))
    return dict(value)


def _text(key: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise GatewayError(f"{key} is {shown(value)}: expected a text")
    return value


def _texts(key: str, value: object) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list):
        raise GatewayError(f"{key} is {shown(value)}: expected a list of texts")
    return tuple(_text(key, text) for text in texts)


def _positive(key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1e6:
        raise GatewayError(f"{key} is {shown(value)}: expected a number above 0, up to 1,000,000")
    return float(value)


def _whole(key: str, value: object) -> int:
    if type(value) is not int or value < 1:
        raise GatewayError(f"{key} is {shown(value)}: expected a whole number from 1 on")
    return value
