"""A whole fleet in one process, server and devices as they are, without a broker."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from paofed.live.device.device import Device
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.settings import Settings
from paofed.live.network.in_process import Hub
from tests.live.brokers import (
    PATIENCE,
    Server,
    next_tick,
    now_manifest,
    sample,
    served,
    until,
    work,
    work_until_confirmed,
)

TICK = 0.1


class Site:
    """A fleet's folder and a hub."""

    def __init__(
        self,
        folder: Path,
        labels: tuple[str, ...] = ("north", "south"),
        http: str = "",
        **changes: Any,
    ) -> None:
        settings = Settings(name="g", security="none", http=http, snapshot_every=10)
        self.hub = Hub()
        self.fleet = Fleet.create(
            folder, settings, now_manifest(**{"tick_seconds": TICK, **changes})
        )
        self.files = list(self.fleet.add(labels))

    def served(self, **options: Any) -> AbstractContextManager[Server]:
        return served(self.fleet, transport=self.hub, **options)

    def device(self, index: int, **options: Any) -> Device:
        return Device(self.files[index], transport=self.hub, **options)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "fleet")


@pytest.mark.parametrize("stay", [True, False])
def test_devices_join_and_are_answered(stay: bool, site: Site) -> None:
    with site.served() as server, site.device(0, stay=stay) as north, site.device(1) as south:
        devices = north, south
        assert [work(device, 4) for device in devices] == [4, 4]
        for device in devices:
            work_until_confirmed(device, 3)  # the first contact joins, and has no news
        assert north.why_not() == south.why_not() == ""
        assert server.status().counts["accepted"] >= north.confirmed + south.confirmed >= 6
    with site.fleet.store() as store:
        assert store.verify().agrees


def test_a_device_that_is_cut_off_goes_on_and_comes_back(site: Site) -> None:
    with site.served() as server, site.device(0) as device:
        work(device, 2)
        accepted = server.status().counts["accepted"]
        site.hub.cut("g/0")
        before = device.predict([0.1, 0.2])
        device.learn(*sample(5))
        assert not device.contact(0.1)
        assert "cut" in device.why_not()
        assert device.predict([0.1, 0.2]) != before
        site.hub.mend("g/0")
        next_tick(device)
        assert device.contact(PATIENCE)
        assert device.why_not() == ""
        until(lambda: server.status().counts["accepted"] > accepted)


def test_a_server_that_is_cut_off_is_not_healthy_and_comes_back(site: Site) -> None:
    with site.served() as server, site.device(0) as device:
        work(device, 2)
        site.hub.cut("g/server")
        site.hub.forget()  # a broker that was started again
        assert not device.contact(0.3)
        assert "no server answers" in device.why_not()
        until(lambda: "broker: the connection was cut; trying again" in server.said)
        site.hub.mend("g/server")
        until(lambda: server.said.count("connected to the broker") == 2)
        until(lambda: device.contact(PATIENCE))
        with site.device(1) as late:  # the manifest is there again
            assert late.contact(PATIENCE)


def test_a_server_is_started_again(site: Site, tmp_path: Path) -> None:
    with site.device(0, state=tmp_path / "state.npz") as device:
        for _ in range(2):
            with site.served():
                until(lambda: device.contact(PATIENCE))
                assert work(device, 2) == 2
        with site.fleet.store() as store:
            assert store.verify().agrees
            assert store.recover().counts["accepted"] == device.confirmed
