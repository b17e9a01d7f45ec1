"""Trace: one run's nature, realised as arrays that anyone's program can be fed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

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
# Only where the target changes.
_DRIFTING = {"drifts": "E", "y_test_drifted": "ET"}
_SIZES = {
    "N": "ticks",
    "K": "clients",
    "d": "inputs",
    "D": "features",
    "T": "test samples",
    "E": "drifts",
}
_KINDS = {"has_data": "b", "available": "b", "delay": "iu", "drifts": "iu"}
_KIND_NAMES = {"b": "bool", "iu": "an integer type", "f": "a floating-point type"}
_DTYPES = {"b": np.bool_, "iu": np.int64, "f": np.float64}


class Targets(NamedTuple):
    """The targets of one test set, which change at the drifts."""

    drifts: IntArray  # (E,), ticks from whose samples on the target is another
    y: FloatArray  # (E + 1, T), at the start and from each drift on

    def drifts_until(self, ticks: int | IntArray) -> IntArray:
        """Count the drifts that the samples of each tick have seen."""
        return np.searchsorted(self.drifts, ticks, side="right")

    def at(self, ticks: int | IntArray) -> FloatArray:
        """Return those that hold at one tick, (T,), or at several, (n, T)."""
        return self.y[self.drifts_until(ticks)]


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
    y_test: FloatArray  # (T,), at the start
    drifts: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # (E,)
    y_test_drifted: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))  # (E, T)

    def __post_init__(self) -> None:
        sizes: dict[str, tuple[int, str]] = {}
        for name, letters in self._shapes().items():
            array = np.asarray(getattr(self, name))
            _check_shape(name, array, letters, sizes)
            object.__setattr__(self, name, _of_kind(name, array))
        self._check_values()

    def _shapes(self) -> dict[str, str]:
        """What each array that this trace has looks like."""
        given = [name for name in _DRIFTING if np.size(getattr(self, name))]
        if len(given) == 1:
            (missing,) = set(_DRIFTING) - set(given)
            raise TraceError(
                f"{given[0]} is given without {missing}: a trace whose target changes has both"
            )
        return {**_SHAPES, **_DRIFTING} if given else _SHAPES

    def _check_values(self) -> None:
        if (lonely := self.available & ~self.has_data).any():
            raise TraceError(
                f"{_where('available', lonely)} is true where has_data is false: "
                f"a client without a sample cannot be available"
            )
        _refuse("x", ~np.isfinite(self.x) & self.has_data[..., None], "is not finite, with data")
        _refuse("y", ~np.isfinite(self.y) & self.has_data, "is not finite, with data")
        for name in ("frequencies", "phases", "x_test", "y_test", "y_test_drifted"):
            _refuse(name, ~np.isfinite(getattr(self, name)), "is not finite")
        _refuse("delay", (self.delay < 0) & self.available, "is negative")
        in_range = (self.lottery >= 0) & (self.lottery < 1)
        _refuse("lottery", ~in_range & self.available, "is not in [0, 1)")
        _refuse("drifts", np.diff(self.drifts, prepend=0) <= 0, "does not rise, from 1 on")
        _refuse("drifts", self.drifts >= self.ticks, "is after the last tick")

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

    @property
    def test_targets(self) -> Targets:
        """Return the targets of the test set over time."""
        return Targets(self.drifts, np.vstack([self.y_test, *self.y_test_drifted]))

    def save(self, path: str | Path) -> None:
        """Write the trace as one `.npz`, whole or not at all."""
        save_arrays(Path(path), {name: getattr(self, name) for name in self._shapes()})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read and check a trace; anything wrong with it is one clear error."""
        arrays = load_arrays(Path(path))
        try:
            _check_names(arrays)
            _check_drifting(arrays)
            return cls(**cast("dict[str, Any]", arrays))  # types are checked in __post_init__
        except TraceError as error:
            raise TraceError(f"{path} is not a trace: {error}") from None


def _check_names(names: Iterable[str]) -> None:
    given = set(names)
    known = {**_SHAPES, **_DRIFTING}
    for name in sorted(given - set(known)):
        raise TraceError(unknown("array", name, known))
    if missing := [name for name in _SHAPES if name not in given]:
        raise TraceError(f"arrays missing: {', '.join(missing)}")


def _check_drifting(arrays: Mapping[str, NDArray[np.generic]]) -> None:
    for name in _DRIFTING:
        if name in arrays and not arrays[name].size:
            raise TraceError(f"{name} is empty: leave it out where the target does not change")


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
