"""What rules of one's own may call, for numba: twins of functions of paofed.core.

A property test holds each of them to the function that it stands for.
"""

from typing import Any

import numpy as np
from numba import njit, types
from numba.core.imputils import lower_constant
from numba.core.typing.typeof import typeof_impl
from numba.extending import models, overload, overload_method, register_model

from paofed.core import parts, random, selection
from paofed.core.parts import Part
from paofed.core.selection import Windows

_M0, _M1 = (np.uint64(m) for m in random.MULTIPLIERS)
_W0, _W1 = (np.uint64(w) for w in random.INCREMENTS)
_WORD, _SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32)
_ROUNDS = random.ROUNDS


_NO_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


@njit(**_NO_WRAPPERS)
def _philox(low: Any, high: Any, c0: Any, c1: Any, c2: Any) -> Any:
    """Four random words of a counter whose last word is 0 (paofed.core.random.philox)."""
    x0, x1, x2, x3 = np.uint64(c0), np.uint64(c1) & _WORD, np.uint64(c2), np.uint64(0)
    k0, k1 = np.uint64(low), np.uint64(high)
    for _ in range(_ROUNDS):
        p0, p1 = x0 * _M0, x2 * _M1
        x0, x2 = (p1 >> _SHIFT) ^ x1 ^ k0, (p0 >> _SHIFT) ^ x3 ^ k1
        x1, x3 = p1 & _WORD, p0 & _WORD
        k0, k1 = (k0 + _W0) & _WORD, (k1 + _W1) & _WORD
    return x0, x1, x2, x3


@overload(parts.draws)
def _draws(stamp: Any, count: Any) -> Any:  # noqa: ARG001 (the interface of an overload)
    def draws(stamp: Any, count: Any) -> Any:
        numbers = np.empty(count)
        for block in range((count + 3) // 4):
            words = _philox(stamp.key.low, stamp.key.high, block, stamp.client, stamp.tick)
            for i in range(4):
                if 4 * block + i < count:
                    numbers[4 * block + i] = np.float64(words[i]) * 2.0**-32
        return numbers

    return draws


@overload(parts.placed)
def _placed(w: Any, part: Any) -> Any:  # noqa: ARG001 (likewise)
    def placed(w: Any, part: Any) -> Any:
        new = w.copy()
        for i in range(part.coordinates.size):
            new[part.coordinates[i]] = part.values[i]
        return new

    return placed


@overload(parts.silence)
def _silence() -> Any:
    def silence() -> Any:
        return Part(np.zeros(0, dtype=np.int64), np.zeros(0))

    return silence


@overload(selection.window)
def _window(start: Any, width: Any, features: Any) -> Any:  # noqa: ARG001 (likewise)
    def window(start: Any, width: Any, features: Any) -> Any:
        coordinates = np.empty(width, dtype=np.int64)
        for i in range(width):
            coordinates[i] = (start + i) % features
        return coordinates

    return window


class _WindowsType(types.Type):
    """Windows as a constant that a rule speaks of."""

    def __init__(self, windows: Windows) -> None:
        self.windows = windows
        super().__init__(repr(windows))


register_model(_WindowsType)(models.OpaqueModel)


@typeof_impl.register(Windows)
def _type_of_windows(windows: Windows, _: Any) -> _WindowsType:
    return _WindowsType(windows)


@lower_constant(_WindowsType)
def _constant_windows(context: Any, *_: Any) -> Any:
    return context.get_dummy_value()


@overload_method(_WindowsType, "at")
def _windows_at(windows: Any, stamp: Any) -> Any:  # noqa: ARG001 (likewise)
    whole = windows.windows.width is None
    width, ahead = windows.windows.width or 0, windows.windows.ahead
    turns = 0 if windows.windows.coordinated else 1

    def at(windows: Any, stamp: Any) -> Any:  # noqa: ARG001 (likewise)
        size = stamp.features if whole else width
        start = size * (stamp.tick + ahead + turns * stamp.client) % stamp.features
        return selection.window(start, size, stamp.features)

    return at
