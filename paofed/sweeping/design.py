"""Which combinations of values are tried: all of them, or some that are drawn at random."""

from itertools import product
from typing import Any

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.random import child, key_of, uniforms
from paofed.errors import InputError
from paofed.sweeping.axes import Axes, Span

_BRANCH = 2**32 - 1  # a branch under the key of a seed that belongs to no world
MOST = 100_000  # the most combinations of one sweep

Values = dict[str, Any]  # one value for each key


def grid(axes: Axes) -> list[Values]:
    """Return all combinations; the values of the last key change fastest."""
    lists: dict[str, tuple[Any, ...]] = {}
    size = 1
    for key, axis in axes.items():
        if isinstance(axis, Span):
            raise InputError(
                f"{key} goes from {axis.low} to {axis.high}: a grid needs values, as in "
                f"{key}={axis.low},{axis.high}; or ask for a random design of so many points"
            )
        lists[key], size = axis, size * len(axis)
    if size > MOST:
        raise InputError(
            f"a grid of {size:,} combinations: expected at most {MOST:,}; take fewer values, or a "
            f"random design"
        )
    return [dict(zip(lists, values, strict=True)) for values in product(*lists.values())]


def drawn(axes: Axes, count: int, seed: int) -> list[Values]:
    """Draw `count` combinations at random, evenly spread along every key (a Latin hypercube).

    The way along a key is cut into `count` equal parts, and each part has one of the combinations.
    """
    if count > MOST:
        raise InputError(f"random is {count:,}: expected at most {MOST:,} combinations")
    shares = [_shares(count, seed, number) for number in range(len(axes))]
    columns = [
        [_value(axis, share) for share in way.tolist()]
        for axis, way in zip(axes.values(), shares, strict=True)
    ]
    return [dict(zip(axes, values, strict=True)) for values in zip(*columns, strict=True)]


def _shares(count: int, seed: int, number: int) -> FloatArray:
    """Return a place in each of `count` equal parts of the way from 0 to 1, in a random order."""
    lots = uniforms(child(key_of(seed), _BRANCH, number), 2 * count, 0)
    found: FloatArray = (np.argsort(lots[:count], kind="stable") + lots[count:]) / count
    return found


def _value(axis: tuple[Any, ...] | Span, share: float) -> Any:
    return axis.at(share) if isinstance(axis, Span) else axis[int(share * len(axis))]
