"""Records of texts: directions and categories."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray
from paofed.core.columns.transform import Measures, Transform, require, turn, turn_labels
from paofed.errors import InputError, shown

COMPASS = ("N", "NNE", "NE", "ENE", "E", "ESE", "SE", "SSE",
           "S", "SSW", "SW", "WSW", "W", "WNW", "NW", "NNW")  # fmt: skip


@dataclass(frozen=True)
class Text(Transform):
    """A column of texts."""

    @property
    def measures(self) -> Measures:
        """A text column holds texts."""
        return "text"


@dataclass(frozen=True)
class Compass(Text):
    """Sine and cosine of a direction by name, in large or small letters."""

    kind = "compass"

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the two numbers: sine, then cosine."""
        return turn_labels(self.name)

    @property
    def recipe(self) -> str:
        """What a device computes, with the order of the directions."""
        return f"sin and cos of 2 pi {self.name} / 16, with N = 0, NNE = 1, ... NNW = 15"

    def numbers(self, *values: NDArray[Any]) -> FloatArray:
        """Return two numbers for each value; a text that is no direction is an error."""
        found, where = np.unique(values[0], return_inverse=True)
        for name in found.tolist():
            if name and name.upper() not in COMPASS:
                raise InputError(
                    f"column {self.name} holds {shown(name)}, which is no direction: "
                    f"expected {', '.join(COMPASS)}; or take {self.name}:one-hot"
                )
        turns = [COMPASS.index(n.upper()) / 16 if n else math.nan for n in found.tolist()]
        return turn(np.array(turns)[where])


@dataclass(frozen=True)
class OneHot(Text):
    """A 1 for the category that a text is, and a 0 for all others; all 0 if it is unknown."""

    categories: tuple[str, ...]

    kind = "one-hot"

    def __post_init__(self) -> None:
        known = self.categories
        right = all(known) and 0 < len(set(known)) == len(known)
        require(right, self, "categories, each one once")

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the numbers, one for each category."""
        return tuple(f"{self.name}={category}" for category in self.categories)

    @property
    def recipe(self) -> str:
        """What a device computes, with the categories in their order."""
        return f"1 where {self.name} is {', '.join(self.categories)}, in turn; else 0"

    def numbers(self, *values: NDArray[Any]) -> FloatArray:
        """Return a number for each category and value."""
        same = values[0][:, None] == np.array(self.categories)
        found: FloatArray = same.astype(np.float64)
        found[values[0] == ""] = math.nan
        return found
