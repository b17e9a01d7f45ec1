"""Numbers that people give as options: each is taken, or refused in one line."""

import math
from typing import Any

from paofed.errors import AlgorithmError


def count(name: str, value: Any, least: int = 1) -> int:
    """Take a whole number from `least` on."""
    if type(value) is not int or value < least:
        raise AlgorithmError(f"{name} is {value!r}: expected a whole number from {least} on")
    return value


def number(name: str, value: Any, least: float, most: float = math.inf) -> float:
    """Take a finite number from `least` to `most`."""
    is_number = type(value) in (int, float) and math.isfinite(value)
    if not is_number or not least <= value <= most:
        end = "on" if most == math.inf else f"to {most:g}"
        raise AlgorithmError(f"{name} is {value!r}: expected a number from {least:g} {end}")
    return float(value)


def positive(name: str, value: Any, most: float = math.inf) -> float:
    """Take a finite number above 0."""
    if number(name, value, 0.0, most) == 0.0:
        raise AlgorithmError(f"{name} is {value!r}: expected a number above 0")
    return float(value)


def fraction(name: str, value: Any) -> float:
    """Take a number from 0 on that is below 1."""
    if number(name, value, 0.0, 1.0) == 1.0:
        raise AlgorithmError(f"{name} is {value!r}: expected a number below 1")
    return float(value)
