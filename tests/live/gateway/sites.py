"""A fleet and its gateway in one process, with a hub for each of the two brokers."""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.settings import Settings
from paofed.live.gateway.gateway import Gateway
from paofed.live.gateway.login import TelemetryLogin
from paofed.live.gateway.settings import GatewaySettings
from paofed.live.network.in_process import Hub
from tests.live.brokers import PATIENCE, Server, now_manifest, sample, until

SETTINGS = """\
file = "{file}"
state = "state"
admit = ["s*"]
window = 60
most_per_second = 1000

[telemetry]
topic = "plant/{{source}}"

[inputs]
a = "a"
b = "in.b"

[target]
y = "y"

[publish]
topic = "paofed/{{source}}"
every = 1e-9
"""


def reading(number: int) -> bytes:
    """A message with a whole sample of the small fleet."""
    (a, b), y = sample(number)
    return json.dumps({"a": a, "in": {"b": b}, "y": y}).encode()


class GatewaySite:
    """A fleet with a gateway of some places."""

    def __init__(self, folder: Path, places: int = 3, **changes: Any) -> None:
        settings = Settings(name="g", security="none", http="", snapshot_every=10)
        self.hub, self.plant = Hub(), Hub()
        self.folder = folder
        self.fleet = Fleet.create(folder / "fleet", settings, now_manifest(**changes))
        self.file = self.fleet.add_gateway("hall", places)
        self.toml = folder / "gateway.toml"
        self.toml.write_text(SETTINGS.format(file=self.file))
        self.told: list[tuple[str, dict[str, Any]]] = []  # what the gateway published
        self.said: list[str] = []
        self.link = self.plant.connect(
            TelemetryLogin(client_id="plant"),
            ["paofed/+"],
            lambda topic, payload: self.told.append((topic, json.loads(payload))),
        )
        self.link.open()

    @contextmanager
    def gateway(self, **options: Any) -> Iterator[Gateway]:
        log = logging.Logger("gateway")
        handler = logging.Handler()
        handler.emit = lambda record: self.said.append(record.getMessage())  # type: ignore[method-assign]
        log.addHandler(handler)
        settings = GatewaySettings.load(self.toml)
        with Gateway(settings, log, fleet=self.hub, telemetry=self.plant, **options) as gateway:
            yield gateway

    @contextmanager
    def served(self) -> Iterator[Server]:
        server = Server(self.fleet, transport=self.hub)
        server.thread.start()
        try:
            until(server.connected)
            yield server
        finally:
            server.stop()

    def publish(self, source: str, payload: bytes) -> None:
        self.link.send(f"plant/{source}", payload)


def turn_until(gateway: Gateway, what: Callable[[], object]) -> None:
    """Let the gateway work until something is true."""

    def worked() -> object:
        gateway.turn(0.01)
        return what()

    until(worked, PATIENCE)


def saying(site: GatewaySite, source: str, what: Callable[[], object]) -> Callable[[], object]:
    """Let a source tell a sample before every look whether something is true."""

    def looked() -> object:
        site.publish(source, reading(0))
        return what()

    return looked
