"""Ask a server on this machine for predictions while thousands of contacts go on.

Prints questions per second and their latency over 1 and 8 connections that stay, with 1 and 100
readings in each question, beside the contacts of devices at a steady rate. The applications that
ask run on this machine, too, and take their part of its time.
"""

import json
import math
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from paofed.cli.shared.progress import say
from paofed.errors import InputError
from paofed.words import table

if TYPE_CHECKING:
    from lab.benchmarks.asking import Asked
    from lab.benchmarks.crowd import LoadOutcome

EXAMPLE = "python -m lab predict"
_SHARES = (50, 99)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("--devices", type=int, default=200, metavar="N",
        help="number of devices that are connected at the same time (default: "
        "%(default)s)")  # fmt: skip
    add("--rate", type=float, default=500.0, metavar="R",
        help="contacts per second of the devices (default: %(default)g)")  # fmt: skip
    add("--seconds", type=float, default=5.0, metavar="S",
        help="length of each load (default: %(default)g)")  # fmt: skip
    add("--json", action="store_true", help="print the numbers as JSON")


def run(args: Namespace) -> int:
    """Measure, then print a table."""
    from lab.benchmarks.asking import measure_asking

    right = args.devices >= 1 and 0 < args.seconds < math.inf and 0 < args.rate < math.inf
    if not right:
        raise InputError("expected --devices, --rate and --seconds above 0")
    found = measure_asking(say, devices=args.devices, rate=args.rate, seconds=args.seconds)
    print(json.dumps([_numbers(one) for one in found]) if args.json else _text(found))
    return 0


def _numbers(one: "Asked") -> dict[str, object]:
    loads = {"questions": one.questions, "contacts": one.contacts}
    said = {
        name: load
        and {
            "rate": load.rate,
            "lost": load.lost,
            "milliseconds": {str(share): load.percentile(share) for share in _SHARES},
        }
        for name, load in loads.items()
    }
    return {"connections": one.connections, "batch": one.batch, **said}


def _text(found: "list[Asked]") -> str:
    half, most = (f"{share} %, ms" for share in _SHARES)
    load = [half, most, "lost"]
    header = ["connections", "readings each", "questions/s", *load, "contacts/s", *load]
    rows = [
        [f"{one.connections}", f"{one.batch}", *_cells(one.questions), *_cells(one.contacts)]
        for one in found
    ]
    return table(header, rows, left=())


def _cells(load: "LoadOutcome | None") -> list[str]:
    if load is None:
        return ["-"] * 4
    times = (f"{load.percentile(share):.1f}" for share in _SHARES)
    return [f"{load.rate:,.0f}", *times, f"{load.lost}"]
