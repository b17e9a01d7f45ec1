"""What the records of all columns have."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray
from paofed.errors import InputError

Measures = Literal["number", "text", "time"]


@dataclass(frozen=True)
class Transform(ABC):
    """One column, by its name, and what is done to its values."""

    name: str
    kind: ClassVar[str]

    @property
    def measures(self) -> Measures:
        """What its values are; times are seconds since 1970."""
        return "number"

    @property
    def lags(self) -> tuple[int, ...]:
        """How many ticks back its values are from; 0 is the tick of the sample."""
        return (0,)

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """What its numbers are called, for people."""

    @property
    @abstractmethod
    def recipe(self) -> str:
        """What a device computes, in words."""

    @abstractmethod
    def numbers(self, *values: NDArray[Any]) -> FloatArray:
        """What a model sees of M values for each of the lags, of shape (M, labels).

        A number is missing where it is NaN, a text where it is empty: that makes NaN.
        """


def require(right: bool, record: Transform, expected: str) -> None:  # noqa: FBT001 (an assertion)
    """Refuse a record that makes no sense."""
    if not right:
        raise InputError(f"{record}: expected {expected}")


def turn_labels(name: str) -> tuple[str, str]:
    """What the two numbers of `turn` are called."""
    return f"sin {name}", f"cos {name}"


def turn(turns: FloatArray) -> FloatArray:
    """Sine and cosine of M turns, (M, 2): what comes round is near to itself."""
    return np.stack([np.sin(math.tau * turns), np.cos(math.tau * turns)], axis=1)
