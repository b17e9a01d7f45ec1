"""Count the bytes of a contact on the wire: payload, MQTT and TLS, TCP/IP.

The second table has the tariffs that follow: what is added to a message, and in a contact.
Starts a broker, a server and a device on this machine and listens on the loopback interface, which
takes Linux and root (or the right CAP_NET_RAW). About two minutes.
"""

import json
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, replace
from typing import NamedTuple

from lab.benchmarks.capture import Capture, connected
from lab.benchmarks.trial import FEATURES, served, trial_fleet, trial_manifest
from paofed.cli.shared.progress import say
from paofed.core.tariffs import PARTS, Tariff
from paofed.core.traffic import BYTES_PER_COORDINATE
from paofed.errors import InputError
from paofed.live.device.device import Device, seconds
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.settings import Security
from paofed.live.protocol.messages import HEADER
from paofed.words import table

EXAMPLE = "python -m lab wire"
SHARED = (4, 16, 32, FEATURES)
TRANSPORTS: dict[Security, str] = {"none": "mqtt", "certificate": "mqtt-tls"}
_TICK = 0.15
_CONTACTS = 12
_WARM_UP = 24  # contacts that are not counted: a young connection acknowledges more eagerly
_PATIENCE = 20.0


class Exchange(NamedTuple):
    """Bytes of one contact, both directions together: the fewest of several contacts.

    Where the reply takes longer than 40 ms, as on a busy machine, TCP acknowledges the message with
    a packet of its own (52 bytes); otherwise the reply acknowledges it.
    """

    shared: int
    security: str
    stay: bool
    payload: int
    protocol: int  # what MQTT adds, and TLS where there is any
    ip: int  # what TCP and IP add
    packets: int
    up: int  # those of all these bytes that the device sent

    @property
    def total(self) -> int:
        """All bytes of the contact."""
        return self.payload + self.protocol + self.ip

    @property
    def added_up(self) -> int:
        """The bytes that the device sent beside its parameters."""
        return self.up - BYTES_PER_COORDINATE * self.shared

    @property
    def added_down(self) -> int:
        """The bytes that the device received beside the server's parameters."""
        return self.total - self.up - BYTES_PER_COORDINATE * self.shared


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")


def run(args: Namespace) -> int:
    """Measure, then print a table of contacts, and one of tariffs."""
    found = list(exchanges(say))
    if args.json:
        contacts = [{**e._asdict(), "total": e.total} for e in found]
        print(json.dumps({"contacts": contacts, "tariffs": [asdict(t) for t in measured(found)]}))
    else:
        print(f"{_of_contacts(found)}\n\n{_of_tariffs(measured(found))}")
    return 0


def _of_contacts(found: list[Exchange]) -> str:
    whole = {(e.security, e.stay): e.total for e in found if e.shared == FEATURES}
    header = ["parameters", "connection", "payload", "MQTT, TLS", "TCP/IP", "total", "saved"]
    rows = [
        [
            f"{e.shared} of {FEATURES}",
            ("TLS" if e.security == "certificate" else "plain")
            + (", stays" if e.stay else ", anew"),
            *(f"{n:,.0f}" for n in (e.payload, e.protocol, e.ip, e.total)),
            f"{1 - e.total / whole[e.security, e.stay]:.0%}",
        ]
        for e in sorted(found, key=lambda e: (e.security == "certificate", not e.stay, e.shared))
    ]
    return table(header, rows, left=(0, 1))


def _of_tariffs(found: Iterable[Tariff]) -> str:
    header = ["tariff", *(part.replace("_", " ") for part in PARTS)]
    return table(header, [[t.name, *(f"{getattr(t, part):g}" for part in PARTS)] for t in found])


def exchanges(
    report: Callable[[str], None], shares: tuple[int, ...] = SHARED, contacts: int = _CONTACTS
) -> Iterator[Exchange]:
    """Measure every kind of contact, one after the other."""
    with Capture() as capture:
        for security in TRANSPORTS:
            for shared in shares:
                report(f"{shared} of {FEATURES} parameters, security {security}")
                manifest = trial_manifest(shared, _TICK)
                with trial_fleet(manifest, security) as fleet, served(fleet):
                    for stay in (True, False):
                        yield _measure(fleet, capture, stay=stay, contacts=contacts)


def measured(found: Iterable[Exchange]) -> list[Tariff]:
    """Return the tariffs that these contacts show, from those with the fewest parameters."""
    of_kind = {(e.security, e.stay): e for e in sorted(found, key=lambda e: -e.shared)}
    return [
        tariff
        for security, name in TRANSPORTS.items()
        for tariff in _tariffs(name, of_kind[security, True], of_kind[security, False])
    ]


def _tariffs(name: str, stay: Exchange, anew: Exchange) -> tuple[Tariff, Tariff]:
    """Return the tariffs of a device that stays connected, and of one that connects each time.

    An update is always answered, and a device that wants an answer must send: so a message without
    parameters costs as many bytes as are added to any other message.
    """
    up, down = stay.added_up, stay.added_down
    standing = Tariff(name=name, up=up, down=down, empty_up=up, empty_down=down)
    more_up, more_down = anew.added_up - up, anew.added_down - down
    return standing, replace(
        standing, name=f"{name}-anew", contact_up=more_up, contact_down=more_down
    )


def _measure(fleet: Fleet, capture: Capture, *, stay: bool, contacts: int) -> Exchange:
    """Let a device talk over connections of its own, and count the bytes."""
    (file,) = fleet.add([f"stays: {stay}"])
    broker = fleet.settings.port
    ends = time.monotonic() + _PATIENCE
    while not (server := connected(broker)):
        if time.monotonic() > ends:
            raise InputError(f"the fleet's server did not connect in {_PATIENCE:g} s: try again")
        time.sleep(_TICK)
    with closing(Device(file, stay=stay)) as device:
        _talk(device, _WARM_UP if stay else 2)
        before = device.bytes_sent + device.bytes_received
        seen = []
        for _ in range(contacts):
            capture.clear()
            _talk(device, 1)
            seen.append(capture.packets(broker, without=server))
        messages = device.bytes_sent + device.bytes_received - before
        up, down, shared = device.footprint.up, device.footprint.down, device.manifest.shared
    if messages != contacts * (up + down):
        raise InputError("some messages were repeated: this machine is too busy to count on it")
    packets = min(seen, key=lambda packets: sum(p.whole for p in packets))
    # A byte of level up and a byte of age down, beside headers and values.
    payload = 2 * (HEADER.size + 1 + BYTES_PER_COORDINATE * shared)
    content, whole = sum(p.content for p in packets), sum(p.whole for p in packets)
    sent = sum(p.whole for p in packets if p.target == broker)
    parts = (payload, content - payload, whole - content, len(packets), sent)
    return Exchange(shared, fleet.settings.security, stay, *parts)


def _talk(device: Device, contacts: int) -> None:
    """Have one answered contact per tick."""
    for number in range(contacts):
        now = device.edge.tick(seconds()) if device.knows_fleet() else None
        while now is not None and now <= device.edge.stamped:  # an answer may set its clock back
            time.sleep(_TICK / 10)
            now = device.edge.tick(seconds())
        if device.knows_fleet():
            device.learn([0.1, 0.2, 0.3, number / 10], 1.0)
        if not device.contact(_PATIENCE):
            raise InputError(f"a device was not answered: {device.why_not() or 'no reply'}")
