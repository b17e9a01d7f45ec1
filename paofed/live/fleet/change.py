"""Change what a fleet's folder says that the fleet agrees on."""

import time
from collections.abc import Callable
from contextlib import nullcontext

from paofed.live.fleet.folder import Fleet
from paofed.live.journal.database import locked
from paofed.live.protocol.change import Changed, Changes, change


def change_fleet(
    fleet: Fleet,
    changes: Changes,
    *,
    dry_run: bool = False,
    sync: Callable[[str], None] = lambda _: None,
) -> Changed | None:
    """Begin the next epoch, in one step, while no server runs; None where nothing is different.

    With `dry_run`, nothing is written, and a server may be at work. `sync` is called at each stage
    of the write: tests let the power fail there. The broker's settings follow (`Fleet.make_room`),
    at the latest when the server starts.
    """
    with fleet.store() as store, nullcontext() if dry_run else locked(fleet.folder):
        changed = change(store.recover(), changes, time.time())
        if changed is not None and not dry_run:
            why = ", ".join(f"{what} {before} -> {after}" for what, before, after in changed[1])
            store.begin_epoch(changed.server, f"changed: {why}", sync)
    return changed
