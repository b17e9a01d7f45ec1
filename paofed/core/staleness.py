"""How much an update weighs by its age (alpha_l in the paper)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from paofed.errors import AlgorithmError

# From an age to a weight in [0, 1]; messages beyond the age limit never get here.
Staleness = Callable[[int], float]


@dataclass(frozen=True)
class Geometric:
    """alpha_l = base^l. The paper's versions use 1 (age is ignored) and 0.2.

    >>> Geometric(0.5)(3)
    0.125
    """

    base: float

    def __post_init__(self) -> None:
        if type(self.base) not in (int, float) or not 0.0 <= self.base <= 1.0:
            raise AlgorithmError(
                f"staleness base is {self.base!r}: expected a number from 0 (only fresh updates "
                f"count) to 1 (age is ignored)",
                key="staleness",
            )

    def __call__(self, age: int) -> float:
        """Return the weight of an update of this age."""
        return float(self.base) ** age


def is_weight(value: Any) -> bool:
    """Tell whether a value can be a weight: a number from 0 to 1."""
    try:
        return bool(0.0 <= value <= 1.0)
    except (TypeError, ValueError):  # the value is no number at all, or several
        return False


def weight_of(staleness: Staleness, age: int) -> float:
    """Return the weight of an update of this age.

    Refuse what a function of one's own gives wrong.
    """
    weight = staleness(age)
    if not is_weight(weight):
        raise AlgorithmError(
            f"staleness weighs an update of age {age} by {weight!r}: expected a weight from 0 "
            f"(it does not count) to 1 (it counts in full)"
        )
    return weight
