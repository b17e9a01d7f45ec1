"""What the options of these rows may be."""

import math

from paofed.errors import AlgorithmError


def number(name: str, value: float, least: float, most: float = math.inf) -> float:
    """Return an option that is a number, as a float; refuse one that is outside."""
    is_number = type(value) in (int, float) and math.isfinite(value)
    if not is_number or not least <= value <= most:
        end = "on" if most == math.inf else f"to {most:g}"
        raise AlgorithmError(f"{name} is {value!r}: expected a number from {least:g} {end}")
    return float(value)


def positive(name: str, value: float, most: float = math.inf) -> float:
    """Return an option that is a number above 0, as a float."""
    if number(name, value, 0.0, most) == 0.0:
        raise AlgorithmError(f"{name} is {value!r}: expected a number above 0")
    return float(value)


def count(name: str, value: int) -> int:
    """Return an option that counts something, at least one."""
    if type(value) is not int or value < 1:
        raise AlgorithmError(f"{name} is {value!r}: expected a whole number from 1 on")
    return value
