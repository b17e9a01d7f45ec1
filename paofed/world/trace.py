"""Trace: one run's nature, realised as arrays that anyone's program can be fed."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.features import FourierMap
from paofed.errors import TraceError, unknown
from paofed.files import load_arrays, save_arrays

# What each array looks like: the letters name sizes that must agree; the kinds are NumPy's.
_SHAPES = {
    "x": "NKd",
    "y": "NK",
    "has_data": "NK",
    "available": "NK",
    "delay": "NK",
    "lottery": "NK",
    "frequencies": "dD",
    "phases": "D",
    "x_test": "Td",
    "y_test": "T",
}
_SIZES = {"N": "ticks", "K": "clients", "d": "inputs", "D": "features", "T": "test samples"}
_KINDS = {"has_data": "b", "available": "b", "delay": "iu"}
_KIND_NAMES = {"b": "bool", "iu": "an integer type", "f": "a floating-point type"}
_DTYPES = {"b": np.bool_, "iu": np.int64, "f": np.float64}


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace:
    """Everything that happens to N ticks of K clients, whatever algorithm they run.

    The arrays are checked when the trace is made; see docs/notation.md for their meaning.
    """

    x: FloatArray  # (N, K, d)
    y: FloatArray  # (N, K)
    has_data: BoolArray  # (N, K)
    available: BoolArray  # (N, K); implies has_data
    delay: IntArray  # (N, K); age on arrival of the message sent at this tick
    lottery: FloatArray  # (N, K) in [0, 1); for server-side picking
    frequencies: FloatArray  # (d, D)
    phases: FloatArray  # (D,)
    x_test: FloatArray  # (T, d)
    y_test: FloatArray  # (T,)

    def __post_init__(self) -> None:
        sizes: dict[str, tuple[int, str]] = {}
        for name, letters in _SHAPES.items():
            array = np.asarray(getattr(self, name))
            _check_shape(name, array, letters, sizes)
            object.__setattr__(self, name, _of_kind(name, array))
        self._check_values()

    def _check_values(self) -> None:
        if (lonely := self.available & ~self.has_data).any():
            raise TraceError(
                f"{_where('available', lonely)} is true where has_data is false: "
                f"a client without a sample cannot be available"
            )
        _refuse("x", ~np.isfinite(self.x) & self.has_data[..., None], "is not finite, with data")
        _refuse("y", ~np.isfinite(self.y) & self.has_data, "is not finite, with data")
        for name in ("frequencies", "phases", "x_test", "y_test"):
            _refuse(name, ~np.isfinite(getattr(self, name)), "is not finite")
        _refuse("delay", (self.delay < 0) & self.available, "is negative")
        in_range = (self.lottery >= 0) & (self.lottery < 1)
        _refuse("lottery", ~in_range & self.available, "is not in [0, 1)")

    @property
    def ticks(self) -> int:
        """Count the ticks (N)."""
        return len(self.has_data)

    @property
    def clients(self) -> int:
        """Count the clients (K)."""
        return int(self.has_data.shape[1])

    @property
    def features(self) -> int:
        """Count the features of the map (D)."""
        return self.phases.size

    @property
    def fourier_map(self) -> FourierMap:
        """Return the map that all clients and the server share."""
        return FourierMap(self.frequencies, self.phases)

    def save(self, path: str | Path) -> None:
        """Write the trace as one `.npz`, whole or not at all."""
        save_arrays(Path(path), {name: getattr(self, name) for name in _SHAPES})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read and check a trace; anything wrong with it is one clear error."""
        arrays = load_arrays(Path(path))
        try:
            _check_names(arrays)
            return cls(**cast("dict[str, Any]", arrays))  # types are checked in __post_init__
        except TraceError as error:
            raise TraceError(f"{path} is not a trace: {error}") from None


def _check_names(names: Iterable[str]) -> None:
    given = set(names)
    for name in sorted(given - set(_SHAPES)):
        raise TraceError(unknown("array", name, _SHAPES))
    if missing := [name for name in _SHAPES if name not in given]:
        raise TraceError(f"arrays missing: {', '.join(missing)}")


def _check_shape(
    name: str, array: NDArray[np.generic], letters: str, sizes: dict[str, tuple[int, str]]
) -> None:
    """Refuse a shape that disagrees with those of the arrays before it."""
    if array.ndim != len(letters):
        raise TraceError(
            f"{name} has shape {array.shape}: expected {len(letters)} dimensions, "
            f"({', '.join(letters)})"
        )
    for letter, size in zip(letters, array.shape, strict=True):
        if size == 0:
            raise TraceError(f"{name} has shape {array.shape}: no {_SIZES[letter]} ({letter} = 0)")
        expected, origin = sizes.setdefault(letter, (size, name))
        if size != expected:
            raise TraceError(
                f"{name} has {size} {_SIZES[letter]} ({letter}), but {origin} has {expected}"
            )


def _of_kind(name: str, array: NDArray[np.generic]) -> NDArray[np.generic]:
    """Refuse an array of the wrong type; widen a right one to what the engines compute in."""
    kind = _KINDS.get(name, "f")
    if array.dtype.kind not in kind:
        raise TraceError(f"{name} is of type {array.dtype}: expected {_KIND_NAMES[kind]}")
    return array.astype(_DTYPES[kind], copy=False)


def _refuse(name: str, bad: BoolArray, what: str) -> None:
    if bad.any():
        raise TraceError(f"{_where(name, bad)} {what}")


def _where(name: str, bad: BoolArray) -> str:
    first = ", ".join(str(i) for i in np.argwhere(bad)[0])
    return f"{name}[{first}]"
