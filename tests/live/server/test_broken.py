"""One of six devices breaks, with a real broker, server and devices: status and health say who.

Time is given: server and devices read one clock, which goes on when everybody was heard. By the
machine's own clock two fleets would be contacted in other ticks, and so in other windows of the
model, whenever the machine is busy, and could not be compared.
"""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import patch
from urllib.request import ProxyHandler, build_opener

import numpy as np
import pytest

from paofed.cli import main
from paofed.demo.processes import LocalBroker
from paofed.live.device.device import Device
from paofed.live.fleet.folder import Fleet
from paofed.live.model.fleet_model import FleetModel
from paofed.live.protocol.manifest import Manifest
from paofed.live.server.status import DeviceStatus
from tests.effort import effort
from tests.live.broken import BROKEN, DEVICES, FAULTS, Fault, Sensor, error
from tests.live.brokers import PATIENCE, Server, Site, until
from tests.ports import free_port
from tests.system import needs

TICK = 0.04  # seconds; the server looks at a clock that stands still as often as that
FEATURES = effort(everyday=24, thorough=200)  # as usual; a small model learns sooner
LEARNED = effort(everyday=60, thorough=300)  # contacts
LATER = effort(everyday=40, thorough=240)
# One for every way to be named; all kinds are tried without sockets, in lab/rehearsal/test_broken.
KINDS = ["times 1000", "stuck", "times 3", "no numbers", "liar"][: effort(everyday=1, thorough=5)]
NUMBERS = "--input temperature:20:10 --input hour:12:6 --target load:300:100"
_OPENER = build_opener(ProxyHandler({}))


class Clock:
    """The fleet's time, in seconds since 1970: the middle of a tick, until the next one is due."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest, self._tick = manifest, 0

    def __call__(self) -> float:
        return self._manifest.begins(self._tick) + TICK / 2

    def forward(self) -> None:
        self._tick += 1


class Made(Site):
    """A fleet as `paofed fleet init` makes it, with short ticks."""

    def __init__(
        self,
        folder: Path,
        numbers: str = NUMBERS,
        features: int = FEATURES,
        devices: int = DEVICES,
    ) -> None:
        program = needs("mosquitto")
        self.http = f"127.0.0.1:{free_port()}"
        size = f"--features {features} --tick {TICK} --name g --security none"
        words = f"fleet init {folder} {numbers} {size} --port {free_port()} --http {self.http}"
        assert main(words.split()) == 0
        self.folder, self.fleet = folder, Fleet(folder)
        self.files = list(self.fleet.add([f"device-{k}" for k in range(devices)]))
        with self.fleet.store() as store:
            self.clock = Clock(store.epochs.manifest())
        self.broker = LocalBroker(self.fleet, program)
        self.broker.start()

    def health(self) -> dict[str, Any]:
        with _OPENER.open(f"http://{self.http}/health", timeout=PATIENCE) as answer:
            says: dict[str, Any] = json.loads(answer.read())
            return says


class Fitted:
    """A device and its sensor, at the fleet's time."""

    def __init__(self, device: Device, sensor: Sensor, clock: Clock) -> None:
        self.device, self.sensor = device, sensor
        until(device.knows_fleet)
        edge = device.edge
        right, receive, tick = edge.contact, edge.receive, edge.tick

        def contact(_: float) -> bytes | None:
            payload = right(clock())
            return None if payload is None else self.sensor.say(payload, edge.manifest)

        edge.contact = contact  # type: ignore[method-assign, assignment]
        edge.receive = lambda payload, _: receive(payload, clock())  # type: ignore[method-assign, assignment]
        edge.tick = lambda _: tick(clock())  # type: ignore[method-assign, assignment]

        def joined() -> bool:
            clock.forward()  # few devices are welcomed in one tick
            return device.contact(1.0)

        until(joined)

    def turn(self) -> None:
        self.device.learn(*self.sensor.measure())
        # However busy the machine: only what a broken device says may stay without an answer.
        self.device.contact(PATIENCE if self.sensor.fault is None else 0.3)


class Lived(NamedTuple):
    """What became of a fleet."""

    error: float  # of the server's model, over the last contacts
    named: dict[str, int]  # what the broken device was called, after how many contacts
    device: DeviceStatus
    health: dict[str, Any]
    log: tuple[str, ...]


@contextmanager
def fitted(site: Made) -> Iterator[list[Fitted]]:
    with ExitStack() as stack:
        devices = [stack.enter_context(site.device(k)) for k in range(DEVICES)]
        yield [Fitted(device, Sensor(k), site.clock) for k, device in enumerate(devices)]


def lived(fault: Fault | None) -> Lived:
    """Let a fleet learn, let a device break, and let the fleet go on."""
    errors, named = [], dict[str, int]()
    with (
        patch("paofed.live.server.inbox._GROUP", 0.001),  # all have waited for each other
        TemporaryDirectory(prefix="paofed-test-") as folder,
        Made(Path(folder) / "g") as site,
        site.served(wall=site.clock, steady=site.clock) as server,
        fitted(site) as devices,
        ThreadPoolExecutor(DEVICES) as threads,
    ):
        for number in range(LEARNED + LATER):
            if number == LEARNED:
                devices[BROKEN].sensor.fault = fault
            list(threads.map(Fitted.turn, devices))
            site.clock.forward()
            status = server.status()  # the server looks at the clock then
            if number >= LEARNED:
                for found in status.devices[BROKEN].faults:
                    named.setdefault(found.kind, number + 1 - LEARNED)
            if number >= LEARNED + LATER // 2:
                errors.append(error(_model(server)))
        device = server.status().devices[BROKEN]
        return Lived(float(np.mean(errors)), named, device, site.health(), tuple(server.said))


def _model(server: Server) -> FleetModel:
    return FleetModel.of(server.service._host.coordinator)


@cache
def alone() -> Lived:
    """The same fleet where nothing breaks."""
    return lived(None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_broken_device_is_named_and_the_fleet_predicts_as_without(kind: str) -> None:
    fault = FAULTS[kind]
    found = lived(fault)
    assert found.error < 1.1 * alone().error
    assert min(found.named.get(name, LATER) for name in fault.named_as) <= fault.within
    assert found.health["healthy"] is True
    label = f"device-{BROKEN} "
    assert [words for words in found.health["attention"] if words.startswith(label)]
    assert any(f"device {BROKEN} (device-{BROKEN})" in line for line in found.log)
