"""The past of a fleet, as its journal has it: the server at any tick within the retention."""

from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

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


def _continues(old: Epoch, present: Epoch) -> bool:
    """Whether messages of an old epoch mean the same under the present manifest."""
    names = ("algorithm", "shared", "lineage", "writing")
    same = all(getattr(old.manifest, name) == getattr(present.manifest, name) for name in names)
    return same and old.manifest.means_the_same(present.manifest)
