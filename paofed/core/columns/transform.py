"""The base class of the records of all columns."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray
from paofed.errors import InputError, shown

Measures = Literal["number", "text", "time"]


@dataclass(frozen=True)
class Transform(ABC):
    """One column, by its name, and what is done to its values."""

    name: str
    kind: ClassVar[str]

    @property
    def measures(self) -> Measures:
        """What the column holds: numbers, texts or times in seconds since 1970."""
        return "number"

    @property
    def lags(self) -> tuple[int, ...]:
        """How many ticks back the values are from that the record needs.

        0 is the sample's own tick.
        """
        return (0,)

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """The names for people of the numbers that the record makes."""

    @property
    @abstractmethod
    def recipe(self) -> str:
        """What a device computes, in words."""

    @abstractmethod
    def numbers(self, *values: NDArray[Any]) -> FloatArray:
        """Return what a model sees of M values for each of the lags, of shape (M, labels).

        A missing number is NaN and a missing text is empty; either gives NaN.
        """


def require(right: bool, record: Transform, expected: str) -> None:  # noqa: FBT001 (an assertion)
    """Refuse a record for which `right` is false; `expected` says what would be right."""
    if not right:
        raise InputError(f"{shown(record)}: expected {expected}")


def turn_labels(name: str) -> tuple[str, str]:
    """Return the names of the two numbers of `turn`."""
    return f"sin {name}", f"cos {name}"


def turn(turns: FloatArray) -> FloatArray:
    """Return sine and cosine of M turns, of shape (M, 2): a turn's end is near its beginning."""
    return np.stack([np.sin(math.tau * turns), np.cos(math.tau * turns)], axis=1)
