"""Put a gateway on this machine under the load of many sources, one reading a second of each.

Prints how much of a core the gateway takes, how much memory for each source, and what became of the
readings.
"""

import json
import math
from argparse import ArgumentParser, Namespace
from collections import Counter
from typing import TYPE_CHECKING

from paofed.cli.shared.progress import say
from paofed.errors import InputError
from paofed.words import table

if TYPE_CHECKING:
    from lab.benchmarks.gateway import GatewayLoad

EXAMPLE = "python -m lab gateway --sources 500"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add(
        "--sources",
        type=int,
        default=500,
        metavar="N",
        help="number of sources (default: %(default)s)",
    )
    add(
        "--seconds",
        type=float,
        default=20.0,
        metavar="S",
        help="length of the load (default: %(default)g)",
    )
    add("--json", action="store_true", help="print the numbers as JSON")


def run(args: Namespace) -> int:
    """Measure, then print."""
    from lab.benchmarks.gateway import measure

    if args.sources < 1 or not 1 <= args.seconds < math.inf:
        raise InputError("expected --sources of at least 1, and --seconds of at least 1")
    found = measure(say, sources=args.sources, seconds=args.seconds)
    print(json.dumps(found._asdict()) if args.json else _text(found))
    return 0


def _text(found: "GatewayLoad") -> str:
    from paofed.live.gateway.gateway import in_words

    rows = [
        ["of one core, at one reading a second of each", f"{found.core:.0%}"],
        ["memory per source", f"{found.bytes_per_source / 1e3:.0f} kB"],
        ["memory in all", f"{found.megabytes:.0f} MB"],
        ["readings published", f"{found.published:,}"],
        ["heard", f"{found.heard:,}"],
        ["learned from", f"{found.learned:,}"],
    ]
    text = table([f"gateway, {found.sources:,} sources", ""], rows)
    return f"{text}\npassed over: {in_words(Counter(found.passed_over))}"
