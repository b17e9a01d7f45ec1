"""A fleet with a real broker that was ruined by one device, and recovers; no device is touched."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from paofed.live.device.device import Device
from paofed.live.fleet.backup import back_up, restore
from paofed.live.fleet.changes import leave_out, roll_back
from paofed.live.fleet.folder import Fleet
from tests.effort import some
from tests.live.brokers import PATIENCE, Site, next_tick, until, work

TICK = 0.1
SOUND, RUINED = 100.0, 1000.0  # no parameter of a sound model is beyond the one


def rolled_back(site: Site, tick: int, _: Path) -> None:
    roll_back(site.fleet, tick)


def without_north(site: Site, tick: int, _: Path) -> None:
    leave_out(site.fleet, ["north"], tick)


def restored(site: Site, _: int, file: Path) -> None:
    restore(file, site.folder)
    site.fleet = Fleet(site.folder)


def largest(device: Device) -> float:
    return float(np.abs(device.edge.w).max())


@pytest.mark.parametrize("recovers", some([rolled_back, without_north, restored], everyday=1))
def test_what_one_device_ruined_does_not_come_back(
    recovers: Callable[[Site, int, Path], None], tmp_path: Path
) -> None:
    file = tmp_path / "b.tar"
    with (
        Site(tmp_path / "fleet", tick_seconds=TICK) as site,
        site.device(0, state=tmp_path / "north.npz") as north,
        site.device(1, state=tmp_path / "south.npz") as south,
    ):
        devices = north, south
        site.fleet.settings = replace(site.fleet.settings, http="")  # others may take the port
        with site.served() as server:
            assert all(work(device, 4) == 4 for device in devices)
            back_up(site.fleet, file)
            good = server.status().tick + 1
            until(lambda: server.status().tick > good)
            for _ in range(3):
                next_tick(north)
                north.learn([0.5, 0.5], 1e6)
                assert north.contact(PATIENCE)
            assert largest(north) > RUINED
            north.learn([0.5, 0.5], 1e6)  # which it keeps, to send it later
            assert south.contact(PATIENCE)
        with site.fleet.store() as store:
            before = store.recover()
            assert np.abs(before.w).max() > RUINED
        recovers(site, good, file)
        site.fleet.settings = replace(site.fleet.settings, http="")
        with site.fleet.store() as store:
            after = store.recover()
        assert np.abs(after.w).max() < SOUND
        assert after.tick >= before.tick
        with site.served() as server:
            for device in devices:
                assert device.contact(PATIENCE)
                assert device.manifest == after.manifest
                assert largest(device) < SOUND
            assert all(work(device, 4, first=4) == 4 for device in devices)
            assert server.status().tick >= after.tick
        assert max(map(largest, devices)) < SOUND
        with site.fleet.store() as store:
            assert np.abs(store.recover().w).max() < SOUND
            assert store.verify().agrees
