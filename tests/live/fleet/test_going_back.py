"""A fleet's folder goes back in time, or on without some devices: whole or not at all."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.errors import InputError, PaofedError
from paofed.live.fleet.changes import GoneBack, leave_out, roll_back
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.settings import Settings
from paofed.live.journal.database import StoreError, locked
from paofed.live.journal.store import Store
from paofed.live.protocol.change import replayed
from paofed.live.protocol.coordinator import Coordinator, Record, Send
from paofed.live.protocol.messages import REREAD
from tests.effort import some
from tests.live.fleets import f32, live, manifest, records, server, update
from tests.live.stores import PowerCutError, lived

POINTS = (
    "inside epoch",
    "before epoch's commit",
    "after epoch's commit",
    "inside confirmation",
    "after confirmation",
)
FAR = 1e9  # a fleet of so long a tick is still in the first one after 60


def made(folder: Path, **changes: Any) -> Fleet:
    """Three devices that were heard in each of 60 ticks; the clock has not gone on since."""
    settings = Settings(name="g", security="none", http="")
    fleet = Fleet.create(folder, settings, manifest(tick_seconds=FAR, start=1.0, **changes))
    with fleet.store() as store:
        for device in range(3):
            store.roster.add(f"device {device}")
        live(store, store.recover(), range(60), snapshots=4, keep=1e12)
    return fleet


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fleet of which each test takes a copy."""
    return made(tmp_path_factory.mktemp("original") / "fleet").folder


@pytest.fixture
def fleet(original: Path, tmp_path: Path) -> Fleet:
    return Fleet(shutil.copytree(original, tmp_path / "fleet"))


def without(absent: int, since: int, **changes: Any) -> Coordinator:
    """The server that did not hear a device for a while."""
    twin = server(**changes)
    for tick in range(60):
        for device in range(3):
            if tick < since or device != absent:
                values = np.sin([device + 3.0 * tick, device - tick])
                records(twin, device, update(tick, *values))
        twin.close(tick + 1)
    return twin


def found(fleet: Fleet) -> tuple[Any, bytes]:
    """What the fleet has agreed on, and the state of its server."""
    with fleet.store() as store:
        return store.epochs.manifest(), store.recover().digest()


Does = Callable[..., GoneBack]
EITHER: list[Does] = [
    lambda fleet, **how: roll_back(fleet, 30, **how),
    lambda fleet, **how: leave_out(fleet, ["device 1"], 30, **how),
]
either = pytest.mark.parametrize("does", EITHER, ids=["rollback", "without"])


def test_rolled_back_the_model_is_that_of_then(fleet: Fleet) -> None:
    with fleet.store() as store:
        before = store.recover()
        before.close(60)
    gone = roll_back(fleet, 30)
    assert gone.updates == 90
    with fleet.store() as store:
        after = store.recover()
        assert store.epochs.all()[-1].why == "rolled back to tick 30"
        assert store.is_intact()
    assert after.w.tobytes() == lived(30).w.tobytes()
    assert after.tick == before.tick == 60
    assert after.devices.last_seen.tolist() == before.devices.last_seen.tolist()
    assert after.counts == before.counts
    old, new = before.manifest, after.manifest
    assert (new.epoch, new.lineage) == (old.epoch + 1, old.lineage + 1)


def test_a_rollback_can_be_taken_back(fleet: Fleet) -> None:
    roll_back(fleet, 30)
    with fleet.store() as store:
        coordinator = store.recover()
        live(store, coordinator, range(60, 65))
    roll_back(fleet, 60)
    with fleet.store() as store:
        assert store.recover().w.tobytes() == lived(60).w.tobytes()
        assert [epoch.manifest.lineage for epoch in store.epochs.all()] == [0, 1, 2]
        assert store.is_intact()


@either
def test_updates_of_the_earlier_epoch_are_never_applied(does: Does, fleet: Fleet) -> None:
    does(fleet)
    with fleet.store() as store:
        coordinator = store.recover()
    before = coordinator.w.tobytes()
    (answer,) = coordinator.receive(0, update(60, 9.0, 9.0, repeats=[(1, (8.0, 8.0))]))
    assert isinstance(answer, Send)
    assert answer.payload[0] & 15 == REREAD
    coordinator.close(70)
    assert coordinator.w.tobytes() == before


def test_without_a_device_the_model_is_what_the_others_make(fleet: Fleet) -> None:
    gone = leave_out(fleet, ["device 1"], 30)
    assert gone.updates == 30
    twin = without(1, 30)
    with fleet.store() as store:
        after = store.recover()
        assert store.is_intact()
        assert store.epochs.all()[-1].why == "without device 1 since tick 30"
    assert after.w.tobytes() == twin.w.tobytes() != lived(60).w.tobytes()
    assert (after.manifest.epoch, after.manifest.lineage) == (4, 1)


def same(one: Coordinator, other: Coordinator) -> bool:
    """Whether all that their rules keep is the same, bit for bit."""
    ours, theirs = one.rule.arrays(), other.rule.arrays()
    assert ours.keys() == theirs.keys() > {"model"}
    return all(ours[name].tobytes() == theirs[name].tobytes() for name in ours)


def test_scales_and_scores_go_back_with_the_model(tmp_path: Path) -> None:
    fleet = made(tmp_path / "fleet", clip=2.0)
    with fleet.store() as store:
        then = store.past.at(30).server
    assert same(leave_out(fleet, ["device 1"], 30, dry_run=True).server, without(1, 30, clip=2.0))
    roll_back(fleet, 30)
    with fleet.store() as store:
        after = store.recover()
        assert store.is_intact()
    assert same(after, then)
    assert after.w.any()


def test_a_rule_that_bounds_is_applied_to_what_came_before_it(fleet: Fleet) -> None:
    """The present rule judges messages of a time in which nobody did."""
    with fleet.store() as store:
        coordinator = store.recover()
        begun = coordinator.under(manifest(tick_seconds=FAR, epoch=4, clip=2.0))
        begun.rule.carry(coordinator.rule.arrays())
        store.begin_epoch(begun, "changed")
    gone = leave_out(fleet, ["device 1"], 0)
    assert same(gone.server, without(1, 0, clip=2.0))


def test_without_everybody_the_model_is_that_of_then(fleet: Fleet) -> None:
    gone = leave_out(fleet, ["device 0", "device 1", "device 2"], 30)
    assert gone.server.w.tobytes() == lived(30).w.tobytes()


def test_one_who_was_removed_can_be_left_out(fleet: Fleet) -> None:
    fleet.remove("device 1")
    assert leave_out(fleet, ["device 1"], 30, dry_run=True).updates == 30
    with pytest.raises(StoreError, match="unknown device 'device 9'"):
        leave_out(fleet, ["device 9"], 30)


def test_a_model_that_meant_something_else_comes_back_with_its_meaning(fleet: Fleet) -> None:
    with fleet.store() as store:
        coordinator = store.recover()
        other = manifest(tick_seconds=FAR / 10, features=6, epoch=4, lineage=1, from_tick=60,
                         from_time=1.0 + 60 * FAR)  # fmt: skip
        begun = coordinator.under(other)
        store.begin_epoch(begun, "tried")
        live(store, begun, range(60, 65))
    gone = roll_back(fleet, 30)
    agreed = gone.server.manifest
    assert (agreed.features, agreed.tick_seconds) == (8, FAR)
    assert (agreed.epoch, agreed.lineage) == (5, 2)
    assert agreed.from_tick == gone.present.tick
    assert agreed.begins(gone.server.tick) == other.begins(gone.server.tick)
    with pytest.raises(StoreError, match="has begun anew"):
        leave_out(fleet, ["device 1"], 40)


@either
@pytest.mark.parametrize("point", some(reversed(POINTS), everyday=2))
def test_interrupted_anywhere_it_leaves_the_old_or_the_new_fleet(
    does: Does, point: str, fleet: Fleet
) -> None:
    def sync(where: str) -> None:
        if where == point:
            raise PowerCutError

    old = found(fleet)
    new = does(fleet, dry_run=True).server
    with pytest.raises(PowerCutError):
        does(fleet, sync=sync)
    happened = point not in POINTS[:2]
    assert found(fleet) == ((new.manifest, new.digest()) if happened else old)
    with fleet.store() as store:
        assert store.is_intact()


@either
def test_it_is_shown_before_it_is_done_and_not_done_if_that_fails(does: Does, fleet: Fleet) -> None:
    def look(_: GoneBack) -> None:
        raise InputError("no such file")

    before = found(fleet)
    for refused in ({"look": look}, {"dry_run": True, "look": look}):
        with pytest.raises(InputError, match="no such file"):
            does(fleet, **refused)
    does(fleet, dry_run=True)
    assert found(fleet) == before


@either
def test_a_server_at_work_is_left_alone(does: Does, fleet: Fleet) -> None:
    with locked(fleet.folder):
        assert does(fleet, dry_run=True).updates
        with pytest.raises(StoreError, match="is running: stop it first"):
            does(fleet)


def test_a_tick_that_is_not_there_yet_is_refused(fleet: Fleet) -> None:
    with pytest.raises(PaofedError, match="tick 61 is not there yet: it is tick 60 now"):
        roll_back(fleet, 61)


def test_the_store_is_what_it_was_for_whoever_looks(fleet: Fleet) -> None:
    roll_back(fleet, 30)
    with fleet.store() as store:
        assert isinstance(store, Store)
        for tick in (0, 10, 30, 59):
            assert store.past.at(tick).server.w.tobytes() == lived(tick).w.tobytes()


def test_without_a_device_what_is_too_old_by_the_present_rule_does_not_count() -> None:
    """Updates of the fleet's earlier, larger age limit: one at the present limit, one beyond it."""
    then = server(max_age=6)
    present = server(max_age=2)
    present.close(9)
    late, too_late = Record(7, 0, 5, f32(1.0, 2.0)), Record(7, 1, 3, f32(8.0, 9.0))
    found = replayed(present, then, [late, too_late], absent={2})
    twin = server(max_age=6)
    twin.recover([late])
    twin.close(9)
    assert found.w.tobytes() == twin.w.tobytes() != then.w.tobytes()
