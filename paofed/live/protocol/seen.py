"""What a model sees of a sample, where that is more than its numbers, each scaled.

A manifest's `inputs` and `target` are what a device measures. `seen` says how these become the
numbers of the model: by records of columns (paofed.core.columns), the same as over a table.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray
from paofed.core.columns.numbers import Number
from paofed.core.columns.transform import Transform
from paofed.core.columns.written import read, written
from paofed.errors import InputError, unknown
from paofed.live.protocol.quantity import ManifestError, Quantity, check

_TICKS, _VALUES = "past_ticks", "past_values"  # arrays of a device's state
TIME = "time"  # the name of a sample's time
Value = float | str
Sample = Sequence[Value] | NDArray[np.float64]
Measured = Sequence[Value | None] | Sample  # values, some of which may be missing


@dataclass(frozen=True)
class Seen:
    """The columns of the model's inputs, in their order, and the column of the target."""

    inputs: tuple[Transform, ...]
    target: Number

    def require(self, measured: Sequence[str], target: str) -> None:
        """Refuse columns that need other values than are measured."""
        right = (self.target.name, self.target.lags) == (target, (0,))
        check("seen target", right, self.target.name, f"{target} itself")
        check("seen inputs", len(self.inputs) > 0, self.inputs, "at least one column")
        for column in self.inputs:
            known = column.measures == "time" or column.name in measured
            past = column.name == target and 0 not in column.lags
            check("seen input", known or past, column.name, "an input, or the target before")
        check("list of inputs", not (self.needs_time and TIME in (*measured, target)), TIME,
              "another name, since the time of a sample is seen, too")  # fmt: skip
        used = {column.name: column.measures for column in self._measured}
        for name in measured:
            check("list of inputs", name in used, name, "what some column is made of")
        for column in self._measured:
            same = used[column.name] == column.measures
            check("seen input", same, column.name, "either numbers or texts")

    @property
    def _measured(self) -> list[Transform]:
        return [column for column in self.inputs if column.measures != "time"]

    @property
    def count(self) -> int:
        """How many numbers the model sees."""
        return sum(len(column.labels) for column in self.inputs)

    @cached_property
    def texts(self) -> frozenset[str]:
        """Which of the inputs are texts."""
        return frozenset(column.name for column in self.inputs if column.measures == "text")

    @cached_property
    def reaches(self) -> Mapping[str, int]:
        """How many ticks back a device must remember, by name of the measured value."""
        deepest = [(column.name, max(column.lags)) for column in self._measured]
        names = sorted({name for name, lag in deepest if lag})
        return {name: max(lag for other, lag in deepest if other == name) for name in names}

    @cached_property
    def needs_time(self) -> bool:
        """Whether samples need the time at which they were measured."""
        return bool(self.reaches) or len(self._measured) < len(self.inputs)

    def lacks_logarithm(self, name: str, value: Value) -> bool:
        """Whether a value has no logarithm, though a column takes one of it."""
        taken = (c for c in (*self.inputs, self.target) if isinstance(c, Number) and c.logarithm)
        return any(c.name == name and number_or_nan(value) <= -1.0 for c in taken)

    def named(self, names: Sequence[str], x: Sample) -> dict[str, Value]:
        """Return a sample by name: finite numbers, and texts where columns are made of texts."""
        if len(x) != len(names):
            raise InputError(f"the input is {x!r}: expected {', '.join(names)}")
        found = dict(zip(names, x, strict=True))
        for name, value in found.items():
            if name in self.texts:
                if not (isinstance(value, str) and value.strip()):
                    raise InputError(f"{name} is {value!r}: expected a text")
                found[name] = value.strip()
            elif not math.isfinite(number_or_nan(value)):
                raise InputError(f"{name} is {value!r}: expected a finite number")
        return found

    def numbers(
        self, now: Mapping[str, Value], time: float, before: Callable[[str, int], float]
    ) -> FloatArray:
        """Return what the model sees, NaN where something is missing.

        `before` returns the value of a name so many ticks earlier.
        """
        found = []
        for column in self.inputs:
            if column.measures == "time":
                values = [np.array([time])]
            else:
                name = column.name
                values = [np.array([before(name, i) if i else now[name]]) for i in column.lags]
            found.append(column.numbers(*values)[0])
        return np.concatenate(found)

    def with_numbers(self, added: Sequence[Quantity]) -> "Seen":
        """Return the record with more inputs at the end, each scaled."""
        return Seen((*self.inputs, *(number.record for number in added)), self.target)

    def to_json(self) -> dict[str, Any]:
        """Return the record as a JSON object."""
        inputs = [written(column) for column in self.inputs]
        return {"inputs": inputs, "target": written(self.target)}

    @classmethod
    def from_json(cls, value: object) -> "Seen":
        """Read a JSON object; the error for an unknown key says to upgrade paofed."""
        found = value if isinstance(value, dict) else {}
        for key in found:
            if key not in ("inputs", "target"):
                known = unknown("key of seen", str(key), ("inputs", "target"))
                raise ManifestError(f"{known}: upgrade paofed")
        inputs = found.get("inputs")
        check("seen inputs", isinstance(inputs, list), inputs, "a list of columns")
        try:
            target = read(found.get("target"))
            columns = tuple(map(read, inputs or ()))
        except InputError as error:
            raise ManifestError(f"the manifest's seen columns: {error}") from None
        if not isinstance(target, Number):
            raise ManifestError(f"the manifest's seen target is a {target.kind}: expected a number")
        return cls(columns, target)


def number_or_nan(value: object) -> float:
    """Return a number, or NaN for anything else."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    try:
        return float(value) if is_number else math.nan  # type: ignore[arg-type]
    except OverflowError:  # a whole number with hundreds of digits
        return math.nan


def required(at: float | None) -> float:
    """Return the time of a sample, or refuse a sample without one."""
    if at is None or not math.isfinite(at):
        raise InputError(f"the time of the sample is {at!r}: expected seconds since 1970")
    return float(at)


class Agreed(NamedTuple):
    """What a manifest says of inputs and target."""

    inputs: tuple[Quantity, ...]
    target: Quantity
    seen: Seen | None


def agreed_on(columns: Sequence[Transform]) -> Agreed:
    """Return what a fleet agrees on that sees columns as a table did, the target last.

    Plausible are values of up to 10 spreads from the mean, as the model sees them. Where every
    column is a number of its own, scaled, `seen` is not needed.
    """
    *inputs, target = columns
    if not isinstance(target, Number):
        raise ManifestError(f"{target.name} is a {target.kind}: expected a target of one number")
    names = dict.fromkeys(c.name for c in inputs if c.measures != "time" and c.name != target.name)
    quantities = tuple(_quantity(name, columns) for name in names)
    measured = _quantity(target.name, columns)
    plain = [quantity.record for quantity in (*quantities, measured)]
    seen = None if plain == [*columns] else Seen(tuple(inputs), target)
    return Agreed(quantities, measured, seen)


def _quantity(name: str, columns: Sequence[Transform]) -> Quantity:
    """Return one measured value with its usual range, where that is known.

    The range is that of its own column, if it has one, rather than of a column that looks back.
    """
    for column in sorted(columns, key=lambda column: max(column.lags)):
        if column.name == name and isinstance(column, Number) and not column.diff:
            low, high = column.usual
            limited = Quantity(name, low=low, high=high if math.isfinite(high) else None)
            if column.logarithm:
                return limited
            return replace(limited, offset=column.offset, scale=column.scale)
    return Quantity(name)


class Remembered:
    """What a device remembers of its last ticks, for inputs that look back.

    Numbers by tick and name; of several samples in a tick, the last one counts.
    """

    def __init__(self, reaches: Mapping[str, int]) -> None:
        """Remember these names, each for so many ticks."""
        self._names = list(reaches)
        self._reach = max(reaches.values(), default=0)
        self._known: dict[int, dict[str, float]] = {}

    def at(self, tick: int, name: str) -> float:
        """Return what was measured in a tick; NaN where nothing was."""
        return self._known.get(tick, {}).get(name, math.nan)

    def note(self, tick: int, values: Mapping[str, float]) -> None:
        """Remember what was measured in a tick, and forget what is too far from that tick.

        A tick that is too far may also be in the future, from a clock that was wrong for a while.
        """
        kept = {name: values[name] for name in self._names if math.isfinite(values[name])}
        self._known[tick] = {**self._known.get(tick, {}), **kept}
        near = sorted(known for known in self._known if abs(known - tick) <= self._reach)
        self._known = {known: self._known[known] for known in near}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what must survive a power cut; empty where nothing is to be remembered."""
        if not self._names:
            return {}
        values = [[self.at(tick, name) for name in self._names] for tick in self._known]
        shape = len(self._known), len(self._names)
        return {
            _TICKS: np.array([*self._known], dtype=np.int64),
            _VALUES: np.array(values, dtype=np.float64).reshape(shape),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take up what was saved; arrays that do not fit are left alone."""
        if _TICKS not in state or state[_VALUES].shape[1] != len(self._names):
            return
        for tick, row in zip(state[_TICKS].tolist(), state[_VALUES].tolist(), strict=True):
            self.note(tick, dict(zip(self._names, row, strict=True)))
