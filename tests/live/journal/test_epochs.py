"""A fleet agrees on something else: whole or not at all, and noticed when it is lost."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from paofed.live.journal.database import FILE
from paofed.live.journal.store import Store, Verification
from paofed.live.protocol.coordinator import Coordinator
from tests.live.fleets import live, manifest, opened, records, update
from tests.live.stores import PowerCutError, execute, flip, lived, refusal

POINTS = (
    "inside epoch",
    "before epoch's commit",
    "after epoch's commit",
    "inside confirmation",
    "after confirmation",
)


def other(store: Store, **changes: object) -> Coordinator:
    """The server as it would go on under another manifest, from half of its model."""
    coordinator = store.recover()
    coordinator.close(25)
    begun = coordinator.under(manifest(**{"epoch": 4, "lineage": 1, **changes}))
    begun.rule.begin(coordinator.w / 2)
    return begun


def test_an_epoch_begins_from_the_state_that_it_is_given(fleet: Path) -> None:
    with opened(fleet) as store:
        begun = other(store)
        store.begin_epoch(begun, "tried")
        assert store.recover().digest() == begun.digest()
    with opened(fleet) as store:
        first, second = store.epochs.all()
        assert (first.generation, first.line, first.tick, first.why) == (1, 0, 0, "made")
        assert (second.generation, second.line, second.tick, second.why) == (2, 75, 25, "tried")
        assert first.time <= second.time
        assert (first.manifest, second.manifest) == (manifest(), begun.manifest)
        recovered = store.recover()
        assert recovered.digest() == begun.digest()
        assert recovered.w.tobytes() == (lived(25).w / 2).tobytes()
        assert store.verify().agrees


def test_what_was_known_of_devices_stays_and_nothing_counts_as_accepted(fleet: Path) -> None:
    with opened(fleet) as store:
        before = store.recover()
        before.close(25)
        begun = before.under(manifest(epoch=4, max_age=9))
    assert begun.counts == before.counts
    assert begun.ages == before.ages
    for name in ("known", "last_seen", "messages", "refused"):
        assert np.array_equal(getattr(begun.devices, name), getattr(before.devices, name))
    assert not begun.devices.accepted.any()
    assert len(begun.devices.accepted) == 9 + 3
    assert before.devices.accepted.any()


def test_an_update_that_waits_is_left_behind(fleet: Path) -> None:
    with opened(fleet) as store:
        coordinator = store.recover()
        coordinator.close(25)
        store.write(records(coordinator, 0, update(27, 1.0, 2.0)))
        begun = coordinator.under(manifest(epoch=4))
        begun.rule.restore(coordinator.rule.arrays())
        store.begin_epoch(begun, "tried")
        recovered = store.recover()
        assert recovered.waiting() == []
        recovered.close(40)
        assert recovered.w.tobytes() == lived(25).w.tobytes()
        assert store.verify().agrees


@pytest.mark.parametrize("point", POINTS)
def test_an_epoch_begins_whole_or_not_at_all(point: str, fleet: Path) -> None:
    def sync(where: str) -> None:
        if where == point:
            raise PowerCutError

    with opened(fleet) as store:
        begun = other(store)
        with pytest.raises(PowerCutError):
            store.begin_epoch(begun, "tried", sync)
    happened = point not in POINTS[:2]
    with opened(fleet) as store:
        assert store.epochs.manifest() == (begun.manifest if happened else manifest())
        recovered = store.recover()
        recovered.close(25)
        assert recovered.digest() == (begun if happened else lived(25)).digest()
        assert store.is_intact()


def test_the_fleet_lives_on_under_its_new_manifest(fleet: Path) -> None:
    with opened(fleet) as store:
        coordinator = other(store, epoch=3)
        store.begin_epoch(coordinator, "tried")
        live(store, coordinator, range(25, 40), snapshots=10)
        again = store.recover()
        again.close(40)
        assert again.digest() == coordinator.digest()
        assert store.verify() == Verification(40, 30, agrees=True)


def test_an_epoch_that_is_lost_is_noticed(fleet: Path) -> None:
    copy = fleet.parent / "copy.sqlite"
    connection = sqlite3.connect(fleet / FILE)
    connection.execute("VACUUM INTO ?", (str(copy),))
    connection.close()
    with opened(fleet) as store:
        store.begin_epoch(other(store), "tried")
    copy.replace(fleet / FILE)
    assert "lacks 1 confirmed change" in refusal(fleet)


@pytest.mark.parametrize("generation", [1, 2])
def test_a_manifest_that_is_missing_is_noticed(generation: int, fleet: Path) -> None:
    with opened(fleet) as store:
        store.begin_epoch(other(store), "tried")
    statement = "DELETE FROM manifest WHERE generation = ?"
    execute(fleet, ("DROP TRIGGER manifest_forgotten", ()), (statement, (generation,)))
    refusal(fleet)


@pytest.mark.parametrize("column", ["generation", "line", "tick", "time", "why"])
def test_a_manifest_with_another_beginning_is_noticed(column: str, fleet: Path) -> None:
    # A digit behind a time of 15 digits would now and then be no other number.
    other = f"{column} || 1" if column == "why" else f"{column} + 1"
    execute(fleet, (f"UPDATE manifest SET {column} = {other}", ()))  # noqa: S608 (ours)
    assert refusal(fleet).startswith("the manifest in ")


def test_a_snapshot_of_another_manifest_is_noticed(fleet: Path) -> None:
    execute(fleet, ("UPDATE snapshot SET generation = 2 WHERE line = 60", ()))
    assert "a snapshot in " in refusal(fleet, Store.recover)


def test_damage_before_an_epoch_began_is_noticed(fleet: Path) -> None:
    with opened(fleet) as store:
        store.begin_epoch(other(store), "tried")
    flip(fleet, "journal", "vals", 70, 0)
    assert refusal(fleet, Store.verify).startswith("line 70 of ")
    with opened(fleet) as store:
        store.recover()  # which does not need it
