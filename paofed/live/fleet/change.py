"""Change what a fleet's folder says that the fleet agrees on."""

import time
from collections.abc import Callable
from contextlib import nullcontext

from paofed.live.fleet.folder import Fleet
from paofed.live.journal.database import locked
from paofed.live.journal.store import Store
from paofed.live.protocol.change import Changed, Changes, change
from paofed.live.protocol.manifest import USUAL_CLIP, Manifest
from paofed.live.protocol.served import UNBOUNDED


def change_fleet(
    fleet: Fleet,
    changes: Changes,
    *,
    dry_run: bool = False,
    look: Callable[[Manifest, Changed], None] = lambda _before, _after: None,
    sync: Callable[[str], None] = lambda _: None,
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
            return None
        look(present.manifest, changed)
        if not dry_run:
            why = ", ".join(f"{what} {before} -> {after}" for what, before, after in changed[1])
            store.begin_epoch(changed.server, f"changed: {why}", sync)
    return changed


def reset_clock(fleet: Fleet, sync: Callable[[str], None] = lambda _: None) -> Changed:
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
    for epoch in reversed(store.epochs()):
        if epoch.manifest.algorithm not in UNBOUNDED:
            return epoch.manifest.clip
    return USUAL_CLIP
