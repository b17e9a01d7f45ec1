"""Fleets for measurements: on this machine, on free ports, deleted afterwards."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paofed.demo.processes import LocalBroker, end, free_port, serve
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.mosquitto import LOCAL
from paofed.live.fleet.settings import Security, Settings
from paofed.live.protocol.manifest import Manifest


@contextmanager
def trial_fleet(manifest: Manifest, security: Security) -> Iterator[Fleet]:
    """Yield a new fleet with a one-letter name, in a folder that is deleted in the end."""
    with tempfile.TemporaryDirectory(prefix="paofed-") as place:
        settings = Settings(
            name="f",
            host=LOCAL,
            port=free_port(),
            security=security,
            http=f"{LOCAL}:{free_port()}",
        )
        yield Fleet.create(Path(place) / "f", settings, manifest)


@contextmanager
def served(fleet: Fleet) -> Iterator[tuple[LocalBroker, int]]:
    """Run a fleet's broker and server as processes.

    Yield the broker and the server's process id.
    """
    with LocalBroker(fleet) as broker:
        server = serve(fleet)
        try:
            yield broker, server.pid
        finally:
            end(server)
