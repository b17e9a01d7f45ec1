"""The base of everything a scenario is made of: frozen, strictly typed, no unknown keys."""

from itertools import pairwise
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


class Value(BaseModel):
    """A small immutable value, checked when it is made."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


Probability = Annotated[float, Field(ge=0, le=1)]

# TOML has lists only; a frozen value keeps them as tuples. `strict=False` allows just that.
Probabilities = Annotated[tuple[Probability, ...], Field(min_length=1, strict=False)]
Counts = Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1, strict=False)]
Durations = Annotated[tuple[Annotated[float, Field(ge=1)], ...], Field(min_length=1, strict=False)]


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


_FAR = 1e6  # as far as the widest kernel reaches: beyond, features of inputs are noise
_Place = Annotated[float, Field(ge=-_FAR, le=_FAR)]
_Memory = Annotated[float, Field(ge=0, lt=1)]
_Variance = Annotated[float, Field(ge=0, le=_FAR**2)]
PlaceRange = Annotated[tuple[_Place, _Place], Field(strict=False), AfterValidator(_rising)]
MemoryRange = Annotated[tuple[_Memory, _Memory], Field(strict=False), AfterValidator(_rising)]
VarianceRange = Annotated[tuple[_Variance, _Variance], Field(strict=False), AfterValidator(_rising)]
