"""What a device remembers of its last ticks, for inputs that look back."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_TICKS, _VALUES = "past_ticks", "past_values"


class Remembered:
    """Numbers by tick and name; of several samples in a tick, the last one counts."""

    def __init__(self, reaches: Mapping[str, int]) -> None:
        """Remember these names, each for so many ticks."""
        self._names = list(reaches)
        self._reach = max(reaches.values(), default=0)
        self._known: dict[int, dict[str, float]] = {}

    def at(self, tick: int, name: str) -> float:
        """Return what was measured in a tick; NaN where nothing was."""
        return self._known.get(tick, {}).get(name, math.nan)

    def note(self, tick: int, values: Mapping[str, float]) -> None:
        """Remember what was measured in a tick, and forget what is too far from that tick.

        A tick that is too far may also be in the future, from a clock that was wrong for a while.
        """
        kept = {name: values[name] for name in self._names if math.isfinite(values[name])}
        self._known[tick] = {**self._known.get(tick, {}), **kept}
        near = sorted(known for known in self._known if abs(known - tick) <= self._reach)
        self._known = {known: self._known[known] for known in near}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what must survive a power cut; empty where nothing is to be remembered."""
        if not self._names:
            return {}
        values = [[self.at(tick, name) for name in self._names] for tick in self._known]
        shape = len(self._known), len(self._names)
        return {
            _TICKS: np.array([*self._known], dtype=np.int64),
            _VALUES: np.array(values, dtype=np.float64).reshape(shape),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take up what was saved; arrays that do not fit are left alone."""
        if _TICKS not in state or state[_VALUES].shape[1] != len(self._names):
            return
        for tick, row in zip(state[_TICKS].tolist(), state[_VALUES].tolist(), strict=True):
            self.note(tick, dict(zip(self._names, row, strict=True)))
