"""Numbers that people give as options: taken, or refused in one line."""

import math
from typing import Any

from paofed.errors import AlgorithmError


def count(name: str, value: Any, least: int = 1) -> int:
    """Take a whole number from `least` on."""
    if type(value) is not int or value < least:
        raise AlgorithmError(f"{name} is {value!r}: expected a whole number from {least} on")
    return value


def positive(name: str, value: Any) -> float:
    """Take a finite number above 0."""
    if type(value) not in (int, float) or not 0 < value < math.inf:
        raise AlgorithmError(f"{name} is {value!r}: expected a finite number above 0")
    return float(value)


def fraction(name: str, value: Any) -> float:
    """Take a number from 0 on that is below 1."""
    if type(value) not in (int, float) or not 0 <= value < 1:
        raise AlgorithmError(f"{name} is {value!r}: expected a number from 0 on and below 1")
    return float(value)
