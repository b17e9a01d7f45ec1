"""What people change in a fleet while no server runs, each thing in one step and a new epoch.

A fleet agrees on something else, its ticks go on with the clock, it goes back in time or on without
some devices, or it trusts devices: these are never set aside, however far outside their updates
lie.
"""

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple, Self

from paofed.errors import InputError
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.methods import keep_method
from paofed.live.journal.database import Sync, locked, nothing
from paofed.live.journal.past import Bygone
from paofed.live.journal.store import Store
from paofed.live.model.fleet_model import FleetModel
from paofed.live.model.validated import validated
from paofed.live.protocol.change import Changed, Changes, change, replayed, rolled_back
from paofed.live.protocol.coordinator import Coordinator
from paofed.live.protocol.manifest import USUAL_CLIP, Manifest
from paofed.live.protocol.served import usual_row

_RUINED = 1.5  # a model with this many times its former error is ruined


def change_fleet(
    fleet: Fleet,
    changes: Changes,
    *,
    dry_run: bool = False,
    look: Callable[[Manifest, Changed], None] = lambda _before, _after: None,
    sync: Sync = nothing,
) -> Changed | None:
    """Begin the next epoch, in one step, while no server runs; None where nothing is different.

    `look` is called with the present manifest and with what will be, before anything is written; an
    error of `look` leaves the fleet as it is. With `dry_run`, nothing is written, and a server may
    be at work. `sync` is called at each stage of the write: tests let the power fail there. The
    broker's settings follow (`Fleet.make_room`), at the latest when the server starts.
    """
    with fleet.store() as store, nullcontext() if dry_run else locked(fleet.folder):
        present = store.recover()
        changed = change(present, changes, time.time(), clip_before=_clip_before(store))
        if changed is None:
            if not dry_run:  # the method was named again: its file may have been damaged
                keep_method(fleet.folder, present.manifest)
            return None
        look(present.manifest, changed)
        if not dry_run:
            keep_method(fleet.folder, changed.server.manifest)
            why = ", ".join(f"{what} {before} -> {after}" for what, before, after in changed[1])
            store.begin_epoch(changed.server, f"changed: {why}", sync)
    return changed


def reset_clock(fleet: Fleet, sync: Sync = nothing) -> Changed:
    """Begin an epoch whose ticks go on from now, while no server runs; nothing else is different.

    Where the machine's clock was ahead once, the server's ticks are ahead of the time. They are
    numbers that only grow, so the present tick is declared to begin now.
    """
    with fleet.store() as store, locked(fleet.folder):
        changed = change(store.recover(), Changes(), time.time(), anyway=True)
        assert changed is not None  # noqa: S101 (`anyway`)
        store.begin_epoch(changed.server, "ticks go on with the clock", sync)
    return changed


def _clip_before(store: Store) -> float | None:
    """Return the bound that the fleet had when its rule could last have one, or the usual one."""
    for epoch in reversed(store.epochs.all()):
        if "clip" in usual_row(epoch.manifest.word).can_bound:
            return epoch.manifest.clip
    return USUAL_CLIP


class Errors(NamedTuple):
    """Root mean squared errors of a fleet's model on a file of samples, as measured."""

    then: float  # of the model of the earlier tick
    now: float
    after: float  # of the model with which the fleet goes on

    @property
    def ruined(self) -> bool:
        """Whether the model with which the fleet goes on is far worse than that of then."""
        return not self.after <= _RUINED * self.then


class GoneBack(NamedTuple):
    """A fleet before and after it goes back."""

    present: Coordinator  # the server as it is
    then: Coordinator  # the server as it was at the earlier tick
    server: Coordinator  # the server as it goes on
    updates: int  # how many updates are undone: those since then, or those of devices left out
    errors: Errors | None = None  # None: there was no file to validate by

    def validated(self, samples: Path | None) -> Self:
        """Return the same with the errors on a file of samples."""
        if samples is None:
            return self
        servers = self.then, self.present, self.server
        errors = (validated(FleetModel.of(server), samples).error for server in servers)
        return self._replace(errors=Errors(*errors))


@contextmanager
def _prepared(
    fleet: Fleet, tick: int, *, dry_run: bool
) -> Iterator[tuple[Store, Coordinator, Bygone]]:
    """Yield the store, the server as it is and as it was; nobody else may change the model."""
    with fleet.store() as store, nullcontext() if dry_run else locked(fleet.folder):
        present = store.recover()
        present.close(max(present.tick, present.manifest.tick_at(time.time())))
        if tick > present.tick:
            raise InputError(
                f"tick {tick} is not there yet: it is tick {present.tick} now", key="tick"
            )
        yield store, present, store.past.at(tick)


def roll_back(
    fleet: Fleet,
    tick: int,
    *,
    validation: Path | None = None,
    dry_run: bool = False,
    look: Callable[[GoneBack], None] = nothing,
    sync: Sync = nothing,
) -> GoneBack:
    """Go on from the model of an earlier tick, in one step, while no server runs.

    The models are compared on the samples in the file `validation`, if there is one, and `look` is
    called with what will be, before anything is written. With `dry_run`, nothing is written, and a
    server may be at work. `sync` is called at each stage of the write: tests let the power fail
    there.
    """
    with _prepared(fleet, tick, dry_run=dry_run) as (store, present, moment):
        server = rolled_back(present, moment.server)
        found = GoneBack(present, moment.server, server, store.past.count_since(moment))
        found = found.validated(validation)
        look(found)
        if not dry_run:
            store.begin_epoch(server, f"rolled back to tick {tick}", sync)
    return found


def leave_out(
    fleet: Fleet,
    labels: Collection[str],
    tick: int,
    *,
    validation: Path | None = None,
    dry_run: bool = False,
    look: Callable[[GoneBack], None] = nothing,
    sync: Sync = nothing,
) -> GoneBack:
    """Go on from the model that the messages of all other devices since a tick make.

    The other arguments are those of `roll_back`.
    """
    with _prepared(fleet, tick, dry_run=dry_run) as (store, present, moment):
        absent = devices_of(store, labels)
        store.past.require_unbroken(tick)
        server = replayed(present, moment.server, store.past.since(moment), absent)
        theirs = sum(record.device in absent for record in store.past.since(moment))
        found = GoneBack(present, moment.server, server, theirs).validated(validation)
        look(found)
        if not dry_run:
            store.begin_epoch(server, f"without {', '.join(labels)} since tick {tick}", sync)
    return found


def devices_of(store: Store, labels: Collection[str]) -> set[int]:
    """Return the indices of all members that have or had one of these labels.

    Refuse a label that nobody ever had.
    """
    known = store.roster.members()
    for label in labels:
        if all(member.label != label for member in known):
            store.roster.member(label)
    return {member.device for member in known if member.label in labels}


def trusted(store: Store) -> list[str]:
    """Return the labels of the devices that are trusted."""
    devices = store.recover().rule.trusted
    return [m.label for m in store.roster.devices() if m.device in devices and not m.removed]


def trust(fleet: Fleet, labels: Collection[str], *, on: bool = True) -> None:
    """Trust devices or, with `on` False, no longer, while no server runs.

    For a gateway, the same is done with all its devices. Trust is part of the rule's state, from
    which a new stretch of the journal begins, so that a replay of the journal knows since when.
    The manifest stays as it is, and devices notice nothing.
    """
    with fleet.store() as store, locked(fleet.folder):
        server = store.recover()
        if not getattr(server.manifest.parts.server, "aside", False):
            raise InputError(
                f"{fleet.folder} sets no device aside, so there is nobody to trust: `paofed fleet "
                f"change --clip 6 --aside yes` bounds what one device can do"
            )
        members = [store.roster.member(label).device for label in labels]
        voices = {voice.device for device in members for voice in store.roster.voices(device)}
        known = server.rule.trusted
        server.rule.trust(known | voices if on else known - voices)
        if server.rule.trusted != known:
            store.begin_epoch(
                server, f"{'trusts' if on else 'no longer trusts'} {', '.join(labels)}"
            )
