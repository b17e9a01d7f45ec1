"""GATEWAY.toml: where telemetry comes from, what in it is what, and what is told in return."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from paofed.errors import InputError, unknown
from paofed.files import read_text
from paofed.live.gateway import telemetry
from paofed.live.gateway.login import TelemetryLogin
from paofed.live.gateway.pairing import Rule
from paofed.live.gateway.telemetry import PRESETS, SOURCE, VALUE, Pattern, TelemetryShape, shapes_of


class GatewayError(InputError):
    """Settings that cannot be followed; the error names their file."""


@dataclass(frozen=True, kw_only=True)
class Publishing:
    """What is published for others: predictions and errors, for every source."""

    topic: str = ""  # with {source}; "": nothing is published
    every: float = 1.0  # the least seconds between two messages of one kind and source
    retain: bool = False


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
    publish: Publishing = Publishing()

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the settings; file names in them are relative to the folder of `path`."""
        try:
            values = tomllib.loads(read_text(path))
        except tomllib.TOMLDecodeError as error:
            raise GatewayError(f"{path} is not TOML: {error}") from None
        try:
            return cls._of(values, path.resolve().parent)
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
        inputs = _values("inputs", values["inputs"], found)
        target = _values("target", values["target"], found)
        if len(target) != 1 or set(target) & set(inputs):
            raise GatewayError("target needs one name, which is not an input's")
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
            rule=Rule(tuple(inputs), next(iter(target)), window),
            publish=publish,
        )


_OF_TOPICS: tuple[str, ...] = ("preset", "topic", "time")
_TELEMETRY = (*_OF_TOPICS, *(field.name for field in fields(TelemetryLogin)))
_TABLES = ("telemetry", "inputs", "target", "publish")
KEYS = ("file", "state", "admit", "window", "most_per_second", "save_every", *_TABLES)
_Found = Mapping[str, tuple[Pattern, telemetry.Path]]


def _values(key: str, values: object, where: Mapping[str, Any]) -> _Found:
    """Return for each name the topic and the path of its value."""
    if not isinstance(values, dict) or not values:
        raise GatewayError(f'{key} is {values!r}: expected lines of NAME = "PATH"')
    return {name: _value(f"{key}.{name}", told, where) for name, told in values.items()}


def _value(key: str, told: object, where: Mapping[str, Any]) -> tuple[Pattern, telemetry.Path]:
    """Read a path in the common messages, a part of their topic, or a topic with a path."""
    if isinstance(told, dict):
        own = _table(key, told, ("topic", "path"))
        return _pattern(key, own.get("topic")), _path(key, own.get("path", ""))
    topic = _topic(where)
    if VALUE in topic:
        return _pattern(key, topic.replace(VALUE, _text(key, told))), ()
    path = _path(key, told)
    if not path:
        raise GatewayError(f"{key} is {told!r}: expected a path in the messages")
    return _pattern("telemetry.topic", topic), path


def _topic(where: Mapping[str, Any]) -> str:
    preset = where.get("preset")
    if preset is not None and preset not in PRESETS:
        raise GatewayError(unknown("preset", str(preset), PRESETS))
    if "topic" not in where and preset is None:
        raise GatewayError("telemetry has neither a preset nor a topic")
    return _text("telemetry.topic", where.get("topic", PRESETS.get(preset or "", "")))


def _pattern(key: str, topic: object) -> Pattern:
    text = _text(f"{key} (topic)", topic)
    pattern = Pattern.of(text)
    rest = [part for part in pattern.parts if part != SOURCE]
    wild = any(set(part) & set("+#{}\0") for part in rest)
    if len(rest) != len(pattern.parts) - 1 or wild:
        raise GatewayError(
            f"{key} has the topic {text!r}: expected {SOURCE} as one part of it, and no + or #"
        )
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
        raise GatewayError(f"{key} is {value!r}: expected a table")
    for name in value:
        if name not in known:
            raise GatewayError(unknown(f"setting of {key}", name, known))
    return dict(value)


def _text(key: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise GatewayError(f"{key} is {value!r}: expected a text")
    return value


def _texts(key: str, value: object) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list):
        raise GatewayError(f"{key} is {value!r}: expected a list of texts")
    return tuple(_text(key, text) for text in texts)


def _positive(key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1e6:
        raise GatewayError(f"{key} is {value!r}: expected a number above 0, up to 1,000,000")
    return float(value)


def _whole(key: str, value: object) -> int:
    if type(value) is not int or value < 1:
        raise GatewayError(f"{key} is {value!r}: expected a whole number from 1 on")
    return value
