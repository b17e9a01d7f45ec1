"""Put a broker and a server on this machine under the load of thousands of devices.

Prints contacts per second beside those of the bare broker with an echo in the server's place,
latency, how long it takes until everybody is back after the broker was killed, and with --soak the
memory over many contacts. Machines are noisy: read the ratio, which is taken inside one run.
"""

import json
import math
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from paofed.cli.shared.progress import say
from paofed.errors import InputError
from paofed.words import table

if TYPE_CHECKING:
    from lab.benchmarks.crowd import LoadOutcome
    from lab.benchmarks.load import Load

EXAMPLE = "python -m lab load --soak 1000000"
_SHARES = (50, 90, 99, 99.9)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("--devices", type=int, default=5000, metavar="N",
        help="number of devices that are connected at the same time (default: "
        "%(default)s)")  # fmt: skip
    add("--seconds", type=float, default=20.0, metavar="S",
        help="length of each load (default: %(default)g)")  # fmt: skip
    add("--rate", type=float, default=3000.0, metavar="R",
        help="contacts per second of the steady load (default: %(default)g)")  # fmt: skip
    add("--soak", type=int, default=0, metavar="N",
        help="number of contacts over which memory is watched in the end (default: "
        "none)")  # fmt: skip
    add("--json", action="store_true", help="print the numbers as JSON")


def run(args: Namespace) -> int:
    """Measure, then print tables."""
    from lab.benchmarks.load import measure

    right = args.devices >= 1 and 0 < args.seconds < math.inf and args.rate > 0 and args.soak >= 0
    if not right:
        raise InputError("expected --devices, --seconds and --rate above 0, and --soak from 0 on")
    found = measure(say, devices=args.devices, seconds=args.seconds, rate=args.rate, soak=args.soak)
    print(json.dumps(_numbers(found)) if args.json else _text(found))
    return 0


def _rows(found: "Load") -> "dict[str, LoadOutcome]":
    return {
        "bare broker, flat out": found.bare,
        "server, flat out": found.flat_out,
        "server, steady": found.steady,
        "server, after the broker's return": found.after,
    }


def _numbers(found: "Load") -> dict[str, object]:
    loads = {
        name: {
            "rate": contacts.rate,
            "lost": contacts.lost,
            "milliseconds": {str(s): contacts.percentile(s) for s in _SHARES},
        }
        for name, contacts in _rows(found).items()
    }
    return {
        "devices": found.devices,
        "loads": loads,
        "ratio": found.ratio,
        "reconnected_seconds": found.reconnected,
        "memory": [m._asdict() for m in found.memory],
    }


def _text(found: "Load") -> str:
    header = [f"{found.devices:,} devices", "contacts/s", *(f"{s} %, ms" for s in _SHARES), "lost"]
    rows = [
        [
            name,
            f"{contacts.rate:,.0f}",
            *(f"{contacts.percentile(share):.0f}" for share in _SHARES),
            f"{contacts.lost:,}",
        ]
        for name, contacts in _rows(found).items()
    ]
    parts = [
        table(header, rows),
        f"the server answers {found.ratio:.2f} times as fast as an echo behind the bare broker",
        f"all were connected and served again {found.reconnected:.1f} s after the broker's return",
    ]
    if found.memory:
        memory = [[f"{m.contacts:,}", f"{m.server:.1f}", f"{m.broker:.1f}"] for m in found.memory]
        parts.append(table(["contacts", "server, MB", "broker, MB"], memory, left=()))
    return "\n\n".join(parts)
