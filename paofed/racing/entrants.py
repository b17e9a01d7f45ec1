"""A method with the options that are chosen for it, as all words that are tried."""

import math
from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

from paofed.algorithms.outside import split

Axes = Mapping[str, tuple[Any, ...]]
_WIDTH_OPTIONS = ("shared", "k", "up", "down")


class Entrant(NamedTuple):
    """A method, and for each option the values to choose from; None leaves the option out."""

    word: str
    axes: Axes

    def candidates(self, features: float = math.inf) -> list[str]:
        """Return all settings that are tried, as words; windows wider than the model are left out.

        >>> Entrant("pao-fed-u1", {"shared": (None, 8)}).candidates()
        ['pao-fed-u1', 'pao-fed-u1:shared=8']
        """
        choices = (dict(zip(self.axes, one, strict=True)) for one in product(*self.axes.values()))
        return [worded(self.word, one) for one in choices if _widest(one) <= features]


def worded(word: str, values: Mapping[str, object]) -> str:
    """Return a word with more options; an option of value None is left out.

    >>> worded("pao-fed-u1:shared=8", {"step_size": 0.4, "clip": None})
    'pao-fed-u1:shared=8,step_size=0.4'
    >>> worded("mine.py:triggered", {"step_size": 0.4})  # a place, not options
    'mine.py:triggered:step_size=0.4'
    >>> worded("top-k", {"feedback": True})
    'top-k:feedback=true'
    """
    pairs = [f"{key}={_typed(value)}" for key, value in values.items() if value is not None]
    return word if not pairs else f"{word}{':' if split(word)[1] is None else ','}{','.join(pairs)}"


def _typed(value: object) -> str:
    """Write a value as people type it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _widest(values: Mapping[str, Any]) -> int:
    """Return the most coordinates that a message has."""
    return max((values.get(key) or 0 for key in _WIDTH_OPTIONS), default=0)
