"""A fleet as one file, and back: whole or not at all, and nothing of what was undone comes back."""

import os
import shutil
import stat
import tarfile
import threading
import time
from itertools import product
from pathlib import Path

import pytest

from paofed.errors import FileError, InputError
from paofed.files import exchanged
from paofed.live.fleet import mosquitto
from paofed.live.fleet.backup import back_up, restore
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.settings import Security, Settings
from paofed.live.journal.confirmation import CONFIRMED
from paofed.live.journal.database import FILE, StoreError, locked
from paofed.live.protocol.manifest import Manifest
from tests.effort import some
from tests.live.brokers import PATIENCE
from tests.live.fleets import live, manifest
from tests.live.folders import EVERY, members
from tests.live.stores import PowerCutError, lived

FAR = 1e9  # seconds: with so long a tick, the clock has not gone on


def made(place: Path, security: Security = "none", **changes: object) -> Fleet:
    settings = Settings(name="g", security=security, http="")
    fleet = Fleet.create(place, settings, manifest(**{"tick_seconds": FAR, **changes}))
    list(fleet.add(["a", "b", "c"]))
    go_on(fleet, 0, 20)
    return fleet


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A fleet and its backup, of which each test takes a copy."""
    place = tmp_path_factory.mktemp("original")
    fleet = made(place / "one")
    back_up(fleet, place / "b.tar")
    return fleet.folder, place / "b.tar"


@pytest.fixture
def fleet(original: tuple[Path, Path], tmp_path: Path) -> Fleet:
    """A fleet in `one`."""
    return Fleet(shutil.copytree(original[0], tmp_path / "one"))


@pytest.fixture
def file(original: tuple[Path, Path], fleet: Fleet) -> Path:
    """The fleet's backup, `b.tar`."""
    return Path(shutil.copy(original[1], fleet.folder.parent))


def go_on(fleet: Fleet, first: int, last: int) -> None:
    with fleet.store() as store:
        live(store, store.recover(), range(first, last), snapshots=4, keep=1e12)


def found(folder: Path) -> tuple[Manifest, bytes]:
    with Fleet(folder).store() as store:
        assert store.is_intact()
        return store.epochs.manifest(), store.recover().digest()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("security", EVERY)
def test_a_fleet_is_restored_elsewhere(security: Security, tmp_path: Path) -> None:
    fleet, file, place = made(tmp_path / "one", security), tmp_path / "b.tar", tmp_path / "x" / "y"
    back_up(fleet, file)
    assert mode(file) == 0o600
    restored = restore(file, place)
    again = Fleet(place)
    assert (restored.tick, restored.aside, restored.forgotten) == (20, None, ())
    assert again.settings == fleet.settings
    assert members(again) == members(fleet)
    with again.store() as store:
        assert store.is_intact()
        server = store.recover()
        assert store.past.at(10).server.w.tobytes() == lived(10).w.tobytes()
    assert server.w.tobytes() == lived(20).w.tobytes()
    assert server.tick == 20
    # Nobody knows what came since.
    assert server.manifest.epoch != 3
    assert server.manifest.lineage > 1e9
    for path in fleet.folder.rglob("*"):
        inside = place / path.relative_to(fleet.folder)
        if path.is_file() and path.name != mosquitto.CONFIGURATION and "sqlite" not in path.name:
            assert inside.read_bytes() == path.read_bytes()
            assert mode(inside) == 0o600 or mode(inside) == mode(path)
    assert str(place) in (place / "broker" / mosquitto.CONFIGURATION).read_text()
    assert mode(place / FILE) == 0o600
    assert mode(place) == 0o700
    go_on(again, 20, 30)
    assert found(place)


def test_a_backup_of_a_fleet_that_is_served_is_of_one_moment(fleet: Fleet, tmp_path: Path) -> None:
    stop, begun = threading.Event(), threading.Event()

    def serve() -> None:
        tick = 20
        while not stop.is_set():
            go_on(fleet, tick, tick + 3)
            begun.set()
            tick += 3

    server = threading.Thread(target=serve)
    server.start()
    try:
        lines = []
        for attempt in range(3):
            assert attempt < 2 or begun.wait(PATIENCE)
            file = tmp_path / f"{attempt}.tar"
            back_up(fleet, file)
            restore(file, tmp_path / f"again {attempt}")
            assert found(tmp_path / f"again {attempt}")
            with Fleet(tmp_path / f"again {attempt}").store() as store:
                lines.append(store.lines.count())
    finally:
        stop.set()
        server.join()
    assert lines == sorted(lines)
    assert lines[-1] > 60


def test_in_the_place_of_a_fleet_it_is_beyond_both(fleet: Fleet, file: Path) -> None:
    go_on(fleet, 20, 34)
    with fleet.store() as store:
        coordinator = store.recover()
        coordinator.close(34)
        begun = coordinator.under(manifest(tick_seconds=FAR, epoch=4, lineage=1))
        store.begin_epoch(begun, "tried")
    restored = restore(file, fleet.folder)
    agreed, _ = found(fleet.folder)
    assert (agreed.epoch, agreed.lineage) == (5, 2)
    assert (restored.tick, restored.server.tick) == (20, 34)
    assert agreed.tick_at(time.time()) == 34  # and time goes on from there
    assert restored.server.w.tobytes() == lived(20).w.tobytes()
    assert restored.aside is not None
    old, _ = found(restored.aside)
    assert old.epoch == 4
    # A second time, from the same file: again another epoch.
    restore(file, fleet.folder)
    agreed, _ = found(fleet.folder)
    assert (agreed.epoch, agreed.lineage) == (6, 3)


def test_a_newer_backup_over_an_older_fleet(fleet: Fleet, file: Path, tmp_path: Path) -> None:
    shutil.copytree(fleet.folder, tmp_path / "two")
    with fleet.store() as store:
        begun = store.recover().under(manifest(tick_seconds=FAR, epoch=4, lineage=7))
        store.begin_epoch(begun, "tried")
    back_up(fleet, file)
    restore(file, tmp_path / "two")
    agreed, _ = found(tmp_path / "two")
    assert (agreed.epoch, agreed.lineage) == (5, 8)


def test_a_fleet_that_cannot_be_read_is_replaced_by_one_far_ahead(fleet: Fleet, file: Path) -> None:
    for name in (FILE, CONFIRMED):
        (fleet.folder / name).write_bytes(os.urandom(5000))
    restored = restore(file, fleet.folder)
    agreed, _ = found(fleet.folder)
    assert agreed.epoch != 3
    assert agreed.lineage > 1e9
    assert restored.aside is not None
    assert (restored.aside / FILE).exists()


def test_two_restores_to_empty_places_are_of_two_lineages(file: Path, tmp_path: Path) -> None:
    lineages = set()
    for name, now in (("two", 1e9), ("three", 1e9 + 1)):
        restore(file, tmp_path / name, now=now)
        lineages.add(found(tmp_path / name)[0].lineage)
    assert len(lineages) == 2


@pytest.mark.parametrize("security", ["certificate", "password"])
def test_who_was_refused_since_stays_refused(security: Security, tmp_path: Path) -> None:
    fleet, file = made(tmp_path / "one", security), tmp_path / "b.tar"
    back_up(fleet, file)
    fleet.quarantine("b")
    fleet.remove("c")
    restored = restore(file, fleet.folder)
    assert restored.forgotten == ("b", "c")
    assert [member.quarantined for member in members(Fleet(fleet.folder))] == [False, True, True]


POINTS = (
    "after unpacking",
    "inside epoch",
    "before epoch's commit",
    "after epoch's commit",
    "inside confirmation",
    "after confirmation",
    "before exchange",
    "after exchange",
)


@pytest.mark.parametrize(
    ("point", "killed"), some(product(reversed(POINTS), (False, True)), everyday=5)
)
def test_interrupted_anywhere_it_leaves_the_old_or_the_new_fleet(
    fleet: Fleet,
    file: Path,
    point: str,
    killed: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go_on(fleet, 20, 25)
    old, reached = found(fleet.folder), []
    if killed:  # nothing is tidied up
        monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)

    def sync(where: str) -> None:
        reached.append(where)
        if where == point:
            raise PowerCutError

    with pytest.raises(PowerCutError):
        restore(file, fleet.folder, sync=sync)
    assert reached == list(POINTS[: POINTS.index(point) + 1])
    happened = point == "after exchange"
    assert (found(fleet.folder) == old) is not happened
    assert found(fleet.folder)[0].epoch == (4 if happened else 3)
    if not killed:
        left = {path.name for path in tmp_path.iterdir()} - {"one", "b.tar"}
        assert [name for name in left if not name.startswith("one.before-")] == []
    restore(file, fleet.folder)
    assert found(fleet.folder)[0].epoch == (5 if happened else 4)


@pytest.mark.parametrize("files", [0, 3])
def test_a_backup_that_cannot_be_written_leaves_the_one_before(
    fleet: Fleet, file: Path, files: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = file.read_bytes()
    added = []

    def full(*what: object) -> None:
        added.append(what)
        if len(added) > files:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(tarfile.TarFile, "add", full)
    with pytest.raises(FileError, match="No space left"):
        back_up(fleet, file)
    assert file.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"one", "b.tar"}


def test_what_is_no_backup_is_refused_and_changes_nothing(
    fleet: Fleet, file: Path, tmp_path: Path
) -> None:
    whole = file.read_bytes()
    before = found(fleet.folder)
    content_ends = len(whole.rstrip(b"\0"))  # empty blocks fill it up to a whole record
    cut = [whole[:end] for end in range(0, content_ends, 8 * 512)]
    for content in (b"x" * 3000, whole[:700], *cut[:3], *cut[-12:]):
        file.write_bytes(content)
        for place in (fleet.folder, tmp_path / "new"):
            with pytest.raises(FileError, match=r"b\.tar is not a"):
                restore(file, place)
    with pytest.raises(FileError, match="cannot be read"):
        restore(tmp_path / "none.tar", tmp_path / "new")
    assert found(fleet.folder) == before
    assert {path.name for path in tmp_path.iterdir()} == {"one", "b.tar"}


def test_other_folders_are_left_alone(file: Path, tmp_path: Path) -> None:
    other = made(tmp_path / "two", start=2.0)
    before = found(other.folder)
    with pytest.raises(InputError, match="holds another fleet: choose another folder"):
        restore(file, other.folder)
    assert found(other.folder) == before
    (tmp_path / "three").mkdir()
    (tmp_path / "three" / "letter").write_text("x")
    with pytest.raises(FileError, match="neither a fleet nor an empty folder"):
        restore(file, tmp_path / "three")
    (tmp_path / "four").mkdir()
    assert restore(file, tmp_path / "four").aside is None


def test_a_server_at_work_is_left_alone(fleet: Fleet, file: Path, tmp_path: Path) -> None:
    with locked(fleet.folder):
        back_up(fleet, file)
        with pytest.raises(StoreError, match="is running: stop it first"):
            restore(file, fleet.folder)
    assert {path.name for path in tmp_path.iterdir()} == {"one", "b.tar"}


@pytest.mark.parametrize("swaps", [True, False])
def test_folders_change_places(
    swaps: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not swaps:  # as on a system that cannot
        monkeypatch.setattr("paofed.files._swap", lambda *_: False)
    new, place, aside = (tmp_path / name for name in ("new", "place", "aside"))
    for folder in (new, place):
        folder.mkdir()
        (folder / folder.name).touch()
    exchanged(new, place, aside)
    assert [path.name for path in place.iterdir()] == ["new"]
    assert [path.name for path in aside.iterdir()] == ["place"]
    assert not new.exists()
