"""How much was heard when, and of whom, counted in a journal however long it is.

Lines are in the order of arrival, so that a time is a place among them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from paofed.live.journal.database import Database
from paofed.live.journal.epochs import Epoch, Epochs
from paofed.live.journal.lines import Lines


@dataclass(frozen=True)
class Tallies:
    """Counts updates by the time of their arrival."""

    database: Database
    epochs: Epochs
    lines: Lines

    def between(self, times: Sequence[float]) -> list[int]:
        """Return how many updates arrived from each time to the next; times ascend, in seconds.

        A time is found by bisection: a few lines are read for each, whatever the journal's length.
        Updates of devices that are ahead of the server by a tick or two are counted that much
        later.
        """
        places = self._places(times)
        return [after - before for before, after in pairwise(places)]

    def since(self, time: float, width: float, most: int) -> NDArray[np.int64]:
        """Count what arrived since a time, of the last `most` lines alone; rows of four numbers.

        A row is the bin of `width` seconds in which updates arrived, counted from 1970, their
        device, their level (paofed.live.protocol.level), and how many such updates there were.
        """
        last = self.lines.last()
        begin, epochs = max(self._places([time])[0], last - most), self.epochs.all()
        ends = [*(epoch.line for epoch in epochs[1:]), last]
        found = [
            self._tallied(epoch, max(begin, epoch.line), end, width)
            for epoch, end in zip(epochs, ends, strict=True)
        ]
        return np.concatenate(found)

    def _tallied(self, epoch: Epoch, after: int, until: int, width: float) -> NDArray[np.int64]:
        """Return the rows of `since` for lines of one epoch, whose ticks have one length."""
        zero, tick = epoch.manifest.begins(0), epoch.manifest.tick_seconds
        rows = self.database.rows(
            "SELECT CAST((? + arrived * ?) / ? AS INTEGER), device, level, count(*) FROM journal "
            "WHERE line > ? AND line <= ? GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
            (zero, tick, width, after, until),
        )
        return np.array(rows, dtype=np.int64).reshape(-1, 4)

    def _places(self, times: Sequence[float]) -> list[int]:
        """Return for each time the last line that arrived before it, or the line before all."""
        low, last, places = self.lines.first() - 1, self.lines.last(), []
        for tick in self.epochs.ticks_at(times):
            low = self._place(tick, low, last)
            places.append(low)
        return places

    def _place(self, tick: int, low: int, high: int) -> int:
        """Return the last line that arrived before a tick; it is between `low` and `high`."""
        while low < high:
            middle = (low + high + 1) // 2
            found = self.database.rows("SELECT arrived FROM journal WHERE line = ?", (middle,))
            low, high = (middle, high) if found and found[0][0] < tick else (low, middle - 1)
        return low
