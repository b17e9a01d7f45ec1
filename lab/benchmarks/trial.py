"""Fleets for measurements, one manifest for all: on this machine, and deleted afterwards."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paofed.demo.processes import LocalBroker, end, free_port, serve
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.mosquitto import LOCAL
from paofed.live.fleet.settings import Security, Settings
from paofed.live.protocol.manifest import USUAL_BOUND, USUAL_CLIP, Manifest
from paofed.live.protocol.quantity import Quantity

FEATURES = 200


def trial_manifest(shared: int, tick_seconds: float) -> Manifest:
    """Return a manifest with 200 parameters, `shared` of which travel; 200 is Online-FedSGD."""
    return Manifest(
        algorithm="online-fedsgd" if shared == FEATURES else "pao-fed-u1",
        features=FEATURES,
        shared=shared,
        kernel_width=1.0,
        seed=0,
        step_size=0.4,
        max_age=10,
        tick_seconds=tick_seconds,
        start=time.time(),
        epoch=0,
        inputs=tuple(Quantity(name=name).limited() for name in "abcd"),
        target=Quantity(name="y").limited(),
        clip=USUAL_CLIP,
        bound=USUAL_BOUND,
    )


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
