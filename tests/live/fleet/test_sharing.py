"""Several fleets on one broker, as docs/operating-a-fleet.md says; and fleets with short names."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from paofed.demo.processes import kill, start
from paofed.live.device.device import Device
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.issuing import DEVICES
from paofed.live.fleet.settings import Security, Settings
from paofed.live.network.credential import Credential
from paofed.live.network.mqtt import Link
from tests.effort import some
from tests.live.brokers import (
    PATIENCE,
    Server,
    Site,
    next_tick,
    now_manifest,
    until,
    work,
    work_until_confirmed,
)
from tests.live.fleets import update
from tests.ports import free_port
from tests.system import needs
from tests.test_docs import blocks

DOCUMENT = "docs/operating-a-fleet.md"
NAMES = ("north", "south")
TICK = 0.1


@contextmanager
def neighbours(folder: Path, security: Security) -> Iterator[list[Server]]:
    """The servers of two fleets, on one mosquitto that the document's own commands make."""
    program = needs("mosquitto")
    fleets = []
    for name in NAMES:
        settings = Settings(name=name, port=free_port(), security=security, http="")
        fleets.append(Fleet.create(folder / name, settings, now_manifest(tick_seconds=TICK)))
        list(fleets[-1].add(["a", "b"]))
    (recipe,) = (block.text for block in blocks(DOCUMENT) if "shared.conf" in block.text)
    commands, last = recipe.rstrip().rsplit("\n", 1)
    assert last == "mosquitto -c shared.conf"
    subprocess.run(["/bin/sh", "-e", "-c", commands], cwd=folder, check=True)  # noqa: S603
    broker = start([program, "-c", str(folder / "shared.conf")], folder / "broker.log")
    servers: list[Server] = []
    try:
        # One after the other: CPython 3.11.7 fails where two threads of a process read headers of
        # numpy's files at once ("AST constructor recursion depth mismatch"). Servers have one each.
        for fleet in fleets:
            servers.append(Server(fleet))
            servers[-1].thread.start()
            until(servers[-1].connected)
        yield servers
    finally:
        for server in servers:
            server.stop()
        kill(broker)


def device(folder: Path, name: str, index: int) -> Path:
    (path,) = (folder / name / DEVICES).glob(f"{index}-*.json")
    return path


def again(each: Device, wait: float = 1.0) -> bool:
    """Contact in the next tick."""
    next_tick(each)
    return each.contact(wait)


@pytest.mark.parametrize("security", some(["certificate", "password"], everyday=1))
def test_two_fleets_share_a_broker(security: Security, tmp_path: Path) -> None:
    with neighbours(tmp_path, security) as servers, ExitStack() as stack:
        devices = [
            stack.enter_context(Device(device(tmp_path, name, k)))
            for name in NAMES
            for k in range(2)
        ]
        for _ in range(3):
            assert [work(each, 1) for each in devices] == [1] * 4
        time.sleep(0.75)  # longer than they would take to push each other off
        for server in servers:
            assert server.said.count("connected to the broker") == 1
            assert server.refused("second connection") == 0
        for each in devices:
            work_until_confirmed(each, 2)
        assert all(server.status().counts["accepted"] >= 4 for server in servers)
        # What one of them quarantines is refused by the broker, and nobody else is.
        fleet = Fleet(tmp_path / "south")
        fleet.quarantine("a")
        assert fleet.told
        until(lambda: not again(devices[2]))
        assert all(again(devices[k], PATIENCE) for k in (0, 1, 3))
        assert not again(devices[2])


def test_no_device_reaches_into_another_fleet(tmp_path: Path) -> None:
    heard: list[str] = []
    with neighbours(tmp_path, "certificate") as (_, south):
        link = Link(
            Credential.load(device(tmp_path, "north", 0)),
            ["north/0/d", "south/0/d", "south/c", "south/c2", "south/s", "#"],
            lambda topic, _: heard.append(topic),
        )
        link.open()
        try:
            until(link.up.is_set)
            for topic in ("south/0/u", "south/1/u", "south/0/d", "south/c", "south/c2"):
                link.send(topic, update(1))
            with Device(device(tmp_path, "south", 0)) as other:
                assert work(other, 3) == 3
            assert south.status().counts.keys() <= {"accepted", "hellos", "duplicates", "reads"}
        finally:
            link.close()
    assert {topic.partition("/")[0] for topic in heard} <= {"north"}


@pytest.mark.parametrize("security", some(["password", "certificate", "none"], everyday=1))
def test_a_fleet_with_short_names_is_served(security: Security, tmp_path: Path) -> None:
    with Site(tmp_path / "fleet", security, users="short", tick_seconds=TICK) as site:
        fleet = Fleet(site.folder)
        assert [Credential.load(path).name for path in site.files] == ["0", "1"]
        assert fleet.credential().name == "server"
        site.files.extend(fleet.add(["west"]))
        with site.served(fleet) as server, ExitStack() as stack:
            devices = [stack.enter_context(site.device(k)) for k in range(3)]
            until(lambda: devices[2].contact(1.0))
            assert [work(each, 2) for each in devices] == [2, 2, 2]
            for each in devices:
                work_until_confirmed(each, 1)
            assert server.status().counts["accepted"] >= 3
            fleet.quarantine("south")
            until(lambda: not again(devices[1]))
            assert work(devices[0], 1) == 1
