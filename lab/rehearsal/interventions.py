"""What people do to a fleet whose server is stopped: each changes it, and says what must follow."""

from contextlib import closing
from pathlib import Path
from typing import Protocol

from lab.rehearsal.auditor import Auditor
from lab.rehearsal.fate import Fate
from lab.rehearsal.fleets import METHODS, MOST_TICKS_LATE, UNBOUNDED
from paofed.live.fleet.backup import back_up, restore
from paofed.live.fleet.folder import Fleet
from paofed.live.journal.database import StoreError, Sync
from paofed.live.journal.store import Store
from paofed.live.protocol.change import Changes, change, replayed, rolled_back
from paofed.live.protocol.coordinator import Coordinator
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.quantity import Quantity

_CONFIRMATION = ("inside confirmation", "after confirmation")
_EPOCH = ("inside epoch", "before epoch's commit", "after epoch's commit", *_CONFIRMATION)
_CHANGES = ("algorithm", "shared", "step_size", "tick_seconds", "max_age", "input", "range", "clip")

# Each intervention, and the writes at which it may be interrupted.
WRITES = {
    "change": _EPOCH,
    "rollback": _EPOCH,
    "without": _EPOCH,
    "restore": ("after unpacking", *_EPOCH, "before exchange", "after exchange"),
}
_TRIES = 5  # tries to find a time since which messages can be replayed


class Intervention(Protocol):
    """Something that is done to a fleet's folder."""

    def do(self, folder: Path, sync: Sync) -> None:
        """Do the intervention; `sync` is called at each write."""

    def tell(self, auditor: Auditor, server: Coordinator) -> None:
        """Tell the auditor that it was done, and what must have come of it."""


def intervention(fate: Fate, name: str, folder: Path) -> Intervention | None:
    """Return the intervention of a name, with details by the seed; None if it is impossible now."""
    with closing(Store.open(folder)) as store:
        if name == "change":
            return _Change(_changes(fate, store.epochs.manifest()), fate.wall)
        now = _present(store, fate.wall).tick
        ticks = fate.random.integers(store.past.reaches(), now + 1, _TRIES).tolist()
        if name == "rollback":
            return _Rollback(ticks[0], fate.wall)
        whole = [tick for tick in ticks if _is_unbroken(store, tick)]
        device = int(fate.random.integers(len(store.roster.members())))
        return _Without(device, whole[0], fate.wall) if whole else None


def _present(store: Store, wall: float) -> Coordinator:
    """Return the server as it is at a time, with all ticks before it closed."""
    server = store.recover()
    server.close(max(server.tick, server.manifest.tick_at(wall)))
    return server


def _is_unbroken(store: Store, tick: int) -> bool:
    try:
        store.past.require_unbroken(tick)
    except StoreError:
        return False
    return True


class _Change:
    """`fleet change`: the server goes on from its model with all that was accepted."""

    def __init__(self, changes: Changes, now: float) -> None:
        self._changes, self._now = changes, now

    def do(self, folder: Path, sync: Sync) -> None:
        with closing(Store.open(folder)) as store:
            changed = change(store.recover(), self._changes, self._now)
            if changed is not None:
                store.begin_epoch(changed.server, "changed", sync)

    def tell(self, auditor: Auditor, server: Coordinator) -> None:
        auditor.require_applied(server.tick)
        auditor.close(server.tick)
        auditor.begun(server, auditor.model(server.tick), anew=False)


class _Rollback:
    """`fleet rollback`: the server goes on from its model of an earlier tick."""

    def __init__(self, tick: int, now: float) -> None:
        self._tick, self._now = tick, now

    def do(self, folder: Path, sync: Sync) -> None:
        with closing(Store.open(folder)) as store:
            server = rolled_back(_present(store, self._now), store.past.at(self._tick).server)
            store.begin_epoch(server, "rolled back", sync)

    def tell(self, auditor: Auditor, server: Coordinator) -> None:
        auditor.close(server.tick)
        auditor.begun(server, auditor.model(self._tick), anew=True)


class _Without:
    """`fleet without`: the server goes on as if a device had not been heard since a tick."""

    def __init__(self, device: int, tick: int, now: float) -> None:
        self._device, self._tick, self._now = device, tick, now

    def do(self, folder: Path, sync: Sync) -> None:
        with closing(Store.open(folder)) as store:
            present, then = _present(store, self._now), store.past.at(self._tick)
            server = replayed(present, then.server, store.past.since(then), {self._device})
            store.begin_epoch(server, "without one", sync)

    def tell(self, auditor: Auditor, server: Coordinator) -> None:
        auditor.close(server.tick)
        model = auditor.without(self._device, self._tick, server.tick)
        auditor.begun(server, model, anew=True)


class Backup:
    """`fleet backup` and `fleet restore`: the fleet comes back as it was when it was copied."""

    def __init__(self, folder: Path, auditor: Auditor) -> None:
        """Copy a fleet, whose server may be at work."""
        self._file, self._noted = folder.with_name("backup.tar"), auditor.noted()
        back_up(Fleet(folder), self._file)
        self.now = 0.0  # when the backup is restored

    def do(self, folder: Path, sync: Sync) -> None:
        """Restore the backup."""
        restore(self._file, folder, now=self.now, sync=sync)

    def tell(self, auditor: Auditor, server: Coordinator) -> None:
        """Let the auditor's account go back, too."""
        auditor.restored(server, self._noted.noted())


def _changes(fate: Fate, manifest: Manifest) -> Changes:
    """Return changes that differ from whatever the fleet has agreed on."""
    random = fate.random
    match fate.one_of(_CHANGES):
        case "algorithm":
            others = [name for name in METHODS if name != manifest.algorithm]
            return Changes(values={"algorithm": fate.one_of(others)})
        case "shared" if manifest.shared < manifest.features:
            return Changes(values={"shared": manifest.shared + 1})
        case "tick_seconds":
            lengths = [seconds for seconds in (0.5, 1.0, 2.0) if seconds != manifest.tick_seconds]
            return Changes(values={"tick_seconds": lengths[int(random.integers(len(lengths)))]})
        case "max_age":
            return Changes(values={"max_age": manifest.max_age % MOST_TICKS_LATE + 1})
        case "input":
            name = f"more {len(manifest.inputs)}"
            return Changes(inputs=(Quantity(name=name, offset=1.0, scale=0.5),))
        case "range":
            return Changes(ranges={manifest.target.name: (-8.0 - manifest.epoch / 256, 8.0)})
        case "clip" if manifest.algorithm == UNBOUNDED:
            other = {"alpha": 0.25} if manifest.options is None else None
            return Changes(values={"options": other})
        case "clip":
            return Changes(values={"clip": 4.0 if manifest.clip is None else None})
        case _:
            return Changes(values={"step_size": manifest.step_size * 0.8})
