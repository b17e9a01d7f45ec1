"""A number over time: what it is of late, what is usual for it, and whether it has become worse.

"Of late" is a running mean over some 16 values. "Usual" is a running mean over the last quarter of
all values, at most some 4096, together with how far the number is away from it on average. The
number has become worse when it is above usual by 3 dB, or by three times its average distance,
whichever is more; it is better again below half of that. While the number is worse, "usual" follows
it 16 times as slowly, so that a bad state does not become usual before somebody has looked.

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
_AWAY = 3.0  # worse is so many times as far from usual as on average
_PATIENCE = 16.0  # usual follows so many times more slowly while the number is worse
_ENOUGH = 64  # the number of values before which nothing is usual
_DOUBLINGS, _EACH = 24, 8  # how many doublings the history has, and values for each
NEVER = -1


class Trend:
    """Follows one value a tick; a function of the values and their ticks."""

    def __init__(self) -> None:
        self.values = 0
        self.late = 0.0
        self.usual = 0.0
        self.away = 0.0  # average distance from usual
        self.worse_since = NEVER  # tick
        self._history: FloatArray = np.full((_DOUBLINGS, _EACH, 2), float(NEVER))  # tick and value

    def follow(self, tick: int, value: float) -> None:
        """Take the value of a tick."""
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
        """Learn anew what is usual; the history stays."""
        self.values, self.worse_since = 0, NEVER

    def _remember(self, tick: int) -> None:
        """Add to the history: every second value to row 0, every second of those to row 1, ..."""
        row = min((self.values & -self.values).bit_length() - 1, _DOUBLINGS - 1)
        column = (self.values >> (row + 1)) % _EACH
        self._history[row, column] = tick, self.late

    def history(self) -> list[tuple[int, float]]:
        """Return ticks and what the number was "of late" then, oldest first."""
        kept = self._history[self._history[..., 0] != NEVER].tolist()
        return sorted((int(tick), value) for tick, value in kept)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state for a snapshot."""
        numbers = [self.values, self.late, self.usual, self.away, self.worse_since]
        return {"trend": np.array(numbers, dtype=np.float64), "history": self._history.copy()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take up the state of a snapshot."""
        values, self.late, self.usual, self.away, since = arrays["trend"].tolist()
        self.values, self.worse_since = int(values), int(since)
        self._history = arrays["history"].copy()
