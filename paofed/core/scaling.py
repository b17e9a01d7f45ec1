"""How a model sees a number: less an offset, and divided by a scale; and how it is measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from paofed.core.arrays import BoolArray, FloatArray
from paofed.errors import InputError, shown

FAR = 1e300  # numbers beyond this are no measurements
_WIDE = 10.0  # values further than so many scales from the offset come from a broken sensor
_ROUNDING = 1e-9  # values whose standard deviation is below this share of their mean are constant


@dataclass(frozen=True)
class Scaling:
    """A model sees (x - offset) / scale of a measured value x."""

    offset: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        self._require(is_finite, self.offset, "a finite offset")
        self._require(is_above_zero, self.scale, "a finite scale above 0")

    def _require(self, right: Callable[[object], bool], got: object, expected: str, /) -> None:
        """Refuse what is no offset or no scale, in words for those who made the record."""
        if not right(got):
            raise InputError(f"{shown(self)}: expected {expected}")

    def scaled(self, x: FloatArray) -> FloatArray:
        """Return measured values as a model sees them."""
        return scaled(x, self.offset, self.scale)

    def measured(self, numbers: FloatArray) -> FloatArray:
        """Turn numbers that a model sees back into measured values."""
        return numbers * self.scale + self.offset

    @property
    def usual(self) -> tuple[float, float]:
        """The lowest and the highest measured value that no sensor has to be broken for."""
        low, high = self.measured(np.array([-_WIDE, _WIDE])).tolist()
        return low, high

    @property
    def is_identity(self) -> bool:
        """Whether (x - offset) / scale is x."""
        return (self.offset, self.scale) == (0.0, 1.0)

    @property
    def words(self) -> str:
        """Offset and scale, for people."""
        return f"offset {self.offset:g} and scale {self.scale:g}"


def scaled(x: FloatArray, offset: FloatArray | float, scale: FloatArray | float) -> FloatArray:
    """Return measured values as a model sees them; `offset` and `scale` may be one for each."""
    return (x - offset) / scale


def offsets_and_scales(scalings: Sequence[Scaling]) -> tuple[FloatArray, FloatArray]:
    """Return the offsets and the scales of several numbers, for `scaled`."""
    offset, scale = np.array([(number.offset, number.scale) for number in scalings]).T
    return offset, scale


def fitted(x: FloatArray, y: FloatArray) -> tuple[Scaling, ...]:
    """Take means and standard deviations of inputs and, last, of the target of samples.

    The scale of a constant is 1.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        mean, spread = np.append(x.mean(axis=0), y.mean()), np.append(x.std(axis=0), y.std())
    if not (np.abs([mean, spread]) < FAR).all():
        raise InputError(
            "samples are too large for a standard deviation: expected values below 1e150; "
            "measure them in a larger unit, or give standardize=False"
        )
    scale = np.where(is_constant(mean, spread), 1.0, spread)
    return tuple(map(Scaling, mean.tolist(), scale.tolist()))


def is_constant(mean: FloatArray | float, spread: FloatArray | float) -> BoolArray:
    """Whether values are equal: their computed spread may be a little above 0, by rounding."""
    return np.asarray(spread <= _ROUNDING * np.abs(mean))


def is_finite(value: object) -> TypeGuard[float]:
    """Whether a value is a number that people could mean."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < FAR


def is_above_zero(value: object) -> TypeGuard[float]:
    """Whether a value is a number above 0 that people could mean."""
    return is_finite(value) and value > 0
