"""A number over time: what it is of late, what is usual for it, and whether it has become worse.

Of late is a running mean over some 16 values. Usual is one over the last quarter of all values, and
over some 4096 at most, together with how far the number is away from it on average. It has become
worse when it is 3 dB above usual, or three times as far as it is away on average, whichever is
more; and better again below half of that. What is usual follows a number that has become worse 16
times as slowly, so that a bad state does not become usual before somebody has looked.

The history has 8 values for each doubling of the time behind: of the last hour every few minutes,
of the last year every few weeks, in 3 kilobytes for ever.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray

WORSE_BY = 3.0  # dB over what is usual
_FAST, _SLOW = 1 / 16, 1 / 4096  # weights of the newest value
_QUARTER = 4  # usual is a mean over the last quarter, until there are many values
_AWAY = 3.0  # times as far from usual as on average is worse
_PATIENCE = 16.0  # what is usual follows so much more slowly what has become worse
_ENOUGH = 64  # values before which nothing is usual
_DOUBLINGS, _EACH = 24, 8  # of the history
NEVER = -1


class Trend:
    """Follows one value a tick; a function of the values and their ticks."""

    def __init__(self) -> None:
        self.values = 0
        self.late = 0.0
        self.usual = 0.0
        self.away = 0.0  # from usual, on average
        self.worse_since = NEVER  # tick
        self._history: FloatArray = np.full((_DOUBLINGS, _EACH, 2), float(NEVER))  # tick and value

    def follow(self, tick: int, value: float) -> None:
        """The value at a tick."""
        self.values += 1
        self.late += (value - self.late) * max(1 / self.values, _FAST)
        weight = max(_QUARTER / (self.values + _QUARTER - 1), _SLOW)
        if self.worse_since != NEVER:
            weight /= _PATIENCE
        self.usual += weight * (self.late - self.usual)
        above = self.late - self.usual
        self.away += weight * (abs(above) - self.away)
        limit = max(WORSE_BY, _AWAY * self.away)
        if self.worse_since == NEVER and above > limit and self.values >= _ENOUGH:
            self.worse_since = tick
        elif above < limit / 2:
            self.worse_since = NEVER
        self._remember(tick)

    def forget_usual(self) -> None:
        """Begin to learn what is usual; what it was goes on to be known."""
        self.values, self.worse_since = 0, NEVER

    def _remember(self, tick: int) -> None:
        """Every second value goes to the first row, every second of the others to the next, ..."""
        row = min((self.values & -self.values).bit_length() - 1, _DOUBLINGS - 1)
        column = (self.values >> (row + 1)) % _EACH
        self._history[row, column] = tick, self.late

    def history(self) -> list[tuple[int, float]]:
        """Ticks and what the number was of late then, oldest first."""
        kept = self._history[self._history[..., 0] != NEVER].tolist()
        return sorted((int(tick), value) for tick, value in kept)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """For a snapshot."""
        numbers = [self.values, self.late, self.usual, self.away, self.worse_since]
        return {"trend": np.array(numbers, dtype=np.float64), "history": self._history.copy()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Back from a snapshot."""
        values, self.late, self.usual, self.away, since = arrays["trend"].tolist()
        self.values, self.worse_since = int(values), int(since)
        self._history = arrays["history"].copy()
