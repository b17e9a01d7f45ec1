"""A fleet with a real broker and a real server, to be tried and killed."""

import contextlib
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np

from paofed.demo.processes import LocalBroker
from paofed.live.device.device import Device, seconds
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.settings import Security, Settings, Users
from paofed.live.network.credential import Credential
from paofed.live.network.mqtt import Link
from paofed.live.protocol.manifest import Manifest
from paofed.live.server.service import Service
from paofed.live.server.status import Status
from tests.live.fleets import manifest
from tests.ports import free_port
from tests.system import needs

PATIENCE = 60.0  # seconds for what happens in one: these machines are slow at times
ANSWER = 20.0  # seconds that a device waits for a reply, which may never come
TICK = 0.25


def until(what: Callable[[], object], patience: float = PATIENCE) -> None:
    """Wait for something to become true."""
    end = time.monotonic() + patience
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def now_manifest(**changes: Any) -> Manifest:
    """The small fleet's, begun now, with short ticks."""
    return manifest(
        **{"start": float(int(time.time())), "tick_seconds": TICK, "max_age": 200, **changes}
    )


class Site:
    """A fleet's folder, its broker and perhaps its server."""

    server: "Server"

    def __init__(
        self,
        folder: Path,
        security: Security = "certificate",
        labels: tuple[str, ...] = ("north", "south"),
        users: Users = "full",
        **changes: Any,
    ) -> None:
        program = needs("mosquitto")
        settings = Settings(
            name="g",
            host="localhost",
            port=free_port(),
            security=security,
            users=users,
            http=f"127.0.0.1:{free_port()}",
            snapshot_every=1_000_000,
        )
        self.manifest = now_manifest(**changes)
        self.fleet = Fleet.create(folder, settings, self.manifest)
        self.folder = folder
        self.files = list(self.fleet.add(labels))
        self.broker = LocalBroker(self.fleet, program)
        self.broker.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.broker.kill()

    def served(
        self, fleet: Fleet | None = None, **options: Any
    ) -> contextlib.AbstractContextManager["Server"]:
        """Run the server in a thread of this process while the block lasts."""
        return served(fleet or self.fleet, **options)

    @contextlib.contextmanager
    def link(self, index: int, *topics: str) -> Iterator[Link]:
        """A connection with a device's credential, for whatever it may try."""
        credential = Credential.load(self.files[index])
        link = Link(credential, [f"g/{index}/d", *topics], lambda *_: None)
        link.open()
        try:
            until(link.up.is_set)
            yield link
        finally:
            link.close()

    def device(self, index: int, **options: Any) -> Device:
        """A device, with the file that was made for it."""
        return Device(self.files[index], **options)

    def process(self) -> subprocess.Popen[str]:
        """The server as a process of its own, with its log on stderr."""
        return subprocess.Popen(  # noqa: S603 (our own program)
            [sys.executable, "-m", "paofed", "fleet", "serve", str(self.folder)],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )


class Server:
    """A service in a thread, and what it says."""

    def __init__(self, fleet: Fleet, **options: Any) -> None:
        self.said: list[str] = []
        log = logging.Logger("server")
        handler = logging.Handler()
        handler.emit = lambda record: self.said.append(record.getMessage())  # type: ignore[method-assign]
        log.addHandler(handler)
        self.service = Service(fleet, log, **options)
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            self.service.run()
        except Exception as error:  # noqa: BLE001 (for the test to look at)
            self.error = error

    def connected(self) -> bool:
        if self.error is not None:
            raise self.error
        return "connected to the broker" in self.said

    def status(self) -> Status:
        """What the server says of itself, however long a busy machine lets us wait for it."""
        return self.service._inbox.ask(self.service._status, PATIENCE)

    def settle(self) -> None:
        """Wait until all that was heard is in the model, and that model is handed out."""
        heard = self.status().tick
        until(lambda: self.status().tick > heard)
        self.status()  # so the turn is over in which that tick was closed

    def refused(self, reason: str) -> int:
        """How often the broker turned somebody away for a reason."""
        service = self.status().service
        assert service is not None
        return service.broker_refused.get(reason, 0)

    def stop(self) -> None:
        self.service.stop()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()


@contextlib.contextmanager
def served(fleet: Fleet, **options: Any) -> Iterator[Server]:
    """Run a fleet's server in a thread of this process while the block lasts."""
    server = Server(fleet, **options)
    server.thread.start()
    try:
        until(server.connected)
        yield server
    finally:
        server.stop()


def sample(number: int) -> tuple[list[float], float]:
    """An input and a target of the small fleet."""
    random = np.random.default_rng(number)
    x = random.normal(size=2)
    return x.tolist(), float(10 + 4 * np.sin(x).sum())


def next_tick(device: Device) -> None:
    """Wait until a contact has something to say: until a new tick by the device's own clock.

    A device makes one update in a tick, and an answer may set its clock back: a pause as long as a
    tick is not always one, and a contact after it may send nothing, and be content.
    """

    def is_new() -> bool:
        if not device.knows_fleet():
            return True
        now = device.edge.tick(seconds())
        return now is None or now > max(device.edge.stamped, device.edge.merged)

    until(is_new)


def work_until_confirmed(device: Device, updates: int) -> None:
    """Learn and contact until so many updates are confirmed."""

    def enough() -> bool:
        work(device, 1)
        return device.confirmed >= updates

    until(enough)


def work(device: Device, contacts: int, first: int = 0) -> int:
    """Learn and contact, in new ticks; returns how many contacts were answered.

    Every contact of a device that knows its fleet sends an update. After the last one, the next
    tick has begun.
    """
    answered = 0
    for number in range(first, first + contacts):
        next_tick(device)
        if device.knows_fleet():
            device.learn(*sample(number))
        answered += device.contact(ANSWER)
    next_tick(device)
    return answered
