"""What is tried: for a key some values, or a span to draw from; and which combinations of these.

Combinations are all there are, or some that are drawn at random.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np

from paofed.algorithms.setup import value_of
from paofed.core.arrays import FloatArray
from paofed.core.random import child, key_of, uniforms
from paofed.errors import InputError, unknown
from paofed.experiments.candidates import Choices

Scale = Literal["log", "linear"]
_SPAN_KEYS = ("from", "to", "scale")
_DIGITS = 4  # digits of a drawn number, which stands in names and tables
_BRANCH = 2**32 - 1  # a branch under the key of a seed that belongs to no world
MOST = 100_000  # the most combinations of one sweep


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


Axis = Choices | Span
Axes = Mapping[str, Axis]
Values = dict[str, Any]  # one value for each key


def span(what: str, low: float, high: float, scale: str | None = None) -> Span:
    """Make a span, by logarithms unless it begins at 0 or below, or another scale is given."""
    for end in (low, high):
        if not _is_number(end):
            raise InputError(f"{what} has an end {end!r}: expected a number", key=what)
    if not low < high:
        raise InputError(
            f"{what} goes from {low} to {high}: expected an end above its beginning", key=what
        )
    if scale is None:
        scale = "log" if low > 0 else "linear"
    if scale not in get_args(Scale):
        raise InputError(f"{what}: {unknown('scale', str(scale), get_args(Scale))}", key=what)
    if scale == "log" and low <= 0:
        raise InputError(f"{what} begins at {low}: expected a number above 0 for log", key=what)
    return Span(low, high, cast(Scale, scale))


def axis_of(key: str, given: Any) -> Axis:
    """Return what is tried for a key, which people give as values, a Span, or its ends by name."""
    if isinstance(given, Span):
        return span(key, *given)
    if isinstance(given, Mapping):
        for name in given:
            if name not in _SPAN_KEYS:
                raise InputError(f"{key}: {unknown('key', str(name), _SPAN_KEYS)}", key=key)
        for name in _SPAN_KEYS[:2]:
            if name not in given:
                raise InputError(f"{key}.{name} is missing: a span has both ends", key=key)
        return span(key, given["from"], given["to"], given.get("scale"))
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise InputError(
            f"{key} is {given!r}: expected a list of values, or the ends of a span, from and to",
            key=key,
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
        raise InputError(
            f"{key} has an end {word!r}: expected a number, as in {key}=0.1..1.6", key=key
        )
    return float(value) if isinstance(value, float) else int(value)


def _values(key: str, given: Sequence[Any]) -> Choices:
    values = tuple(_plain(key, value) for value in given)
    if not values:
        raise InputError(f"{key} is empty: expected at least one value", key=key)
    for value in values:
        if [same(value, other) for other in values].count(True) > 1:
            raise InputError(f"{key} has {value!r} twice: give each value once", key=key)
    return values


def _plain(key: str, value: Any) -> Any:
    """Return a value as JSON has it: a number, a text, a truth value, or a list of these."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(key, item) for item in value]
    if isinstance(value, str | bool) or _is_number(value):
        return value
    raise InputError(
        f"{key} has a value {value!r}: expected finite numbers, texts, true or false", key=key
    )


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same; true is not 1."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def grid(axes: Axes) -> list[Values]:
    """Return all combinations; the values of the last key change fastest."""
    lists: dict[str, Choices] = {}
    size = 1
    for key, axis in axes.items():
        if isinstance(axis, Span):
            raise InputError(
                f"{key} goes from {axis.low} to {axis.high}: a grid needs values, as in "
                f"{key}={axis.low},{axis.high}; or ask for a random design of so many points",
                key=key,
            )
        lists[key], size = axis, size * len(axis)
    if size > MOST:
        raise InputError(
            f"a grid of {size:,} combinations: expected at most {MOST:,}; take fewer values, or a "
            f"random design",
            key="over",
        )
    return [dict(zip(lists, values, strict=True)) for values in product(*lists.values())]


def drawn(axes: Axes, count: int, seed: int) -> list[Values]:
    """Draw `count` combinations at random, evenly spread along every key (a Latin hypercube).

    The way along a key is cut into `count` equal parts, and each part has one of the combinations.
    """
    if count > MOST:
        raise InputError(
            f"random is {count:,}: expected at most {MOST:,} combinations", key="random"
        )
    shares = [_shares(count, seed, number) for number in range(len(axes))]
    columns = [
        [_value(axis, share) for share in way.tolist()]
        for axis, way in zip(axes.values(), shares, strict=True)
    ]
    return [dict(zip(axes, values, strict=True)) for values in zip(*columns, strict=True)]


def _shares(count: int, seed: int, number: int) -> FloatArray:
    """Return a place in each of `count` equal parts of the way from 0 to 1, in a random order."""
    lots = uniforms(child(key_of(seed), _BRANCH, number), 2 * count, 0)
    found: FloatArray = (np.argsort(lots[:count], kind="stable") + lots[count:]) / count
    return found


def _value(axis: Axis, share: float) -> Any:
    return axis.at(share) if isinstance(axis, Span) else axis[int(share * len(axis))]
