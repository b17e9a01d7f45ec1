"""The past of a fleet, as its journal has it: the server at any tick within the retention."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from paofed.archives import unpacked
from paofed.durations import date_text, moment
from paofed.errors import InputError
from paofed.live.journal.database import REMEDY, Database, StoreError, nothing
from paofed.live.journal.epochs import Epoch, Epochs
from paofed.live.journal.lines import Lines
from paofed.live.journal.retention import ALWAYS, Snapshot
from paofed.live.journal.roster import Roster
from paofed.live.journal.snapshots import Snapshots
from paofed.live.protocol.coordinator import TOLERANCE, Coordinator, Record
from paofed.live.protocol.saved import STATE

TIME = "a tick (1200), so long ago (90min, 2h, 3d), or a date and time (2026-11-16T08:00)"
_MADE = 1  # the generation of a fleet's first manifest


class Bygone(NamedTuple):
    """The server as it was when a tick began; updates waiting in it had come ahead of time."""

    server: Coordinator
    line: int  # the line of the snapshot that it was computed from

    @property
    def tick(self) -> int:
        """The tick that began then."""
        return self.server.tick


@dataclass(frozen=True)
class Past:
    """Computes the server at earlier moments, from a snapshot and the lines after it."""

    database: Database
    epochs: Epochs
    roster: Roster
    snapshots: Snapshots
    lines: Lines

    # From snapshots

    def at_snapshot(self, snapshot: Snapshot) -> Coordinator:
        """Return the server as it was at a snapshot; a damaged snapshot is an error."""
        state = self.snapshots.state(snapshot)
        if state is None:
            raise self.database.damaged("a snapshot")
        coordinator = Coordinator(self.epochs.of_snapshot(snapshot).manifest)
        try:
            coordinator.restore(unpacked(state, "it", STATE, "a server's state"))
        except InputError as error:
            raise StoreError(
                f"a snapshot in {self.database.path} is not one that a server took, {error}: "
                f"{REMEDY}"
            ) from None
        self.roster.introduce(coordinator)
        return coordinator

    def newest(self) -> Coordinator:
        """Return the server as it was: the newest snapshot and the journal's lines after it."""
        newest = self.snapshots.some()[-1]
        coordinator = self.at_snapshot(newest)
        lines = self.lines.read(newest.line)
        coordinator.recover(self.of_members(lines, coordinator))
        return coordinator

    def history(self) -> tuple[Coordinator, list[Record]]:
        """Return the server as it was at the newest snapshot but one, and all lines since."""
        with self.database.reading():
            present = self.epochs.present().generation
            found = [each for each in self.snapshots.some() if each.generation == present]
            older = found[-ALWAYS:][0]
            return self.at_snapshot(older), list(self.lines.read(older.line))

    def agrees(
        self, older: Snapshot, newer: Snapshot, told: Callable[[int], None] = nothing
    ) -> bool:
        """Whether the journal turns `older` into `newer`; `told` is called with the lines read."""
        expected = self.at_snapshot(newer)
        records = self.lines.read(older.line, newer.line, told)
        if older.generation != newer.generation:
            # These lines lead to no snapshot, but each is checked as it is read.
            return all(True for _ in records)
        coordinator = self.at_snapshot(older)
        coordinator.recover(self.of_members(records, coordinator))
        coordinator.close(newer.tick)
        return coordinator.digest() == expected.digest()

    def of_members(self, records: Iterable[Record], coordinator: Coordinator) -> Iterator[Record]:
        """Yield lines of the journal; one of a device that the server does not know is an error."""
        members = coordinator.devices.known.size
        for record in records:
            if record.device >= members:
                raise StoreError(
                    f"{self.database.path} has a line of device {record.device}, which is not in "
                    f"the fleet: {REMEDY}"
                )
            yield record

    # At ticks

    def reaches(self) -> int:
        """Return the oldest tick that can be gone back to.

        To go back to the tick in which an epoch began is to go back to before that epoch. For the
        oldest epoch of the journal that time is no longer there, unless the fleet was made with it.
        """
        oldest, epoch = self.snapshots.some()[0], self.epochs.all()[0]
        return max(oldest.tick, epoch.tick + (epoch.generation > _MADE))

    def tick_of(self, text: str) -> int:
        """Return the tick that people mean by `TIME`; refuse one before the journal begins."""
        oldest = self.reaches()
        # With or without the commas with which ticks are printed.
        if re.fullmatch(r"[0-9]{1,10}|[0-9]{1,3}(,[0-9]{3}){1,3}", text):
            tick = int(text.replace(",", ""))
            seconds = self.epochs.time_of(tick)
        else:
            found = moment(text, ago=True)
            if found is None:
                raise InputError(f"the time {text!r} cannot be read: expected {TIME}")
            seconds, tick = found, self.epochs.tick_at(found)
        begun = self.epochs.time_of(oldest)
        if tick < oldest or seconds < begun:
            raise InputError(
                f"the journal of {self.database.folder} reaches back to {date_text(begun)}, tick "
                f"{oldest}: {text} is earlier"
            )
        return tick

    def at(self, tick: int) -> Bygone:
        """Return the server as it was when a tick began, under the manifest that held then."""
        with self.database.reading():
            held, until = self._held_at(tick)
            known = [
                snapshot
                for snapshot in self.snapshots.all()
                if snapshot.generation == held.generation and snapshot.tick <= tick
            ]
            if not known or tick < self.reaches():
                raise StoreError(
                    f"the journal of {self.database.folder} does not reach back to tick {tick}: "
                    f"it begins with tick {self.reaches()}"
                )
            newest = known[-1]
            server = self.at_snapshot(newest)
            # An update accepted in a later tick must not count in an earlier one.
            lines = takewhile(
                lambda record: record.arrived <= tick + TOLERANCE,
                self.lines.read(newest.line, until),
            )
            came = (record for record in lines if record.arrived < tick)
            server.recover(self.of_members(came, server))
            server.close(tick)
            return Bygone(server, newest.line)

    def since(self, moment: Bygone) -> Iterator[Record]:
        """Yield all updates that arrived since then, in the order in which they were accepted."""
        yield from (r for r in moment.server.waiting() if r.arrived >= moment.tick)
        yield from (r for r in self.lines.read(moment.line) if r.arrived >= moment.tick)

    def count_since(self, moment: Bygone) -> int:
        """Return how many updates arrived since then."""
        waiting = sum(record.arrived >= moment.tick for record in moment.server.waiting())
        since = "SELECT count(*) FROM journal WHERE line > ? AND arrived >= ?"
        return waiting + int(self.database.value(since, (moment.line, moment.tick)))

    def require_unbroken(self, tick: int) -> None:
        """Refuse a time since which messages cannot be replayed under the present manifest."""
        held, _ = self._held_at(tick)
        present = self.epochs.present()
        for epoch in self.epochs.all():
            if held.generation <= epoch.generation and not _continues(epoch, present):
                behind = next(e for e in self.epochs.all() if e.generation > epoch.generation)
                raise StoreError(
                    f"since tick {tick} the fleet has begun anew or was changed in what its "
                    f"messages mean ({behind.why}): what was sent before tick {behind.tick} "
                    f"cannot be replayed with the rest; give a later time"
                )

    def _held_at(self, tick: int) -> tuple[Epoch, int]:
        """Return the epoch in which a tick began, and the last line that belongs to it."""
        epochs = self.epochs.all()
        place = max((n for n, epoch in enumerate(epochs) if epoch.tick < tick), default=0)
        behind = epochs[place + 1 :]
        return epochs[place], behind[0].line if behind else self.lines.last()


def _continues(old: Epoch, present: Epoch) -> bool:
    """Whether messages of an old epoch mean the same under the present manifest."""
    names = ("algorithm", "code", "shared", "lineage", "writing")
    same = all(getattr(old.manifest, name) == getattr(present.manifest, name) for name in names)
    return same and old.manifest.means_the_same(present.manifest)
