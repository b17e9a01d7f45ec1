"""Whether many devices of a fleet begin to predict otherwise at the same time, by what they say.

One device that breaks is told by the others, but many that break together outvote them. What the
server can still see is that the errors which devices report change at the same time. So the usual
error of each device is followed: a running mean over the last quarter of the errors that it told,
at most some 1024, together with how far the error is away from it on average. A device has shifted
while its error is away from usual by 3 dB, or by four times its average distance, whichever is
more; it is back below half of that. While it has shifted, "usual" follows it 16 times as slowly.

The fleet shifts when a third of its devices, and three at least, have shifted within their last 8
contacts; that lasts until fewer than half as many devices are shifted. The server cannot tell
devices that broke together from a world that has changed.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray
from paofed.live.protocol.trend import NEVER

_SHIFTED_BY = 3.0  # dB from what is usual for a device
_AWAY = 4.0  # and so many times as far from usual as on average
_QUARTER, _SLOW = 4, 1 / 1024  # usual is a mean over the last quarter, until there are many values
_PATIENCE = 16.0  # usual follows so many times more slowly while a device has shifted
_ENOUGH = 64  # values before which nothing is usual for a device
_TOGETHER = 8  # contacts within which devices shift at the same time
_SHARE, _FEWEST = 3, 3  # a third of the devices, and three at least, are many

_DEVICE = np.dtype(
    [
        ("values", np.uint32),  # errors that the device has told
        ("usual", np.float64),  # dB
        ("away", np.float64),  # average distance from usual, dB
        ("shifted", np.uint32),  # values in a row that were far from usual
    ]
)


class Shifts:
    """A row for each device, and the newest shift of the fleet."""

    def __init__(self) -> None:
        self.devices: NDArray[Any] = np.zeros(0, dtype=_DEVICE)
        self.lasts = False  # whether the newest shift goes on
        self.since = self.until = NEVER  # its first and last tick
        self.most = self.of = 0  # how many devices had shifted at once at most, and of how many

    def follow(
        self, tick: int, who: NDArray[np.int64], error: FloatArray, there: NDArray[np.bool_]
    ) -> None:
        """Take the errors that some devices told in a tick; `there` says who is heard of late."""
        more = there.size - self.devices.size
        self.devices = np.append(self.devices, np.zeros(max(more, 0), dtype=_DEVICE))
        self._take(who, error)
        known = there & (self.devices["values"] >= _ENOUGH)
        many = max(-(-int(known.sum()) // _SHARE), _FEWEST)
        shifted = int((known & (self.devices["shifted"] > 0)).sum())
        if not self.lasts and int((known & self._just_shifted()).sum()) >= many:
            self.lasts, self.since, self.most = True, tick, 0
        if self.lasts:
            self.until = tick
            self.lasts = 2 * shifted >= many
            if shifted > self.most:
                self.most, self.of = shifted, int(known.sum())

    def _take(self, who: NDArray[np.int64], error: FloatArray) -> None:
        rows = self.devices[who]
        was = rows["shifted"] > 0
        rows["values"] += 1
        weight = np.maximum(_QUARTER / (rows["values"] + _QUARTER - 1.0), _SLOW)
        weight = np.where(was, weight / _PATIENCE, weight)
        rows["usual"] += weight * (error - rows["usual"])
        off = np.abs(error - rows["usual"])
        rows["away"] += weight * (off - rows["away"])
        limit = np.maximum(_SHIFTED_BY, _AWAY * rows["away"])
        is_off = (rows["values"] >= _ENOUGH) & (off > np.where(was, limit / 2, limit))
        rows["shifted"] = np.where(is_off, rows["shifted"] + 1, 0)
        self.devices[who] = rows

    def _just_shifted(self) -> NDArray[np.bool_]:
        shifted = self.devices["shifted"]
        just: NDArray[np.bool_] = (shifted > 0) & (shifted <= _TOGETHER)
        return just

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state for a snapshot."""
        numbers = [self.lasts, self.since, self.until, self.most, self.of]
        return {"shifts": self.devices.copy(), "shift": np.array(numbers, dtype=np.int64)}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Shifts":
        """Return what the arrays of a snapshot say."""
        shifts = cls()
        shifts.devices = arrays["shifts"].copy()
        lasts, shifts.since, shifts.until, shifts.most, shifts.of = arrays["shift"].tolist()
        shifts.lasts = bool(lasts)
        return shifts
