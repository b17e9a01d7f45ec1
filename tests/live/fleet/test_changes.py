"""A change of a fleet's folder: in one step, while nobody serves it."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from paofed.live.fleet.changes import change_fleet
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.settings import Settings
from paofed.live.journal.database import StoreError, locked
from paofed.live.protocol.change import Changes
from paofed.live.protocol.coordinator import Coordinator
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.quantity import Quantity
from tests.live.fleets import live, manifest, records, update
from tests.live.stores import PowerCutError

CHANGES = Changes(
    values={"step_size": 0.1, "shared": 4, "tick_seconds": 7.0, "max_age": 9},
    inputs=(Quantity(name="wind", offset=3.0),),
    ranges={"a": (-1.0, 1.0)},
)


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    """Three devices, 25 ticks, snapshots after 10 and 20, and updates that wait for their tick."""
    settings = Settings(name="g", security="none", http="")
    start = float(int(time.time())) - 25
    fleet = Fleet.create(tmp_path / "fleet", settings, manifest(start=start))
    list(fleet.add(["north", "south", "west"]))
    with fleet.store() as store:
        coordinator = store.recover()
        live(store, coordinator, range(25), snapshots=10)
        waiting = records(coordinator, 1, update(coordinator.tick + 1, 3.0, 4.0))
        assert waiting
        store.write(waiting)
        store.confirmation.catch_up()
    return fleet


def found(fleet: Fleet) -> tuple[Manifest, Coordinator]:
    """What a server would find that starts now."""
    with fleet.store() as store:
        assert store.verify().agrees
        assert len(store.roster.members()) == 3
        return store.epochs.manifest(), store.recover()


def applied(fleet: Fleet) -> bytes:
    """The model with everything that was accepted."""
    _, coordinator = found(fleet)
    coordinator.close(coordinator.tick + 10)
    return coordinator.w.tobytes()


def points(fleet: Fleet) -> list[str]:
    """Where a change stands that is let go on."""
    passed: list[str] = []
    assert change_fleet(fleet, CHANGES, sync=passed.append) is not None
    return passed


def cut_at(place: int) -> Callable[[str], None]:
    passed: list[str] = []

    def sync(point: str) -> None:
        passed.append(point)
        if len(passed) > place:
            raise PowerCutError(point)

    return sync


def test_a_change_is_what_the_next_server_finds(fleet: Fleet) -> None:
    expected = applied(fleet)
    changed = change_fleet(fleet, CHANGES)
    assert changed is not None
    agreed, coordinator = found(fleet)
    assert agreed == changed.server.manifest
    assert agreed != manifest()
    assert coordinator.digest() == changed.server.digest()
    assert coordinator.w.tobytes() == expected
    assert (agreed.step_size, agreed.shared, agreed.tick_seconds) == (0.1, 4, 7.0)
    with fleet.store() as store:
        why = store.epochs.all()[-1].why
    assert why.startswith("changed: shared 2 -> 4, step size 0.4 -> 0.1, ")


def test_the_fleet_goes_on_after_a_change(fleet: Fleet) -> None:
    """Journal, snapshots and restarts work across it."""
    assert change_fleet(fleet, Changes(values={"max_age": 9, "tick_seconds": 7.0})) is not None
    with fleet.store() as store:
        coordinator = store.recover()
        for tick in range(coordinator.tick, coordinator.tick + 40):
            coordinator.close(tick)
            store.write(records(coordinator, tick % 3, update(tick, 1.0, tick / 50, epoch=4)))
            store.confirmation.catch_up()
            if tick % 7 == 0:
                store.snapshot(coordinator)
                assert store.verify().agrees
        again = store.recover()
        coordinator.close(tick + 1)
        again.close(tick + 1)
        assert again.digest() == coordinator.digest()


def test_a_crash_anywhere_leaves_the_old_or_the_new_fleet(fleet: Fleet) -> None:
    before, _ = found(fleet)
    expected = applied(fleet)
    passed = points(fleet)
    assert len(set(passed)) == len(passed) >= 5
    seen = set()
    for place, point in enumerate(passed):
        old, _ = found(fleet)
        with pytest.raises(PowerCutError):
            change_fleet(fleet, another(old), sync=cut_at(place))
        agreed, coordinator = found(fleet)
        epoch = (agreed.epoch - old.epoch) % 256
        assert (agreed == old) == (epoch == 0), point
        assert agreed.max_age == (another(old).values["max_age"] if epoch else old.max_age)
        assert applied(fleet) == expected, point
        assert coordinator.tick >= old.from_tick
        seen.add(epoch)
        assert change_fleet(fleet, Changes(values={"max_age": 100 + place})) is not None
    assert seen == {0, 1}
    assert before.epoch == 3


def another(old: Manifest) -> Changes:
    """One more change."""
    return Changes(values={"max_age": (old.max_age + 7) % 50, "tick_seconds": 3.0 + old.max_age})


def test_nothing_is_done_while_a_server_runs(fleet: Fleet) -> None:
    before, _ = found(fleet)
    with locked(fleet.folder):
        with pytest.raises(StoreError, match="is running: stop it first"):
            change_fleet(fleet, CHANGES)
        changed = change_fleet(fleet, CHANGES, dry_run=True)
    assert changed is not None
    assert changed.server.manifest.epoch == 4
    assert found(fleet)[0] == before


def test_a_change_that_changes_nothing_writes_nothing(fleet: Fleet) -> None:
    with fleet.store() as store:
        before = store.epochs.all()
    assert change_fleet(fleet, Changes(values={"step_size": 0.4}, ranges={})) is None
    with fleet.store() as store:
        assert store.epochs.all() == before
