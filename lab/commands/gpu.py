"""Measure the GPU engine: beside JAX and the processor, and beside what the card could do at best.

Setting I with 8 algorithms, and large fleets with PAO-Fed-U1 for a few ticks. JAX, where it is
installed, runs a plain scan over the same worlds. It needs a CUDA card.
"""

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

from paofed.cli.shared.outputs import require_figure
from paofed.cli.shared.progress import say
from paofed.errors import needs_extra, whole
from paofed.files import require_writable
from paofed.words import table

EXAMPLE = "python -m lab gpu --clients 1000000"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("--runs", type=int, default=100, metavar="R",
        help="number of runs of Setting I (default: %(default)s)")  # fmt: skip
    add("--clients", type=int, nargs="*", default=[1_000_000, 10_000_000], metavar="K",
        help="numbers of clients of the large fleets (default: 1000000 10000000)")  # fmt: skip
    add("--figure", type=Path, metavar="FILE",
        help="file to draw the roofline into (.png, .svg, .pdf)")  # fmt: skip
    add("--json", action="store_true", help="print the numbers as JSON")


def run(args: Namespace) -> int:
    """Measure, then print tables."""
    runs = whole("runs", args.runs, least=1)
    clients = [whole("clients", number, least=1) for number in args.clients]
    if args.figure is not None:
        require_figure(args.figure)
        require_writable(args.figure)
    with needs_extra("python -m lab gpu"):
        from lab.benchmarks.gpu import (
            figures,
            large_fleet,
            least_milliseconds,
            on_the_roofline,
            side_by_side,
        )
    card = figures()
    least, ways = least_milliseconds(card), side_by_side(runs, say)
    fleets = []
    for number in clients:
        say(f"{number:,} clients")
        fleets.append(large_fleet(number, card))
    if args.figure is not None:
        from lab.benchmarks.gpu import Placed, roofline
        from paofed.report.shared.figures import save

        placed = [Placed(*program) for program in on_the_roofline(ways, fleets, card.bandwidth)]
        save(roofline(card.name, card.flops, card.bandwidth, placed), args.figure)
    if args.json:
        found = {"card": card, "least_milliseconds": least, "ways": ways, "fleets": fleets}
        print(json.dumps(found, default=lambda record: record._asdict()))
        return 0
    print(
        f"{card.name}: {card.multiprocessors} multiprocessors, {card.flops / 1e12:.0f} TFLOP/s in "
        f"float32, {card.bandwidth / 1e12:.1f} TB/s\n"
    )
    rows = [[way.what, f"{way.milliseconds:.3f}", way.note] for way in ways]
    rows.append(["arithmetic alone", f"{least:.3f}", "what the card could do at best"])
    print(table(["Setting I", "ms per algorithm and run", ""], rows))
    rows = [
        [f"{fleet.clients:,}", f"{fleet.milliseconds:.2f}", f"{fleet.limit:.2f}",
         f"{100 * fleet.limit / fleet.milliseconds:.0f} %", f"{fleet.gigabytes:.1f}"]
        for fleet in fleets
    ]  # fmt: skip
    if rows:
        header = ["clients", "ms per tick", "at best", "of it", "GB"]
        print("\n" + table(header, rows, left=()))
    return 0
