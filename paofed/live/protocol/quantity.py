"""One number of a sample: its name, how the model sees it, and which values of it are plausible."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

from paofed.core.columns.numbers import Number
from paofed.core.scaling import Scaling, is_finite
from paofed.errors import InputError, shown


class ManifestError(InputError):
    """Raised for a manifest that cannot be followed."""

    whose = "the manifest's "


@dataclass(frozen=True)
class _Named:
    """A name that stands before offset and scale, as in a manifest."""

    name: str


@dataclass(frozen=True)
class Quantity(Scaling, _Named):
    """One number as a device measures it, by its name, and as the model sees it.

    A sample with a value below `low` or above `high` is not learned from; None means no limit.
    """

    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        check("name of a number", _is_name(self.name), self.name, 'text without , or "')
        super().__post_init__()
        for limit in (self.low, self.high):
            right = limit is None or is_finite(limit)
            check(f"range of {self.name}", right, limit, "a finite number, or none")
        if self.low is not None and self.high is not None:
            limits = f"{self.low:g} to {self.high:g}"
            check(f"range of {self.name}", self.low < self.high, limits, "the lower one first")

    def _require(self, right: Callable[[object], bool], got: object, _: str, /) -> None:
        """Refuse what is no offset or no scale, in words for those who wrote the manifest."""
        check(f"scaling of {self.name}", is_finite(got), got, "a finite number")
        check(f"scale of {self.name}", right(got), got, "a number above 0")

    @property
    def meaning(self) -> tuple[str, float, float]:
        """Name, offset and scale, on which the meaning of a model's parameters depends."""
        return self.name, self.offset, self.scale

    @property
    def record(self) -> Number:
        """How the model sees the number, as a column of a table has it."""
        return Number(self.name, self.offset, self.scale)

    @property
    def limits(self) -> str:
        """Say which values are plausible."""
        low, high = (f"{limit:g}" if limit is not None else "" for limit in (self.low, self.high))
        return (
            f"{low} to {high}" if low and high else f"{low or high} or {'more' if low else 'less'}"
        )

    def is_plausible(self, value: float) -> bool:
        """Whether a value, as measured, lies within the limits."""
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def limited(self) -> Self:
        """Return the number with the usual limits, where it has none."""
        low, high = self.usual
        low = low if self.low is None else self.low
        return replace(self, low=low, high=high if self.high is None else self.high)


def check(name: str, right: bool, got: object, expected: str) -> None:  # noqa: FBT001 (an assertion)
    """Refuse a value of a manifest, unless `right`."""
    if not right:
        text = f"{ManifestError.whose}{name} is {shown(got)}: expected {expected}"
        raise ManifestError(text, key=name)


def _is_name(value: object) -> bool:
    """Whether a name can be in the header of a table."""
    text = value if isinstance(value, str) else ""
    return text.isprintable() and text == text.strip() != "" and not set(text) & set(',"')
