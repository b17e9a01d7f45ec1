"""Bytes of a contact, counted on the wire: payload, MQTT, TLS, TCP/IP.

A device that stays connected, and one that connects anew for every contact; in the clear and with
certificates; a few parameters and all of them.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import NamedTuple

from paofed.bench.agreed import FEATURES, trial_manifest
from paofed.bench.capture import Capture, connected
from paofed.bench.trial import served, trial_fleet
from paofed.errors import InputError
from paofed.live.device import Device, seconds
from paofed.live.folder import Fleet
from paofed.live.messages import HEADER
from paofed.live.settings import Security

SHARED = (4, 16, 32, FEATURES)
_TICK = 0.15
_CONTACTS = 12
_WARM_UP = 24  # a connection acknowledges more eagerly while it is young
_PATIENCE = 20.0


class Exchange(NamedTuple):
    """Bytes of one contact, both directions together, averaged over several."""

    shared: int
    security: str
    stay: bool
    payload: float
    protocol: float  # what MQTT adds, and TLS where there is any
    ip: float  # what TCP and IP add
    packets: float

    @property
    def total(self) -> float:
        """All of them."""
        return self.payload + self.protocol + self.ip


def exchanges(
    report: Callable[[str], None], shares: tuple[int, ...] = SHARED, contacts: int = _CONTACTS
) -> Iterator[Exchange]:
    """Measure every kind of contact, one after the other."""
    kinds: tuple[Security, ...] = ("none", "certificate")
    with Capture() as capture:
        for security in kinds:
            for shared in shares:
                report(f"{shared} of {FEATURES} parameters, security {security}")
                manifest = trial_manifest(shared, _TICK)
                with trial_fleet(manifest, security) as fleet, served(fleet):
                    for stay in (True, False):
                        yield _measure(fleet, capture, stay=stay, contacts=contacts)


def _measure(fleet: Fleet, capture: Capture, *, stay: bool, contacts: int) -> Exchange:
    """Let a device of its own talk, and count."""
    (file,) = fleet.add([f"stays: {stay}"])
    broker = fleet.settings.port
    while not (server := connected(broker)):
        time.sleep(_TICK)
    with closing(Device(file, stay=stay)) as device:
        _talk(device, _WARM_UP if stay else 2)
        capture.clear()
        before = device.bytes_sent + device.bytes_received
        _talk(device, contacts)
        packets = capture.packets(broker, without=server)
        messages = device.bytes_sent + device.bytes_received - before
        up, down, shared = device.footprint.up, device.footprint.down, device.manifest.shared
    if messages != contacts * (up + down):
        raise InputError("some messages were repeated: this machine is too busy to count on it")
    payload = contacts * (2 * (HEADER.size + 4 * shared) + 1)
    content, whole = sum(p.content for p in packets), sum(p.whole for p in packets)
    parts = (payload, content - payload, whole - content, len(packets))
    security = fleet.settings.security
    return Exchange(shared, security, stay, *(part / contacts for part in parts))


def _talk(device: Device, contacts: int) -> None:
    """One answered contact per tick."""
    for number in range(contacts):
        tick = device.edge.tick(seconds()) if device.knows_fleet() else None
        while tick is not None and device.edge.tick(seconds()) == tick:
            time.sleep(_TICK / 10)
        if device.knows_fleet():
            device.learn([0.1, 0.2, 0.3, number / 10], 1.0)
        if not device.contact(_PATIENCE):
            raise InputError(f"a device was not answered: {device.why_not() or 'no reply'}")
