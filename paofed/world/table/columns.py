"""Columns of a table as inputs of a model: `name` or `name:transform`, fitted on the past alone.

What is fitted (means, spreads, categories) comes from a calibration period that lies before the
first tick, so nothing that happens later can leak into a prediction. The same constants can be
written into a device.
"""

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import BoolArray, FloatArray
from paofed.errors import InputError

TRANSFORMS: Mapping[str, str] = {
    "standardise": "less its mean, divided by its spread (without a word: this)",
    "log1p": "log(1 + value), then standardised: for amounts that span decades",
    "raw": "as it is",
    "cyclic": "sine and cosine of a full turn, as in hour:cyclic=24",
    "compass": "sine and cosine of a direction by name: N, NNE, NE, ...",
    "one-hot": "one input of 0 or 1 per category",
}
_SCALED = ("standardise", "log1p", "raw")
_COMPASS = ("N", "NNE", "NE", "ENE", "E", "ESE", "SE", "SSE",
            "S", "SSW", "SW", "WSW", "W", "WNW", "NW", "NNW")  # fmt: skip

_MOST_CATEGORIES = 100

TextArray = NDArray[np.str_]


class Column(NamedTuple):
    """Which column, and what is done to its values."""

    name: str
    transform: str = "standardise"
    period: str = ""  # of a cyclic one, as it was written

    @property
    def is_text(self) -> bool:
        """Whether its values are names rather than numbers."""
        return self.transform in ("compass", "one-hot")

    @property
    def is_one_number(self) -> bool:
        """Whether it stays one number, as a target must."""
        return self.transform in _SCALED


class Unit(NamedTuple):
    """What one number that a model sees stands for: from a measured value and back."""

    name: str = ""  # the column
    mean: float = 0.0
    spread: float = 1.0
    logarithm: bool = False
    one_number: bool = True  # not one of several that a column became

    def measured(self, values: FloatArray) -> FloatArray:
        """Return what was measured."""
        plain = values * self.spread + self.mean
        return np.expm1(plain) if self.logarithm else plain

    def learned(self, values: FloatArray) -> FloatArray:
        """Return what a device makes of it; of a negative amount, what it makes of 0."""
        plain = np.log1p(np.maximum(values, 0.0)) if self.logarithm else values
        return (plain - self.mean) / self.spread


class Inputs(NamedTuple):
    """What one column became: M readings of one or more numbers, and how, in words."""

    labels: tuple[str, ...]
    values: FloatArray  # (M, len(labels)); NaN where the reading is missing
    recipe: str  # what a device must compute
    unit: Unit

    @property
    def units(self) -> tuple[Unit, ...]:
        """That of each of the numbers."""
        return (self.unit,) * len(self.labels)


def column(text: str) -> Column:
    """Read `name` or `name:transform`; a name may hold colons itself.

    >>> column("hour:cyclic=24")
    Column(name='hour', transform='cyclic', period='24')
    """
    name, colon, last = text.rpartition(":")
    transform, _, period = last.partition("=")
    if not colon or transform not in TRANSFORMS:
        # A name with a colon, or a transform misspelt: only the table's header can tell.
        return Column(text)
    if (transform == "cyclic") != bool(period):
        raise InputError(
            f"{text!r} is not a column: expected a period for cyclic alone, as in {name}:cyclic=24"
        )
    return Column(name, transform, period)


def expand(
    col: Column, values: FloatArray | TextArray, past: BoolArray, period: float = math.nan
) -> Inputs:
    """Turn the values of a column into inputs, fitting what is fitted where `past` alone."""
    if col.transform == "one-hot":
        return _one_hot(col, values.astype(np.str_), past)
    if col.transform == "compass":
        return _compass(col, values.astype(np.str_))
    numbers = values.astype(np.float64)
    if col.transform == "cyclic":
        labels = (f"sin {col.name}", f"cos {col.name}")
        recipe = f"sin and cos of 2 pi {col.name} / {period:g}"
        return Inputs(labels, _turn(numbers / period), recipe, _part_of(col))
    if col.transform == "log1p":
        if (numbers <= -1).any():
            raise InputError(
                f"column {col.name} holds {numbers[numbers <= -1][0]:g}, which has no log1p: "
                f"expected values above -1; leave {col.name} standardised"
            )
        unit = Unit(col.name, logarithm=True)
        return _standardised(f"log1p({col.name})", np.log1p(numbers), past, unit)
    if col.transform == "raw":
        return Inputs((col.name,), numbers[:, None], col.name, Unit(col.name))
    return _standardised(col.name, numbers, past, Unit(col.name))


def _part_of(col: Column) -> Unit:
    return Unit(col.name, one_number=False)


def _standardised(label: str, numbers: FloatArray, past: BoolArray, unit: Unit) -> Inputs:
    known = numbers[past & np.isfinite(numbers)]
    if not known.size:
        raise InputError(f"{label} has no value in the calibration period: calibrate longer")
    mean, spread = float(known.mean()), float(known.std())
    # Equal values may differ from their mean by rounding alone.
    if spread <= 1e-9 * abs(mean) or spread == 0.0:
        raise InputError(
            f"{label} is always {mean:g} in the calibration period, so it has no spread: "
            f"leave it out, calibrate longer, or take it raw"
        )
    return Inputs(
        (label,),
        ((numbers - mean) / spread)[:, None],
        f"({label} {'-+'[mean < 0]} {abs(mean):.6g}) / {spread:.6g}",
        unit._replace(mean=mean, spread=spread),
    )


def _one_hot(col: Column, names: TextArray, past: BoolArray) -> Inputs:
    known = sorted(set(names[past & (names != "")].tolist()))
    if len(known) < 2:
        raise InputError(
            f"column {col.name} has {len(known) or 'no'} "
            f"{'category' if len(known) == 1 else 'categories'} in the calibration period: "
            f"expected two or more; leave it out or calibrate longer"
        )
    if len(known) > _MOST_CATEGORIES:
        raise InputError(
            f"column {col.name} has {len(known)} categories in the calibration period: expected at "
            f"most {_MOST_CATEGORIES}, since each becomes an input; leave it out"
        )
    values = (names[:, None] == np.array(known)).astype(np.float64)
    values[names == ""] = np.nan
    labels = tuple(f"{col.name}={name}" for name in known)
    recipe = f"1 where {col.name} is {', '.join(known)}, in turn; else 0"
    return Inputs(labels, values, recipe, _part_of(col))


def _compass(col: Column, names: TextArray) -> Inputs:
    sixteenths = {name: i for i, name in enumerate(_COMPASS)}
    found, where = np.unique(names, return_inverse=True)
    for name in found.tolist():
        if name and name.upper() not in sixteenths:
            raise InputError(
                f"column {col.name} holds {name!r}, which is no direction: "
                f"expected {', '.join(_COMPASS)}; or take {col.name}:one-hot"
            )
    turns = np.array([sixteenths.get(n.upper(), math.nan) for n in found.tolist()]) / 16
    recipe = f"sin and cos of 2 pi {col.name} / 16, with N = 0, NNE = 1, ... NNW = 15"
    labels = (f"sin {col.name}", f"cos {col.name}")
    return Inputs(labels, _turn(turns[where]), recipe, _part_of(col))


def _turn(turns: FloatArray) -> FloatArray:
    return np.stack([np.sin(math.tau * turns), np.cos(math.tau * turns)], axis=1)


_UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


def seconds(text: str) -> float | None:
    """Read a duration such as 15min, 1h or 30d; None where the text is something else.

    >>> seconds("15min"), seconds("2w"), seconds("2014-03-01")
    (900.0, 1209600.0, None)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?(ms|s|min|h|d|w)", text.strip())
    return float(found[1]) * _UNITS[found[2]] if found and float(found[1]) else None


def duration_text(length: float) -> str:
    """Write a duration as `seconds` reads it.

    >>> duration_text(3600.0), duration_text(5400.0), duration_text(1e-5)
    ('1h', '90min', '0.00001s')
    """
    for unit in ("w", "d", "h", "min", "s"):
        if length >= _UNITS[unit] and length % _UNITS[unit] == 0:
            return f"{number_text(length / _UNITS[unit])}{unit}"
    return f"{number_text(length)}s"


def number_text(number: float) -> str:
    """Write a number so that the very same one is read again, without an exponent.

    >>> number_text(360.0), number_text(1e7 / 3)
    ('360', '3333333.3333333335')
    """
    return np.format_float_positional(number, trim="-")
