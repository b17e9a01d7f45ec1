"""Count the bytes of a contact on the wire: payload, MQTT and TLS, TCP/IP.

The second table has the tariffs that follow: what is added to a message, and in a contact.
Starts a broker, a server and a device on this machine and listens on the loopback interface, which
takes Linux and root (or the right CAP_NET_RAW). About two minutes.
"""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

from lab.benchmarks.trial import FEATURES
from paofed.cli.shared.progress import say
from paofed.core.tariffs import PARTS, Tariff
from paofed.words import table

if TYPE_CHECKING:
    from lab.benchmarks.wire import Exchange

EXAMPLE = "python -m lab wire"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")


def run(args: Namespace) -> int:
    """Measure, then print a table of contacts, and one of tariffs."""
    from lab.benchmarks.wire import exchanges, measured

    found = list(exchanges(say))
    if args.json:
        contacts = [{**e._asdict(), "total": e.total} for e in found]
        print(json.dumps({"contacts": contacts, "tariffs": [asdict(t) for t in measured(found)]}))
    else:
        print(f"{_table(found)}\n\n{_tariffs(measured(found))}")
    return 0


def _table(found: "list[Exchange]") -> str:
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


def _tariffs(found: Iterable[Tariff]) -> str:
    header = ["tariff", *(part.replace("_", " ") for part in PARTS)]
    return table(header, [[t.name, *(f"{getattr(t, part):g}" for part in PARTS)] for t in found])
