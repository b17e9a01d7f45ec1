"""A fleet with a real broker that is changed while it lives; no device is touched by hand."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from paofed.errors import InputError
from paofed.live.device.device import Device
from paofed.live.fleet.changes import change_fleet
from paofed.live.protocol.change import Changed, Changes
from paofed.live.protocol.quantity import Quantity
from tests.live.brokers import PATIENCE, Server, Site, next_tick, sample, until, work

HOUR = 3600.0
TICK = 0.1
WIND = Quantity(name="wind", offset=3.0, scale=2.0)


def changed(site: Site, changes: Changes) -> Changed:
    found = change_fleet(site.fleet, changes)
    assert found is not None
    return found


def talk(device: Device, samples: Sequence[tuple[list[float], float]]) -> int:
    """Learn from each and contact, a tick apart; how many contacts were answered."""
    answered = 0
    for x, y in samples:
        next_tick(device)
        device.learn(x, y)
        answered += device.contact(PATIENCE)
    return answered


def accepted(server: Server) -> int:
    return server.status().counts["accepted"]


def windy(number: int) -> tuple[list[float], float]:
    (a, b), y = sample(number)
    return [a, b, 3.0 + number % 3], y


def test_a_fleet_lives_through_changes(tmp_path: Path) -> None:
    with (
        Site(tmp_path / "fleet", tick_seconds=TICK) as site,
        site.device(0, state=tmp_path / "north.npz") as north,
        site.device(1, state=tmp_path / "south.npz") as south,
    ):
        site.fleet.settings = replace(site.fleet.settings, http="")  # others may take the port
        devices = (north, south)
        with site.served() as server:
            assert all(work(device, 4) == 4 for device in devices)
            tick, before_change = server.status().tick, accepted(server)

        values = {"step_size": 0.1, "tick_seconds": 2 * TICK, "shared": 4}
        after = changed(site, Changes(values=values)).server
        assert after.tick > tick
        models = [device.edge.w.copy() for device in devices]
        with site.served() as server:
            for device, before in zip(devices, models, strict=True):
                assert device.contact(PATIENCE)  # reads the manifest, the time, and is answered
                assert device.manifest == after.manifest
                # Nothing but the reply's window has changed: it goes on with its own model.
                assert (device.edge.w == before).sum() >= 4
                assert talk(device, [sample(n) for n in range(3)]) == 3
            until(lambda: server.status().tick > after.tick)
            assert accepted(server) > before_change
            tick = server.status().tick

        wind = changed(site, Changes(inputs=(WIND,))).server
        assert wind.tick > tick
        with site.served() as server:
            for device in devices:
                assert device.contact(PATIENCE)
                assert [number.name for number in device.manifest.inputs] == ["a", "b", "wind"]
                with pytest.raises(InputError, match="expected 3 finite numbers"):
                    device.learn(*sample(0))
            # The first one began from the server's model, which nobody had changed since.
            assert np.allclose(north.edge.w, wind.w, rtol=0, atol=1e-6)
            for device in devices:
                assert talk(device, [windy(n) for n in range(3)]) == 3
            until(lambda: server.status().tick > wind.tick)
        with site.fleet.store() as store:
            assert store.verify().agrees
            why = [epoch.why.partition(":")[0] for epoch in store.epochs.all()]
            assert why[-2:] == ["changed"] * 2


def test_old_files_are_good_until_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    states = tmp_path / "north.npz", tmp_path / "south.npz"
    passed = [0.0]  # seconds that the server believes to have passed, when it looks what is due
    with Site(tmp_path / "fleet", tick_seconds=TICK) as site:
        look = site.fleet.revoke_due
        monkeypatch.setattr(site.fleet, "revoke_due", lambda s, now: look(s, now + passed[0]))
        rotated(site, site.fleet.rotate_all(time.time() + HOUR), states, passed)


def rotated(
    site: Site, files: Iterator[Path], states: tuple[Path, Path], passed: list[float]
) -> None:
    with site.served() as server:
        with site.device(1, state=states[1]) as south:
            with site.device(0, state=states[0]) as north:
                assert work(north, 2) == work(south, 2) == 2
                assert list(files) == site.files
                assert work(north, 2) == work(south, 2) == 2  # with the old files
            with site.device(0, state=states[0]) as north:  # with its new one
                assert work(north, 2, first=4) == 2
                passed[0] = HOUR
                until(lambda: "the old files of 2 devices are good no more" in server.said)
                until(lambda: "certificate" in south.why_not())  # its connection was ended
                assert not south.contact(1.0)
                until(lambda: work(north, 1))  # it was put off for a moment, and came back
                assert work(north, 2, first=6) == 2
        with site.device(1, state=states[1]) as south:
            assert south.edge.joined
            assert work(south, 2, first=4) == 2
        assert server.refused("certificate") >= 1
