"""One of six devices breaks, with a real broker, server and devices: status and health say who."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.request import ProxyHandler, build_opener

import numpy as np
import pytest

from paofed.cli import main
from paofed.live.device.device import Device
from paofed.live.fleet.folder import Fleet
from paofed.live.journal.exports import FleetModel
from paofed.live.server.status import DeviceStatus
from paofed.live.trials.processes import LocalBroker, free_port
from tests.effort import effort
from tests.live.broken import BROKEN, DEVICES, FAULTS, Fault, Sensor, error
from tests.live.brokers import PATIENCE, Server, Site, until
from tests.system import needs

TICK = 0.04
FEATURES = effort(everyday=60, thorough=200)  # as usual; a small model learns sooner
LEARNED = effort(everyday=120, thorough=300)  # contacts
LATER = effort(everyday=60, thorough=240)
KINDS = list(FAULTS)[: effort(everyday=1, thorough=len(FAULTS))]
_OPENER = build_opener(ProxyHandler({}))


class Made(Site):
    """A fleet as `paofed fleet init` makes it, with short ticks."""

    def __init__(self, folder: Path) -> None:
        program = needs("mosquitto")
        self.http = f"127.0.0.1:{free_port()}"
        numbers = "--input temperature:20:10 --input hour:12:6 --target load:300:100"
        size = f"--features {FEATURES} --tick {TICK} --name g --security none"
        words = f"fleet init {folder} {numbers} {size} --port {free_port()} --http {self.http}"
        assert main(words.split()) == 0
        self.folder, self.fleet = folder, Fleet(folder)
        self.files = list(self.fleet.add([f"device-{k}" for k in range(DEVICES)]))
        self.broker = LocalBroker(self.fleet, program)
        self.broker.start()

    def health(self) -> dict[str, Any]:
        with _OPENER.open(f"http://{self.http}/health", timeout=PATIENCE) as answer:
            says: dict[str, Any] = json.loads(answer.read())
            return says


class Fitted:
    """A device and its sensor."""

    def __init__(self, device: Device, seed: int) -> None:
        self.device, self.sensor = device, Sensor(seed)
        until(lambda: device.contact(PATIENCE))
        edge = device.edge
        right = edge.contact

        def contact(seconds: float) -> bytes | None:
            payload = right(seconds)
            return None if payload is None else self.sensor.say(payload, edge.manifest)

        edge.contact = contact  # type: ignore[method-assign]

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
        yield [Fitted(device, k) for k, device in enumerate(devices)]


def lived(fault: Fault | None) -> Lived:
    """Let a fleet learn, let a device break, and let the fleet go on."""
    errors, named = [], dict[str, int]()
    with (
        TemporaryDirectory(prefix="paofed-test-") as folder,
        Made(Path(folder) / "g") as site,
        site.served() as server,
        fitted(site) as devices,
        ThreadPoolExecutor(DEVICES) as threads,
    ):
        for number in range(LEARNED + LATER):
            if number == LEARNED:
                devices[BROKEN].sensor.fault = fault
            begun = time.monotonic()
            list(threads.map(Fitted.turn, devices))
            if number >= LEARNED:
                for found in server.status().devices[BROKEN].faults:
                    named.setdefault(found.kind, number + 1 - LEARNED)
            if number >= LEARNED + LATER // 2:
                errors.append(error(_model(server)))
            time.sleep(max(0.0, TICK - (time.monotonic() - begun)))
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
