"""The base of all values that make up a scenario: frozen, strictly typed, no unknown keys.

A probability is a threshold on a random word of 32 bits: an event is `word < threshold`, the same
bit in every engine, precision and machine.
"""

from itertools import pairwise
from typing import Annotated, Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

from paofed.core.arrays import FloatArray, IntArray

ThresholdArray = NDArray[np.uint64]

CERTAIN = 1 << 32  # above every word


def threshold(probability: ArrayLike) -> ThresholdArray:
    """Return the number of words, out of 2^32, that mean yes."""
    return np.rint(np.asarray(probability, dtype=np.float64) * CERTAIN).astype(np.uint64)


def by_group(values: float | tuple[float, ...], clients: IntArray) -> FloatArray:
    """Return the value of each client: client k is in group k mod G."""
    groups = np.atleast_1d(np.asarray(values, dtype=np.float64))
    return groups[clients % groups.size]


class Value(BaseModel):
    """A small immutable value, checked when it is made."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


Probability = Annotated[float, Field(ge=0, le=1)]

# TOML has lists; a frozen value keeps them as tuples. `strict=False` allows this conversion alone.
Probabilities = Annotated[tuple[Probability, ...], Field(min_length=1, strict=False)]
Counts = Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1, strict=False)]
Duration = Annotated[float, Field(ge=1)]
Durations = Annotated[tuple[Duration, ...], Field(min_length=1, strict=False)]

FORMS = ("one number", "by group")  # the two forms in which a number of a grouped law may be given


def _form(value: Any) -> str:
    return FORMS[isinstance(value, list | tuple)]


_Number = TypeVar("_Number")
ByGroup = Annotated[
    Annotated[_Number, Tag(FORMS[0])]
    | Annotated[tuple[_Number, ...], Field(min_length=1, strict=False), Tag(FORMS[1])],
    Discriminator(_form),
]


class Grouped(Value):
    """A law whose numbers are one for all clients, or one per group.

    Client k is in group k mod G.
    """

    @property
    def groups(self) -> int:
        """Count the groups."""
        return max(self._sizes.values(), default=1)

    @property
    def _sizes(self) -> dict[str, int]:
        """Return how many groups each list has; a list of one entry counts as one number."""
        lists = {name: len(value) for name, value in self if isinstance(value, tuple)}
        return {name: size for name, size in lists.items() if size > 1}

    @model_validator(mode="after")
    def _lists_agree(self) -> Self:
        for (one, size), (other, differs) in pairwise(self._sizes.items()):
            if size != differs:
                raise ValueError(
                    f"{one} has {size} groups, but {other} has {differs}: expected lists of one "
                    f"length, or one number for all"
                )
        return self


def _strictly_rising(ticks: tuple[int, ...]) -> tuple[int, ...]:
    if any(later <= earlier for earlier, later in pairwise(ticks)):
        raise ValueError("expected ticks that rise")
    return ticks


Ticks = Annotated[
    tuple[Annotated[int, Field(ge=1)], ...], Field(strict=False), AfterValidator(_strictly_rising)
]


def _rising(pair: tuple[float, float]) -> tuple[float, float]:
    if pair[0] > pair[1]:
        raise ValueError("expected [low, high]")
    return pair


_FAR = 1e6  # as wide as the widest kernel: beyond, features of inputs are noise
_Place = Annotated[float, Field(ge=-_FAR, le=_FAR)]
_Memory = Annotated[float, Field(ge=0, lt=1)]
_Variance = Annotated[float, Field(ge=0, le=_FAR**2)]
PlaceRange = Annotated[tuple[_Place, _Place], Field(strict=False), AfterValidator(_rising)]
MemoryRange = Annotated[tuple[_Memory, _Memory], Field(strict=False), AfterValidator(_rising)]
VarianceRange = Annotated[tuple[_Variance, _Variance], Field(strict=False), AfterValidator(_rising)]
