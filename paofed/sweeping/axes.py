"""What is tried for a key: some values, or a span that values are drawn from."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from paofed.algorithms.spec import value_of
from paofed.errors import InputError, unknown

Scale = Literal["log", "linear"]
_SPAN_KEYS = ("from", "to", "scale")
_DIGITS = 4  # digits of a drawn number, which stands in names and tables


class Span(NamedTuple):
    """From one number to another, both included; only whole numbers if both ends are whole."""

    low: float
    high: float
    scale: Scale

    @property
    def whole(self) -> bool:
        """Whether only whole numbers are drawn."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def at(self, share: float) -> float:
        """Return the value at a share of the way, from 0 up to 1.

        >>> Span(1, 100, "log").at(0.5), Span(0.0, 0.5, "linear").at(0.5)
        (10, 0.25)
        """
        # The last whole number has as much room as the others.
        low, high = float(self.low), float(self.high) + self.whole
        found = low * (high / low) ** share if self.scale == "log" else low + (high - low) * share
        if self.whole:
            return min(math.floor(found), int(self.high))
        return min(max(float(f"{found:.{_DIGITS}g}"), low), high)


Axis = tuple[Any, ...] | Span
Axes = Mapping[str, Axis]


def span(what: str, low: float, high: float, scale: str | None = None) -> Span:
    """Make a span, by logarithms unless it begins at 0 or below, or another scale is given."""
    for end in (low, high):
        if not _is_number(end):
            raise InputError(f"{what} has an end {end!r}: expected a number")
    if not low < high:
        raise InputError(f"{what} goes from {low} to {high}: expected an end above its beginning")
    if scale is None:
        return Span(low, high, "log" if low > 0 else "linear")
    for known in get_args(Scale):
        if scale == known:
            if known == "log" and low <= 0:
                raise InputError(f"{what} begins at {low}: expected a number above 0 for log")
            return Span(low, high, known)
    raise InputError(f"{what}: {unknown('scale', str(scale), get_args(Scale))}")


def axis_of(key: str, given: Any) -> Axis:
    """Return what is tried for a key, which people give as values, a Span, or its ends by name."""
    if isinstance(given, Span):
        return span(key, *given)
    if isinstance(given, Mapping):
        for name in given:
            if name not in _SPAN_KEYS:
                raise InputError(f"{key}: {unknown('key', str(name), _SPAN_KEYS)}")
        for name in _SPAN_KEYS[:2]:
            if name not in given:
                raise InputError(f"{key}.{name} is missing: a span has both ends")
        return span(key, given["from"], given["to"], given.get("scale"))
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise InputError(
            f"{key} is {given!r}: expected a list of values, or the ends of a span, from and to"
        )
    return _values(key, list(given))


def axis_from_text(text: str) -> tuple[str, Axis]:
    """Read a key and what is tried for it from one word.

    >>> axis_from_text("shared=1,4,16")
    ('shared', (1, 4, 16))
    >>> axis_from_text("step_size=0.05..1.6")
    ('step_size', Span(low=0.05, high=1.6, scale='log'))
    """
    key, equals, said = text.partition("=")
    if not key or not equals or not said:
        raise InputError(
            f"{text!r} is nothing to sweep over: write KEY=VALUE,VALUE,... or KEY=LOW..HIGH"
        )
    if ".." not in said:
        return key, _values(key, [value_of(word) for word in said.split(",")])
    ends, colon, scale = said.partition(":")
    low, _, high = ends.partition("..")
    return key, span(key, _end(key, low), _end(key, high), scale if colon else None)


def _end(key: str, word: str) -> float:
    value = value_of(word)
    if not _is_number(value):
        raise InputError(f"{key} has an end {word!r}: expected a number, as in {key}=0.1..1.6")
    return float(value) if isinstance(value, float) else int(value)


def _values(key: str, given: Sequence[Any]) -> tuple[Any, ...]:
    values = tuple(_plain(key, value) for value in given)
    if not values:
        raise InputError(f"{key} is empty: expected at least one value")
    for value in values:
        if [same(value, other) for other in values].count(True) > 1:
            raise InputError(f"{key} has {value!r} twice: give each value once")
    return values


def _plain(key: str, value: Any) -> Any:
    """Return a value as JSON has it: a number, a text, a truth value, or a list of these."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(key, item) for item in value]
    if isinstance(value, str | bool) or _is_number(value):
        return value
    raise InputError(f"{key} has a value {value!r}: expected finite numbers, texts, true or false")


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same; true is not 1."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
