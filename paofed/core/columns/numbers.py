"""Records of numbers: scaled, their logarithms, lags and differences; and periodic values."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray
from paofed.core.columns.transform import Measures, Transform, require, turn, turn_labels
from paofed.core.scaling import Scaling, is_above_zero

MOST_LAG = 1000  # ticks: a device has to keep that many values of a column


@dataclass(frozen=True)
class Number(Scaling, Transform):
    """A number as its scaling makes it, or its logarithm log(1 + value) scaled likewise.

    With a `lag`, the value is the one so many ticks before; with a `diff`, it is the value of now
    less the value so many ticks before.
    """

    logarithm: bool = False
    lag: int = 0
    diff: int = 0

    kind = "number"

    def __post_init__(self) -> None:
        super().__post_init__()
        right = 0 <= min(self.lag, self.diff) == 0 and max(self.lag, self.diff) <= MOST_LAG
        require(right, self, f"either a lag or a difference, of 1 to {MOST_LAG} ticks")

    @property
    def lags(self) -> tuple[int, ...]:
        """How many ticks back the values are from: `lag`, or 0 and `diff`."""
        return (0, self.diff) if self.diff else (self.lag,)

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of the number, such as log1p(O3[n-1])."""
        places = (f"{self.name}[n-{lag}]" if lag else self.name for lag in self.lags)
        return (" - ".join(f"log1p({p})" if self.logarithm else p for p in places),)

    @property
    def recipe(self) -> str:
        """The formula in words, such as (O3 - 3) / 2."""
        (label,) = self.labels
        if self.is_identity:
            return label
        return f"({label} {'-+'[self.offset < 0]} {abs(self.offset):.6g}) / {self.scale:.6g}"

    def plain(self, *values: NDArray[Any]) -> FloatArray:
        """Return logarithm and difference of the values, before they are scaled.

        A value that has no logarithm gives NaN.
        """
        if self.logarithm:
            values = tuple(np.log1p(np.where(v > -1.0, v, math.nan)) for v in values)
        found: FloatArray = values[0] - values[1] if self.diff else values[0]
        return found

    def numbers(self, *values: NDArray[Any]) -> FloatArray:
        """Return one number for each value."""
        return self.scaled(self.plain(*values))[:, None]

    def measured(self, numbers: FloatArray) -> FloatArray:
        """Turn numbers that a model sees back into measured values.

        Refuses lags and differences.
        """
        plain = super().measured(numbers)
        with np.errstate(over="ignore"):
            return np.expm1(plain) if self.logarithm else plain


@dataclass(frozen=True)
class Cyclic(Transform):
    """Sine and cosine of a full turn in each period, of a number or of the time."""

    period: float
    time: bool = False

    kind = "cyclic"

    def __post_init__(self) -> None:
        require(is_above_zero(self.period), self, "a finite period above 0")

    @property
    def measures(self) -> Measures:
        """A cycle is computed from numbers or from times."""
        return "time" if self.time else "number"

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the two numbers: sine, then cosine."""
        return turn_labels(self.name)

    @property
    def recipe(self) -> str:
        """The formula in words, such as sin and cos of 2 pi hour / 24."""
        return f"sin and cos of 2 pi {self.name} / {self.period:g}"

    def numbers(self, *values: NDArray[Any]) -> FloatArray:
        """Return two numbers for each value."""
        return turn(values[0] / self.period)
