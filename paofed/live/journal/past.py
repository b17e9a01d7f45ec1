"""The past of a fleet, as its journal has it: the server at any tick within the retention."""

from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.live.journal.database import StoreError
from paofed.live.journal.epochs import Epoch
from paofed.live.journal.lines import Lines
from paofed.live.protocol.coordinator import TOLERANCE, Coordinator, Record

_MADE = 1  # the generation of a fleet's first manifest


class Bygone(NamedTuple):
    """The server as it was when a tick began; updates waiting in it had come ahead of time."""

    server: Coordinator
    line: int  # the line of the snapshot that it was computed from

    @property
    def tick(self) -> int:
        """The tick that began then."""
        return self.server.tick


class Past(Lines):
    """Computes the server at earlier ticks."""

    def reaches(self) -> int:
        """Return the oldest tick that can be gone back to.

        To go back to the tick in which an epoch began is to go back to before that epoch. For the
        oldest epoch of the journal that time is no longer there, unless the fleet was made with it.
        """
        oldest, epoch = self.snapshots()[0], self.epochs()[0]
        return max(oldest.tick, epoch.tick + (epoch.generation > _MADE))

    def at(self, tick: int) -> Bygone:
        """Return the server as it was when a tick began, under the manifest that held then."""
        with self._reading():
            held, until = self._held_at(tick)
            known = [
                snapshot
                for snapshot in self.snapshots()
                if snapshot.generation == held.generation and snapshot.tick <= tick
            ]
            if not known or tick < self.reaches():
                raise StoreError(
                    f"the journal of {self.folder} does not reach back to tick {tick}: it begins "
                    f"with tick {self.reaches()}"
                )
            newest = known[-1]
            server = self._unpacked(newest)
            # An update accepted in a later tick must not count in an earlier one.
            lines = takewhile(
                lambda record: record.arrived <= tick + TOLERANCE, self.journal(newest.line, until)
            )
            self._taken_up(server, (record for record in lines if record.arrived < tick))
            server.close(tick)
            return Bygone(server, newest.line)

    def since(self, moment: Bygone) -> Iterator[Record]:
        """Yield all updates that arrived since then, in the order in which they were accepted."""
        yield from (r for r in moment.server.waiting() if r.arrived >= moment.tick)
        yield from (r for r in self.journal(moment.line) if r.arrived >= moment.tick)

    def count_since(self, moment: Bygone) -> int:
        """Return how many updates arrived since then."""
        waiting = sum(record.arrived >= moment.tick for record in moment.server.waiting())
        found = self._rows(
            "SELECT count(*) FROM journal WHERE line > ? AND arrived >= ?",
            (moment.line, moment.tick),
        )
        return waiting + int(found[0][0])

    def require_unbroken(self, tick: int) -> None:
        """Refuse a time since which messages cannot be replayed under the present manifest."""
        held, _ = self._held_at(tick)
        present = self._present()
        for epoch in self.epochs():
            if held.generation <= epoch.generation and not _continues(epoch, present):
                behind = next(e for e in self.epochs() if e.generation > epoch.generation)
                raise StoreError(
                    f"since tick {tick} the fleet has begun anew or was changed in what its "
                    f"messages mean ({behind.why}): what was sent before tick {behind.tick} "
                    f"cannot be replayed with the rest; give a later time"
                )

    def _held_at(self, tick: int) -> tuple[Epoch, int]:
        """Return the epoch in which a tick began, and the last line that belongs to it."""
        epochs = self.epochs()
        place = max((n for n, epoch in enumerate(epochs) if epoch.tick < tick), default=0)
        behind = epochs[place + 1 :]
        return epochs[place], behind[0].line if behind else self._last_line()

    # How much was heard when, and of whom, counted in a journal however long it is. Lines are in
    # the order of arrival, so that a time is a place among them.

    def lines_between(self, times: Sequence[float]) -> list[int]:
        """Return how many updates arrived from each time to the next; times ascend, in seconds.

        A time is found by bisection: a few lines are read for each, whatever the journal's length.
        Updates of devices that are ahead of the server by a tick or two are counted that much
        later.
        """
        places = self._places(times)
        return [after - before for before, after in pairwise(places)]

    def tallies(self, since: float, width: float, most: int) -> NDArray[np.int64]:
        """Count what arrived since a time, of the last `most` lines alone; rows of four numbers.

        A row is the bin of `width` seconds in which updates arrived, counted from 1970, their
        device, their level (paofed.live.protocol.level), and how many such updates there were.
        """
        last = self._last_line()
        begin, epochs = max(self._places([since])[0], last - most), self.epochs()
        ends = [*(epoch.line for epoch in epochs[1:]), last]
        found = [
            self._tallied(epoch, max(begin, epoch.line), end, width)
            for epoch, end in zip(epochs, ends, strict=True)
        ]
        return np.concatenate(found)

    def _tallied(self, epoch: Epoch, after: int, until: int, width: float) -> NDArray[np.int64]:
        """Return the rows of `tallies` for lines of one epoch, whose ticks have one length."""
        zero, tick = epoch.manifest.begins(0), epoch.manifest.tick_seconds
        rows = self._rows(
            "SELECT CAST((? + arrived * ?) / ? AS INTEGER), device, level, count(*) FROM journal "
            "WHERE line > ? AND line <= ? GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
            (zero, tick, width, after, until),
        )
        return np.array(rows, dtype=np.int64).reshape(-1, 4)

    def _places(self, times: Sequence[float]) -> list[int]:
        """Return for each time the last line that arrived before it, or the line before all."""
        first, last = self._rows("SELECT min(line) FROM journal")[0][0], self._last_line()
        low, places = last if first is None else int(first) - 1, []
        for tick in self.ticks_at(times):
            low = self._place(tick, low, last)
            places.append(low)
        return places

    def _place(self, tick: int, low: int, high: int) -> int:
        """Return the last line that arrived before a tick; it is between `low` and `high`."""
        while low < high:
            middle = (low + high + 1) // 2
            found = self._rows("SELECT arrived FROM journal WHERE line = ?", (middle,))
            low, high = (middle, high) if found and found[0][0] < tick else (low, middle - 1)
        return low


def _continues(old: Epoch, present: Epoch) -> bool:
    """Whether messages of an old epoch mean the same under the present manifest."""
    names = ("algorithm", "shared", "lineage", "writing")
    same = all(getattr(old.manifest, name) == getattr(present.manifest, name) for name in names)
    return same and old.manifest.means_the_same(present.manifest)
