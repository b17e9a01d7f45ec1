"""Let a fleet's folder go back in time, or go on without some devices."""

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

from paofed.errors import InputError
from paofed.live.fleet.folder import Fleet
from paofed.live.journal.database import locked
from paofed.live.journal.past import Bygone
from paofed.live.journal.store import Store
from paofed.live.protocol.coordinator import Coordinator
from paofed.live.protocol.going_back import replayed, rolled_back

Sync = Callable[[str], None]


def nothing(_: object) -> None:
    """Do nothing."""


class GoneBack(NamedTuple):
    """A fleet before and after it goes back."""

    present: Coordinator  # the server as it is
    then: Coordinator  # the server as it was at the earlier tick
    server: Coordinator  # the server as it goes on
    updates: int  # how many updates are undone: those since then, or those of devices left out


@contextmanager
def _prepared(
    fleet: Fleet, tick: int, *, dry_run: bool
) -> Iterator[tuple[Store, Coordinator, Bygone]]:
    """Yield the store, the server as it is and as it was; nobody else may change the model."""
    with fleet.store() as store, nullcontext() if dry_run else locked(fleet.folder):
        present = store.recover()
        present.close(max(present.tick, present.manifest.tick_at(time.time())))
        if tick > present.tick:
            raise InputError(f"tick {tick} is not there yet: it is tick {present.tick} now")
        yield store, present, store.at(tick)


def roll_back(
    fleet: Fleet,
    tick: int,
    *,
    dry_run: bool = False,
    look: Callable[[GoneBack], None] = nothing,
    sync: Sync = nothing,
) -> GoneBack:
    """Go on from the model of an earlier tick, in one step, while no server runs.

    `look` is called with what will be before anything is written. With `dry_run`, nothing is
    written, and a server may be at work. `sync` is called at each stage of the write: tests let the
    power fail there.
    """
    with _prepared(fleet, tick, dry_run=dry_run) as (store, present, moment):
        server = rolled_back(present, moment.server)
        found = GoneBack(present, moment.server, server, store.count_since(moment))
        look(found)
        if not dry_run:
            store.begin_epoch(server, f"rolled back to tick {tick}", sync)
    return found


def leave_out(
    fleet: Fleet,
    labels: Collection[str],
    tick: int,
    *,
    dry_run: bool = False,
    look: Callable[[GoneBack], None] = nothing,
    sync: Sync = nothing,
) -> GoneBack:
    """Go on from the model that the messages of all other devices since a tick make.

    The other arguments are those of `roll_back`.
    """
    with _prepared(fleet, tick, dry_run=dry_run) as (store, present, moment):
        absent = devices_of(store, labels)
        store.require_unbroken(tick)
        server = replayed(present, moment.server, store.since(moment), absent)
        theirs = sum(record.device in absent for record in store.since(moment))
        found = GoneBack(present, moment.server, server, theirs)
        look(found)
        if not dry_run:
            store.begin_epoch(server, f"without {', '.join(labels)} since tick {tick}", sync)
    return found


def devices_of(store: Store, labels: Collection[str]) -> set[int]:
    """Return the indices of all members that have or had one of these labels.

    Refuse a label that nobody ever had.
    """
    known = store.members()
    for label in labels:
        if all(member.label != label for member in known):
            store.member(label)
    return {member.device for member in known if member.label in labels}
