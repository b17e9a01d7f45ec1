"""Devices that are trusted: never set aside, also after a restart, a change, and in a replay."""

from pathlib import Path

import numpy as np
import pytest

from paofed.errors import InputError
from paofed.live.fleet.changes import change_fleet, roll_back, trust, trusted
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.settings import Settings
from paofed.live.journal.database import StoreError, locked
from paofed.live.journal.store import Store
from paofed.live.protocol.change import Changes
from tests.live.fleets import manifest, records, update

LABELS = ("north", "south", "east", "west")
FAR = 1e9  # a fleet of so long a tick is still in the first one after 60


def lives(store: Store, ticks: range) -> list[bool]:
    """Let all be heard, the last one far outside; return whether that one is aside, by tick."""
    aside, coordinator = [], store.recover()
    for tick in ticks:
        coordinator.close(tick)
        group = []
        for device in range(len(LABELS)):
            away = 50.0 if device == len(LABELS) - 1 else 1.0
            values = away * np.sin([device + 3.0 * tick, device - tick])
            group += records(
                coordinator, device, update(tick, *values, epoch=coordinator.manifest.epoch)
            )
        store.write(group)
        store.confirmation.catch_up()
        coordinator.committed()
        coordinator.close(tick + 1)
        aside.append(bool(coordinator.rule.aside[len(LABELS) - 1]))
        if tick % 4 == 0:
            store.snapshot(coordinator, keep=1e12)
    return aside


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    """A fleet whose last device has been set aside."""
    settings = Settings(name="g", security="none", http="")
    agreed = manifest(tick_seconds=FAR, start=1.0, clip=6.0)
    fleet = Fleet.create(tmp_path / "fleet", settings, agreed)
    with fleet.store() as store:
        store.roster.add_all(LABELS)
        assert lives(store, range(20))[-1]
    return fleet


def test_who_is_trusted_counts_like_any_other_until_the_trust_ends(fleet: Fleet) -> None:
    trust(fleet, ["west"])
    with fleet.store() as store:
        assert trusted(store) == ["west"]
        first, *_, last = store.epochs.all()
        assert last.why == "trusts west"
        assert last.manifest.epoch == first.manifest.epoch  # devices notice nothing
        assert not any(lives(store, range(20, 40)))
        assert store.is_intact()
    trust(fleet, ["west"], on=False)
    with fleet.store() as store:
        assert trusted(store) == []
        assert lives(store, range(40, 60))[-1]
        assert store.is_intact()


def test_trust_survives_a_change_and_a_rollback(fleet: Fleet) -> None:
    trust(fleet, ["west", "south"])
    change_fleet(fleet, Changes(values={"clip": 5.0}))
    with fleet.store() as store:
        assert trusted(store) == ["south", "west"]
    roll_back(fleet, 10)  # when nobody was trusted
    with fleet.store() as store:
        assert trusted(store) == ["south", "west"]
        assert store.is_intact()


WITHOUT_BOUNDS = [{"clip": None}, {"algorithm": "fed-async"}]


@pytest.mark.parametrize("values", WITHOUT_BOUNDS, ids=["no clip", "another rule"])
def test_trust_survives_a_rule_that_sets_nobody_aside(
    values: dict[str, object], fleet: Fleet
) -> None:
    usual = {"clip": 6.0, "algorithm": "pao-fed-u1"}
    trust(fleet, ["west"])
    change_fleet(fleet, Changes(values=values))
    with fleet.store() as store:
        assert trusted(store) == ["west"]
        assert store.is_intact()
    change_fleet(fleet, Changes(values={"step_size": 0.3}))
    change_fleet(fleet, Changes(values=usual))
    with fleet.store() as store:
        assert trusted(store) == ["west"]
        first = store.recover().tick
        assert not any(lives(store, range(first, first + 20)))
        assert store.is_intact()


def test_who_was_not_trusted_before_is_not_afterwards(fleet: Fleet) -> None:
    change_fleet(fleet, Changes(values={"clip": None}))
    with fleet.store() as store:
        assert list(store.recover().rule.arrays()) == ["model"]
    change_fleet(fleet, Changes(values={"clip": 6.0}))
    with fleet.store() as store:
        assert trusted(store) == []


def test_updates_that_wait_are_not_lost(fleet: Fleet) -> None:
    with fleet.store() as store:
        before = store.recover()
        before.close(20)
        (waiting,) = records(before, 0, update(20, 3.0, 4.0))
        store.write([waiting])
        store.confirmation.catch_up()
    trust(fleet, ["south"])
    with fleet.store() as store:
        assert waiting[:3] in [record[:3] for record in store.recover().waiting()]


def test_trust_that_changes_nothing_is_not_written(fleet: Fleet) -> None:
    trust(fleet, ["west"], on=False)
    with fleet.store() as store:
        assert len(store.epochs.all()) == 1


def test_one_who_was_never_heard_can_be_trusted(fleet: Fleet) -> None:
    with fleet.store() as store:
        store.roster.add("late")
    trust(fleet, ["late"])
    with fleet.store() as store:
        assert trusted(store) == ["late"]
        assert lives(store, range(20, 24))[-1]
        assert store.is_intact()


def test_a_gateway_is_trusted_with_all_its_devices(fleet: Fleet) -> None:
    with fleet.store() as store:
        store.roster.add_spoken(["hall", "hall/1", "hall/2"])
    trust(fleet, ["hall"])
    with fleet.store() as store:
        assert trusted(store) == ["hall/1", "hall/2"]


def test_what_is_refused(fleet: Fleet) -> None:
    with locked(fleet.folder), pytest.raises(StoreError, match="is running: stop it first"):
        trust(fleet, ["west"])
    with pytest.raises(StoreError, match="unknown device 'wets': did you mean 'west'"):
        trust(fleet, ["wets"])
    change_fleet(fleet, Changes(values={"clip": None}))
    with pytest.raises(InputError, match=r"sets no device aside, so there is nobody to trust"):
        trust(fleet, ["west"])
