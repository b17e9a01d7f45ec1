"""Measure what it costs to spread work and to keep it, and what the client holds in memory."""

import json
from argparse import ArgumentParser, Namespace

from paofed.cli.run import LINEUP
from paofed.cli.shared.progress import say
from paofed.errors import whole
from paofed.words import counted, table

EXAMPLE = "python -m lab spread --runs 200"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add(
        "--runs",
        type=int,
        default=40,
        metavar="R",
        help="number of runs of each way (default: %(default)s)",
    )
    add("--json", action="store_true", help="print the numbers as JSON")


def run(args: Namespace) -> int:
    """Measure, then print."""
    from lab.benchmarks.spread import spread_cost

    found = spread_cost("setting-1", LINEUP, whole("runs", args.runs, least=1), say)
    if args.json:
        print(json.dumps(found._asdict()))
        return 0
    rows = [["plain", f"{found.plain_seconds:.1f} s"]]
    rows += [[what, f"{times:.3f} times plain"] for what, times in found.times_plain.items()]
    rows += [
        [f"client's memory beside the result, {counted(runs, 'run')}", f"{megabytes:.0f} MB"]
        for runs, megabytes in found.client_megabytes.items()
    ]
    print(table([f"{counted(found.runs, 'run')} of Setting I", ""], rows))
    return 0
