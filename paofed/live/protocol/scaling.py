"""One number of a sample: its name, how the model sees it, and which values of it are plausible."""

from dataclasses import dataclass, replace
from typing import Self

from paofed.errors import InputError, shown

_FAR = 1e300  # numbers beyond this are no measurements
_WIDE = 10.0  # values further than so many scales from the offset come from a broken sensor


class ManifestError(InputError):
    """Raised for a manifest that cannot be followed."""


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """One number as a device measures it, and as the model sees it: (x - offset) / scale.

    A sample with a value below `low` or above `high` is not learned from; None means no limit.
    """

    name: str
    offset: float = 0.0
    scale: float = 1.0
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        check("name of a number", _is_name(self.name), self.name, 'text without , or "')
        for value in (self.offset, self.scale):
            check(f"scaling of {self.name}", is_finite(value), value, "a finite number")
        check(f"scale of {self.name}", self.scale > 0, self.scale, "a number above 0")
        for limit in (self.low, self.high):
            right = limit is None or is_finite(limit)
            check(f"range of {self.name}", right, limit, "a finite number, or none")
        if self.low is not None and self.high is not None:
            limits = f"{self.low:g} to {self.high:g}"
            check(f"range of {self.name}", self.low < self.high, limits, "the lower one first")

    @property
    def meaning(self) -> tuple[str, float, float]:
        """Name, offset and scale, on which the meaning of a model's parameters depends."""
        return self.name, self.offset, self.scale

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
        far = _WIDE * self.scale
        low = self.offset - far if self.low is None else self.low
        high = self.offset + far if self.high is None else self.high
        return replace(self, low=low, high=high)


def check(name: str, right: bool, got: object, expected: str) -> None:  # noqa: FBT001 (an assertion)
    """Refuse a value of a manifest, unless `right`."""
    if not right:
        raise ManifestError(f"the manifest's {name} is {shown(got)}: expected {expected}")


def is_finite(value: object) -> bool:
    """Whether a value is a number that people could mean."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _FAR


def _is_name(value: object) -> bool:
    """Whether a name can be in the header of a table."""
    text = value if isinstance(value, str) else ""
    return text.isprintable() and text == text.strip() != "" and not set(text) & set(',"')
