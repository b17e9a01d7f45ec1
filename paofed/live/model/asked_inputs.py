"""What a reading must hold, by name, for a model to predict; and what is refused, in words.

Earlier values that a model looks back at are given by whoever asks: the value of O3 one tick before
is called O3[n-1].
"""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.core.columns.categories import COMPASS, Compass
from paofed.core.columns.numbers import Number
from paofed.core.columns.transform import Transform
from paofed.errors import InputError, unknown
from paofed.live.protocol.quantity import Quantity
from paofed.live.protocol.seen import TIME, number_or_nan

Kind = Literal["number", "text", "direction", "time"]
Given = Mapping[str, Any]  # a reading: values by name
# 1900 to 2200: a time outside these years is a mistake.
_CENTURIES = (-2_208_988_800.0, 7_258_118_400.0)
_LONGEST = 60  # characters of a value that a sentence has room for


class AskedInput(NamedTuple):
    """One value of a reading: its name, and what it may be."""

    name: str
    kind: Kind
    low: float | None = None  # values below are not plausible; None: no limit
    high: float | None = None  # values above are not plausible; None: no limit
    above: float | None = None  # values must be above this, where a logarithm is taken

    def taken(self, reading: Given) -> float | str:
        """Return the value in a reading; an error says what is wrong with it."""
        if self.name not in reading:
            raise InputError(f"{self.name} is missing")
        value = reading[self.name]
        if self.kind in ("text", "direction"):
            return self._text(value)
        number = instant(value) if self.kind == "time" else number_or_nan(value)
        if not math.isfinite(number):
            raise self._unexpected(value, _EXPECTED[self.kind])
        if (self.low is not None and number < self.low) or (
            self.high is not None and number > self.high
        ):
            limits = Quantity(name=self.name, low=self.low, high=self.high).limits
            raise self._unexpected(value, limits)
        if self.above is not None and not number > self.above:
            raise self._unexpected(value, f"more than {self.above:g}, for its logarithm")
        return number

    def _text(self, value: object) -> str:
        text = value.strip() if isinstance(value, str) else ""
        if not text or (self.kind == "direction" and text.upper() not in COMPASS):
            raise self._unexpected(value, _EXPECTED[self.kind])
        return text

    def _unexpected(self, value: object, expected: str) -> InputError:
        return InputError(f"{self.name} is {_short(value)}: expected {expected}")


_EXPECTED: Mapping[str, str] = {
    "number": "a finite number",
    "text": "a text",
    "direction": ", ".join(COMPASS),
    "time": "seconds since 1970, or a time such as 2014-03-01T13:00+01:00",
}


def inputs_of(columns: Sequence[Transform], measured: Sequence[Quantity]) -> tuple[AskedInput, ...]:
    """Return the values that the columns of a model need; `measured` has the plausible ranges."""
    ranges = {number.name: number for number in measured}
    found: dict[str, AskedInput] = {}
    for column in columns:
        logarithm = isinstance(column, Number) and column.logarithm
        limits = ranges.get(column.name, Quantity(name=column.name))
        for name in names_of(column):
            asked = AskedInput(name, _kind(column), limits.low, limits.high)
            if asked.kind == "time":
                asked = AskedInput(name, "time", *_CENTURIES)
            same = found.setdefault(name, asked)
            if same.kind != asked.kind:
                raise InputError(f"{name} is both an input and the time of a reading")
            found[name] = same._replace(above=-1.0) if logarithm else same
    return tuple(found.values())


def names_of(column: Transform) -> tuple[str, ...]:
    """Return the names of the values of a column for whoever asks, one for each of its lags."""
    if column.measures == "time":
        return (TIME,)
    return tuple(f"{column.name}[n-{lag}]" if lag else column.name for lag in column.lags)


def _kind(column: Transform) -> Kind:
    return "direction" if isinstance(column, Compass) else column.measures


def instant(value: object) -> float:
    """Return seconds since 1970 of a number or of a text such as 2014-03-01T13:00+01:00, or NaN.

    A text that names no zone is in UTC.
    """
    if not isinstance(value, str):
        return number_or_nan(value)
    try:
        time = datetime.fromisoformat(value.strip())
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return math.nan


def values_of(inputs: Sequence[AskedInput], readings: Sequence[Given]) -> dict[str, NDArray[Any]]:
    """Return the values of all readings by name, each an array; refuse all if one is bad."""
    rows = []
    for place, reading in enumerate(readings):
        try:
            rows.append(_row(inputs, reading))
        except InputError as error:
            raise InputError(f"readings[{place}]: {error}") from None
    columns = zip(*rows, strict=True) if rows else [() for _ in inputs]
    return {asked.name: np.array(column) for asked, column in zip(inputs, columns, strict=True)}


def _row(inputs: Sequence[AskedInput], reading: Given) -> list[float | str]:
    if not isinstance(reading, Mapping):
        raise InputError(f"it is {_short(reading)}: expected values by name")
    known = [asked.name for asked in inputs]
    for name in reading:
        if name not in known:
            raise InputError(unknown("input", str(name)[:_LONGEST], known))
    return [asked.taken(reading) for asked in inputs]


def _short(value: object) -> str:
    """Write a value for a sentence, cut where it is long."""
    text = value if isinstance(value, str) else json.dumps(value, default=repr)
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return repr(text) if isinstance(value, str) else text
