"""Columns of a table as inputs of a model: `name` or `name:transform`, fitted on the past alone.

Means, spreads and categories are fitted on a calibration period that lies before the first tick, so
nothing that happens later can leak into a prediction. The result is a record (paofed.core.columns),
with which a device computes the same numbers.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import BoolArray, IntArray
from paofed.core.columns.calendar import CYCLES, Calendar, Cycle
from paofed.core.columns.categories import Compass, OneHot
from paofed.core.columns.numbers import MOST_LAG, Cyclic, Number
from paofed.core.columns.transform import Transform
from paofed.core.scaling import is_constant
from paofed.durations import seconds
from paofed.errors import InputError

TRANSFORMS: Mapping[str, str] = {
    "standardise": "less its mean, divided by its spread (without a word: this)",
    "log1p": "log(1 + value), then standardised: for amounts that span decades",
    "raw": "as it is",
    "cyclic": "sine and cosine of a full turn, as in hour:cyclic=24",
    "compass": "sine and cosine of a direction by name: N, NNE, NE, ...",
    "one-hot": "one input of 0 or 1 per category",
    "lag": "what it was so many ticks before, as in O3:lag=1 or O3:log1p:lag=1",
    "diff": "the difference to that, as in O3:diff=1",
    "hour": "of the time: sine and cosine of the time of day",
    "weekday": "of the time: sine and cosine of the day of the week",
    "yearday": "of the time: sine and cosine of the day of the year",
}
TIME = "time"  # stands for the time of a reading, whatever its columns are called
_SCALED = ("standardise", "log1p", "raw")
_STEPS = ("lag", "diff")
_MOST_CATEGORIES = 100

_Number = TypeVar("_Number", bound=np.generic)


class Texts(NamedTuple):
    """A column of texts: the different ones in order, and which of them every row has.

    Every text is kept once. An array of texts would have room for the longest one in every row.
    """

    different: NDArray[np.object_]
    which: IntArray  # (M,)

    def some(self, rows: IntArray) -> "Texts":
        """Return the texts of some rows, in their order."""
        return Texts(self.different, self.which[rows])

    @property
    def missing(self) -> BoolArray:
        """The rows without a text."""
        return self.rows(self.different == "")

    def occur(self, rows: BoolArray) -> BoolArray:
        """Return which of the different texts occur in these rows."""
        return np.isin(np.arange(self.different.size), self.which[rows])

    def rows(self, found: NDArray[_Number]) -> NDArray[_Number]:
        """Return what was found for each different text, for every row."""
        return found[self.which]


class Column(NamedTuple):
    """Which column of a table, and what is done to its values."""

    name: str
    transform: str = "standardise"
    period: str = ""  # the period of a cyclic column, as it was written
    lag: int = 0  # ticks
    diff: int = 0  # ticks

    @property
    def is_text(self) -> bool:
        """Whether the column holds names rather than numbers."""
        return self.transform in ("compass", "one-hot")

    @property
    def is_calendar(self) -> bool:
        """Whether the inputs are made of the times of the readings."""
        return self.transform in CYCLES

    @property
    def is_one_number(self) -> bool:
        """Whether the column gives one number of the reading itself, as a target must."""
        return self.transform in _SCALED and not (self.lag or self.diff)


def column(text: str) -> Column:
    """Read `name` or `name:transform`; a name may hold colons itself.

    >>> column("hour:cyclic=24")
    Column(name='hour', transform='cyclic', period='24', lag=0, diff=0)
    >>> column("O3:log1p:lag=2")
    Column(name='O3', transform='log1p', period='', lag=2, diff=0)
    """
    name, colon, last = text.rpartition(":")
    word, _, value = last.partition("=")
    if not colon or word not in TRANSFORMS:
        # A name with a colon, or a misspelt transform: only the table's header can tell which.
        return Column(text)
    if word in _STEPS:
        return _stepped(text, column(name), word, value)
    if (word == "cyclic") != bool(value):
        raise InputError(
            f"{text!r} is not a column: expected a period for cyclic alone, as in {name}:cyclic=24"
        )
    return Column(name, word, value)


def _stepped(text: str, col: Column, word: str, value: str) -> Column:
    """Read how many ticks back a lag or a difference looks."""
    ticks = int(value) if value.isdecimal() and len(value) < 9 else 0
    if not 1 <= ticks <= MOST_LAG:
        raise InputError(
            f"{text!r} is not a column: expected 1 to {MOST_LAG} ticks, as in {col.name}:{word}=1"
        )
    if not col.is_one_number:
        raise InputError(
            f"{text!r} is not a column: expected {word} of a number that is standardised, log1p or "
            f"raw, as in {col.name}:log1p:{word}=1"
        )
    return col._replace(lag=ticks) if word == "lag" else col._replace(diff=ticks)


def fit(col: Column, past: BoolArray, *values: NDArray[Any]) -> Transform:
    """Make the record of a column, fitted on the rows where `past` is true alone.

    `values` are one array for each of the record's lags.
    """
    if col.transform == "cyclic":
        return Cyclic(col.name, _period(col, positive(col.period), "a number"))
    if col.transform == "compass":
        return Compass(col.name)
    if col.transform == "one-hot":
        return OneHot(col.name, _categories(col, values[0][past]))
    number = unfitted(col)
    return number if col.transform == "raw" else _standardised(number, past, *values)


def of_time(col: Column, zone: str) -> Transform:
    """Make the record of a column that is the time of the readings."""
    if col.transform == "cyclic":
        period = _period(col, seconds(col.period), "a length such as 1d")
        return Cyclic(col.name, period, time=True)
    return Calendar(col.name, cast(Cycle, col.transform), zone)


def _period(col: Column, found: float | None, expected: str) -> float:
    if not found:
        raise InputError(f"{col.name}:cyclic={col.period}: expected {expected} as its period")
    return found


def unfitted(col: Column) -> Number:
    """Return the record of a column of one number before anything is fitted."""
    return Number(col.name, logarithm=col.transform == "log1p", lag=col.lag, diff=col.diff)


def _standardised(number: Number, past: BoolArray, *values: NDArray[Any]) -> Number:
    (label,) = number.labels
    if number.logarithm and any((v <= -1).any() for v in values):
        beyond = next(v[v <= -1][0] for v in values if (v <= -1).any())
        raise InputError(
            f"column {number.name} holds {beyond:g}, which has no log1p: "
            f"expected values above -1; leave {number.name} standardised"
        )
    plain = number.plain(*values)
    known = plain[past & np.isfinite(plain)]
    if not known.size:
        raise InputError(f"{label} has no value in the calibration period: calibrate longer")
    mean, spread = float(known.mean()), float(known.std())
    if is_constant(mean, spread):
        raise InputError(
            f"{label} is always {mean:g} in the calibration period, so it has no spread: "
            f"leave it out, calibrate longer, or take it raw"
        )
    return replace(number, offset=mean, scale=spread)


def _categories(col: Column, names: NDArray[Any]) -> tuple[str, ...]:
    """Return the categories that occur in `names`, the texts of the past."""
    known = sorted(set(names[names != ""].tolist()))
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
    return tuple(known)


def positive(text: str) -> float | None:
    """Read a finite number above 0; return 0 for one that is not above 0, None for no number."""
    try:
        return max(finite(text), 0.0)
    except ValueError:
        return None


def finite(text: str) -> float:
    """Read a finite number; raises ValueError."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not finite")
    return number
