"""Every format that is read: a valid file of each, and what reads it."""

import gzip
import io
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars

from paofed.errors import InputError
from paofed.live.device.state import load_state, saved_manifest
from paofed.live.fleet import settings, tokens
from paofed.live.fleet.accounts import read_accounts
from paofed.live.fleet.backup import restore
from paofed.live.fleet.folder import Fleet
from paofed.live.journal.confirmation import CONFIRMED
from paofed.live.journal.database import FILE as STORE
from paofed.live.journal.database import REMEDY
from paofed.live.journal.repair import repair
from paofed.live.journal.store import Store
from paofed.live.model.sample_lines import SampleReader
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.manifest import Manifest
from paofed.simulate.montecarlo import run
from paofed.world.recorded import Recorded
from paofed.world.table.door import forget, read
from paofed.world.table.spec import Table
from tests.forgery import npy
from tests.formats.make import FILES, FOLDER
from tests.formats.told import told
from tests.live.fleets import live, manifest, opened, stored
from tests.natures import small_scenario

Files = Mapping[str, bytes]  # the files of a case by name; the first one is changed


class Format(NamedTuple):
    """A format: how a valid case is made, and how the case in a folder is read."""

    make: Callable[[], Files]
    read: Callable[[Path], object]
    cost: int = 1  # how many cases of others are made for one of these, which take long


def _state(path: Path) -> object:
    return saved_manifest(path), load_state(path, Edge(manifest(), 1))


# Where a file is read otherwise than to see that it says what it said.
_READERS: Mapping[str, Callable[[Path], object]] = {
    "manifest": lambda path: Manifest.from_json(path.read_bytes()),
    "state": _state,
}


def _kept(name: str) -> Format:
    """One of the files that are kept for ever."""
    reads = _READERS.get(name.partition("-")[0], told)
    return Format(lambda: {name: (FOLDER / name).read_bytes()}, lambda place: reads(place / name))


_TABLE = "time,device,x,y\n" + "".join(
    f"2026-01-0{1 + hour // 24}T{hour % 24:02d}:00:00,{device},{hour % 7}.5,{hour * 0.1:.2f}\n"
    for hour in range(60)
    for device in ("north", "south", "roof")
)


def _parquet() -> bytes:
    file = io.BytesIO()
    polars.read_csv(io.StringIO(_TABLE)).write_parquet(file)
    return file.getvalue()


def _table(name: str, make: Callable[[], bytes]) -> Format:
    def readings(place: Path) -> object:
        forget()
        columns = {"time": "time", "device": "device", "inputs": "x", "target": "y"}
        return read(Table.model_validate({"file": str(place / name), **columns}))

    return Format(lambda: {name: make()}, readings, 4)


@cache
def _database() -> Files:
    with tempfile.TemporaryDirectory() as folder:
        with stored(Path(folder)) as store:
            live(store, store.recover(), range(12), snapshots=4, keep=1e9)
            store.roster.reissue(1, "a")
            store.roster.reissue(1, "b")
            begun = store.recover()
            begun.close(12)
            store.begin_epoch(begun.under(manifest(epoch=4, step_size=0.2)), "changed")
            live(store, store.recover(), range(12, 20), snapshots=4, keep=1e9)
        return {name: (Path(folder) / name).read_bytes() for name in (STORE, CONFIRMED)}


def _look(folder: Path) -> object:
    """All that commands ask of a fleet's folder."""
    with opened(folder) as store:
        store.verify()
        server = store.recover()
        server.close(server.tick + 3)
        store.past.history()
        store.tallies.since(0.0, 10.0, 100)
        store.disk(100.0)
        credentials = store.credentials.revoked(), store.credentials.server()
        return store.roster.members(), *credentials, server.digest()


def _repair(folder: Path) -> object:
    """A repair works, or says what else to do; after it, nothing is wrong any more."""
    try:
        with closing(Store.open(folder, to_repair=True)) as store:
            repair(store)
    except InputError as error:
        if REMEDY in str(error):
            raise RuntimeError(f"a repair names itself: {error}") from None
        raise
    try:
        return _look(folder)
    except InputError as error:
        raise RuntimeError(f"repaired, and yet: {error}") from None


def _confirmed() -> Files:
    return {name: _database()[name] for name in (CONFIRMED, STORE)}


def _tar() -> Files:
    kept = next(name for name in FILES if name.endswith(".tar.gz"))
    return {"backup.tar": gzip.decompress((FOLDER / kept).read_bytes())}


def _restore(place: Path) -> object:
    tar = place / "backup.tar"

    def look(stage: str) -> None:
        files = [found for found in place.rglob("*") if found.is_file() and found != tar]
        if stage == "after unpacking" and _size(*files) > _size(tar):
            raise OverflowError(f"{_size(*files)} bytes unpacked of {_size(tar)}")

    restored = restore(tar, place / "fleet", now=100.0, sync=look)
    fleet = Fleet(place / "fleet")
    tokens.Tokens.load(fleet.folder)
    _look(fleet.folder)
    return restored.tick


def _size(*files: Path) -> int:
    return sum(file.stat().st_size for file in files)


def _of_backup(name: str) -> Callable[[], Files]:
    """A file as a fleet's folder has it."""

    @cache
    def make() -> Files:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "backup.tar").write_bytes(_tar()["backup.tar"])
            restore(Path(folder) / "backup.tar", Path(folder) / "fleet", now=100.0)
            return {name: (Path(folder) / "fleet" / name).read_bytes()}

    return make


def _rights(place: Path) -> object:
    found = tokens.Tokens.load(place)
    return found and found.rights("x")


_SMALL = small_scenario(ticks=20, clients=6, features=4, stream={"samples": (10, 20, 20)})


@cache
def _unit() -> Files:
    with tempfile.TemporaryDirectory() as folder:
        run(_SMALL, "pao-fed-u1", runs=1, engine="reference", workers=1, store=folder)
        units = Path(folder).rglob("*.npz")
        return {str(unit.relative_to(folder)): unit.read_bytes() for unit in units}


def _again(place: Path) -> object:
    """Work whose finished part was damaged is computed again."""
    return run(_SMALL, "pao-fed-u1", runs=1, engine="reference", workers=1, store=place)


def _samples(place: Path) -> object:
    lines = (place / "samples.csv").read_text(encoding="utf-8", errors="replace").splitlines()
    return list(SampleReader(manifest(), needed=True).read(lines))


def _recorded(name: str, content: bytes) -> Format:
    return Format(
        lambda: {name: content}, lambda place: Recorded(file=str(place / name)).table(6, 2)
    )


_ACCOUNTS = b"label,user,password\nserver,svc,aaaa\nnorth,dev-1,bbbb\nsouth,dev-2,cccc\n"
_SAMPLES = b"a,b,y\n" + b"".join(b"%d.5,0.25,%d\n" % (n, 10 + n) for n in range(12))

FORMATS: Mapping[str, Format] = {
    **{name: _kept(name) for name in FILES if not name.endswith(".gz")},
    "backup": Format(_tar, _restore, 2),
    "database": Format(_database, _look, 2),
    "database, repaired": Format(_database, _repair, 4),
    "confirmed": Format(_confirmed, _look, 8),
    "fleet.toml": Format(_of_backup(settings.FILE), lambda place: settings.Settings.load(place)),
    "tokens.json": Format(_of_backup(tokens.FILE), _rights),
    "accounts": Format(lambda: {"a.csv": _ACCOUNTS}, lambda place: read_accounts(place / "a.csv")),
    "samples": Format(lambda: {"samples.csv": _SAMPLES}, _samples),
    "table": _table("t.csv", _TABLE.encode),
    "packed table": _table("t.csv.gz", lambda: gzip.compress(_TABLE.encode())),
    "table of columns": _table("t.parquet", _parquet),
    "recorded numbers": _recorded("delays.csv", b"1,0\n" * 6),
    "recorded array": _recorded("delays.npy", npy(np.ones((6, 2), dtype=np.int64))),
    "part of long work": Format(_unit, _again, 8),
}
