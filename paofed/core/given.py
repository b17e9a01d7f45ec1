"""Separates a rule from the numbers that a `partial` gives to it.

An engine that compiles rules passes such numbers when it runs: one machine code then serves all
values of an option.
"""

from functools import partial
from typing import Any

import numpy as np


def apart(rule: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a rule, and the numbers that `partial` gives to the rule as its first arguments.

    >>> apart(partial(max, 1, 2.5))
    (<built-in function max>, (1, 2.5))

    Arguments given by keyword, and arguments that are no numbers, stay with the rule.
    """
    if isinstance(rule, partial) and not rule.keywords and _is_number(rule.args):
        return rule.func, rule.args
    return rule, ()


def _is_number(value: Any) -> bool:
    """Tell whether a value is a number, an array of numbers, or a tuple of numbers and arrays."""
    if type(value) is tuple:
        return all(_is_number(item) for item in value)
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biuf" and value.flags.c_contiguous
    return type(value) in (bool, int, float) or isinstance(value, np.number | np.bool_)
