"""Which points a question is about."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from paofed.core.arrays import BoolArray
from paofed.sweeping.axes import same
from paofed.sweeping.points import Point

Given = Mapping[str, Any]  # values that points must have for some keys


def having(points: Sequence[Point], numbers: Sequence[int], given: Given) -> list[int]:
    """Return which points have these values; a point without such a key fits any value."""
    return [
        number
        for number in numbers
        if all(same(points[number].values.get(key, v), v) for key, v in given.items())
    ]


def begun(finished: BoolArray, numbers: Sequence[int]) -> list[int]:
    """Return which points were run in some world; `finished` says in which, (P, R)."""
    return [number for number in numbers if finished[number].any()]


def in_most_worlds(finished: BoolArray, numbers: Sequence[int]) -> list[int]:
    """Return the points that were run in the most worlds, all in the same; only these compare."""
    some = begun(finished, numbers)
    if not some:
        return []
    most = finished[max(some, key=lambda number: int(finished[number].sum()))]
    return [number for number in some if np.array_equal(finished[number], most)]


def distinct(values: Sequence[Any], order: Sequence[Any]) -> list[Any]:
    """Return each value once: rising where all are numbers, else in the given order.

    >>> distinct([4, 1, 4], []), distinct(["live", "paper"], ["paper", "live"])
    ([1, 4], ['paper', 'live'])
    """
    found: list[Any] = []
    for value in values:
        found += [] if any(same(value, other) for other in found) else [value]
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in found):
        return sorted(found)
    return sorted(found, key=lambda v: [*(same(v, other) for other in order), True].index(True))
