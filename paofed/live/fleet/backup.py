"""A fleet's folder as one file, and back: each whole or not at all.

A backup may be made while the fleet is served. A restored fleet begins its next epoch and lineage:
devices begin from the server's model, and what they had sent since the backup is never applied.
"""

import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, nullcontext, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import NamedTuple

from paofed.errors import FileError, InputError, PaofedError
from paofed.files import exchanged, make_folder, require_writable
from paofed.live.fleet import mosquitto
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.issuing import AUTHORITY, DEVICES, REVOKED, SERVER_FILE
from paofed.live.fleet.kept_methods import METHODS, opened
from paofed.live.fleet.packing import Parts, pack, unpack
from paofed.live.fleet.settings import FILE as SETTINGS
from paofed.live.fleet.tokens import FILE as TOKENS
from paofed.live.journal.confirmation import CONFIRMED
from paofed.live.journal.database import FILE as STORE
from paofed.live.journal.database import Sync, locked, nothing
from paofed.live.journal.store import Store
from paofed.live.protocol.coordinator import Coordinator
from paofed.live.protocol.manifest import Manifest

_FILES = (SETTINGS, AUTHORITY, SERVER_FILE, TOKENS)
_FOLDERS = (DEVICES, mosquitto.FOLDER, METHODS)
_PASSING = (".log", ".pid")  # files of a running broker, which are left out
_PARTS = Parts((SETTINGS, STORE, CONFIRMED), _FILES, _FOLDERS)


def back_up(fleet: Fleet, path: Path) -> None:
    """Write all files of the fleet to one file, which its owner alone may read."""
    require_writable(path)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as place:
            with fleet.store() as store:
                store.copy_to(Path(place))
            Store.open(place).close()  # checks that the copy can be opened, and has everything
            files = {name: Path(place) / name for name in (STORE, CONFIRMED)}
            rest = {str(found.relative_to(fleet.folder)): found for found in _rest(fleet.folder)}
            pack(path, files | rest)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror}") from None


def _rest(folder: Path) -> Iterator[Path]:
    """Yield the files in a fleet's folder beside the database."""
    yield from (folder / name for name in _FILES if (folder / name).is_file())
    for name in _FOLDERS:
        for path in sorted((folder / name).glob("*")):
            if path.is_file() and path.suffix not in _PASSING and not path.name.startswith("."):
                yield path


class Restored(NamedTuple):
    """A fleet that was restored."""

    tick: int  # the tick of the restored model
    time: float  # the time of that tick in seconds since 1970
    server: Coordinator  # the server as it goes on
    aside: Path | None  # where the former content of the folder is now
    # Labels that the broker refuses and that the backup did not know to be refused.
    forgotten: tuple[str, ...]


def restore(
    path: Path, folder: Path, *, now: float | None = None, sync: Sync = nothing
) -> Restored:
    """Make a fleet's folder of a backup; the former content of the folder is kept beside it.

    `now` is in seconds since 1970, by default the clock's. `sync` is called at each stage: until
    the folders change places, the old one is as it was.
    """
    folder = folder.resolve()
    _require_place(folder)
    make_folder(folder.parent)
    aside = _aside(folder) if _is_fleet(folder) else None
    with nullcontext() if aside is None else locked(folder):
        place = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))  # 0700
        try:
            unpack(path, place, _PARTS)
            with suppress(OSError):  # most fleets follow a method of paofed's
                (place / METHODS).rmdir()
            sync("after unpacking")
            found = _begin_again(place, folder, time.time() if now is None else now, sync)
            sync("before exchange")
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        exchanged(place, folder, aside)
        sync("after exchange")
    return found._replace(aside=aside)


def _aside(folder: Path) -> Path:
    """Return a name beside a folder that is not in use."""
    now = time.strftime("%Y%m%dT%H%M%S")
    names = (folder.with_name(f"{folder.name}.before-{now}{'-' * more}") for more in count())
    return next(name for name in names if not name.exists())


def _is_fleet(folder: Path) -> bool:
    return (folder / SETTINGS).exists() or (folder / STORE).exists()


def _require_place(folder: Path) -> None:
    """Refuse a folder with anything but a fleet in it."""
    if folder.exists() and not _is_fleet(folder) and (folder.is_file() or any(folder.iterdir())):
        raise FileError(f"{folder} is neither a fleet nor an empty folder: choose another")


def _begin_again(place: Path, folder: Path, now: float, sync: Sync) -> Restored:
    """Let the unpacked fleet begin its next epoch; `folder` is where it will be."""
    began, here = _began(place), _began(folder)
    if None not in (began, here) and began != here:
        raise InputError(f"{folder} holds another fleet: choose another folder")
    fleet = Fleet(place)
    with fleet.store() as store:
        known, last = [epoch.manifest for epoch in store.epochs.all()], _last(folder, now)
        server = store.recover()
        then, old = server.tick, server.manifest
        tick = max(then, old.tick_at(now), 0 if last is None else last[1])
        server.close(tick)
        agreed = _following(known, None if last is None else last[0], now)
        if tick > old.tick_at(now):
            agreed = replace(agreed, from_tick=tick, from_time=now)
        begun = server.under(agreed)
        begun.rule.carry(server.rule.arrays())
        store.begin_epoch(begun, f"restored, from tick {then}", sync)
        forgotten = _refuse_again(fleet, store, folder)
        return Restored(then, old.begins(then), begun, None, forgotten)


def _began(folder: Path) -> float | None:
    """Return when the fleet in a folder began, if that can be read; no method of its own is run."""
    with suppress(PaofedError, OSError), closing(Store.open(folder, to_repair=True)) as store:
        return store.epochs.began()
    return None


def _last(folder: Path, now: float) -> tuple[list[Manifest], int] | None:
    """Return the manifests and the tick of the fleet in a folder, if one can be read there."""
    with suppress(PaofedError, OSError), opened(folder, to_repair=True) as store:
        manifests = [epoch.manifest for epoch in store.epochs.all()]
        ticks = [snapshot.tick for snapshot in store.snapshots.all()]
        tick = max(*ticks[-1:], manifests[-1].tick_at(now), 0)
        with suppress(PaofedError):
            tick = max(tick, store.recover().tick)
        return manifests, tick
    return None


def _following(known: list[Manifest], last: list[Manifest] | None, now: float) -> Manifest:
    """Return the manifest of a backup, with an epoch and a lineage that devices have not seen.

    Where nobody knows which manifests came since the backup, the lineage is taken from the time,
    and the epoch, which is one byte, is drawn from those that are not known to have been used.
    """
    every = [*known, *(last or ())]
    used = {manifest.epoch for manifest in every}
    first, more = (1, 1) if last is not None else (1 + secrets.randbelow(255), int(now))
    epochs = [(every[-1].epoch + first + n) % 256 for n in range(256)]
    epoch = next((epoch for epoch in epochs if epoch not in used), epochs[0])
    lineage = max(manifest.lineage for manifest in every) + more
    return replace(known[-1], epoch=epoch, lineage=lineage)


def _refuse_again(fleet: Fleet, store: Store, home: Path) -> tuple[str, ...]:
    """Refuse whom the broker refuses by now, and write its files with the paths they will have."""
    for name in (mosquitto.ACCESS, REVOKED):
        newer = home / mosquitto.FOLDER / name
        if newer.is_file():
            shutil.copy(newer, fleet.folder / mosquitto.FOLDER / name)
    if (home / TOKENS).is_file():  # a token that was revoked since the backup stays revoked
        shutil.copy(home / TOKENS, fleet.folder / TOKENS)
    mosquitto.write_configuration(fleet.folder, home, fleet.settings, store.epochs.manifest())
    forgotten: list[str] = []
    # The authority is kept elsewhere: the server writes the files when it starts.
    with suppress(FileError):
        fleet.reconcile(store, forgotten.append)
    return tuple(forgotten)
