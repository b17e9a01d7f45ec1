"""Measure the engines side by side on this machine, and how they scale.

Times are per client update and algorithm: one sample mapped and one LMS step, with everything
around it. Rules of one's own, which write the rules of pao-fed-u1 once more, stand beside it, with
the seconds until they can run: compiled, and later from disk. So does fed-ridge, which adds up 40
features where pao-fed-u1 learns 200. Machines are noisy: read the ratios, which are taken inside
one run.
"""

import json
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from paofed.cli.shared.progress import say
from paofed.words import table

if TYPE_CHECKING:
    from lab.benchmarks.own import SideBySide, SumsBeside
    from lab.benchmarks.speed import Timing

EXAMPLE = "python -m lab engines --scaling"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--scaling", action="store_true",
        help="also measure over numbers of clients and of features, with the memory they "
        "take")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")


def run(args: Namespace) -> int:
    """Measure, then print tables."""
    from lab.benchmarks.own import beside, sums_beside_models
    from lab.benchmarks.speed import scaling, side_by_side

    timings, own, sums = side_by_side(say), beside(say), sums_beside_models(say)
    sizes = list(scaling(say)) if args.scaling else []
    if args.json:
        content = {
            "engines": [t._asdict() for t in timings],
            "own": [o._asdict() for o in own],
            "sums": [s._asdict() for s in sums],
            "scaling": [s._asdict() for s in sizes],
        }
        print(json.dumps(content))
        return 0
    print(_engines(timings))
    print()
    print(_own(own))
    print()
    print(_sums(sums))
    if sizes:
        rows = [
            [*(f"{n:,}" for n in size[:3]), f"{size.nanoseconds:.0f}", f"{size.megabytes:,.0f}"]
            for size in sizes
        ]
        print()
        print(table(["clients", "features", "algorithms", "ns", "MB"], rows))
    return 0


def _own(own: "list[SideBySide]") -> str:
    header = ["rule of one's own", "ns", "times float32's", "times float64's", "first s", "later s"]
    rows = [[o.what, f"{o.nanoseconds:,.0f}", *(f"{value:.2g}" for value in o[2:])] for o in own]
    return table(header, rows)


def _sums(sums: "list[SumsBeside]") -> str:
    header = ["method", "features", "ns", "times pao-fed-u1's"]
    rows = [[s.method, f"{s.features}", f"{s.nanoseconds:,.0f}", f"{s.times:.2g}"] for s in sums]
    return table(header, rows)


def _engines(timings: "list[Timing]") -> str:
    by_name = {t.what: t.nanoseconds for t in timings}
    numpy, c = by_name["vectorised NumPy"], by_name.get("inner loop in C, 1 thread")
    rows = [
        [
            t.what,
            f"{t.nanoseconds:,.0f}",
            f"{numpy / t.nanoseconds:.2g}",
            "-" if c is None else f"{t.nanoseconds / c:.2g}",
            t.note,
        ]
        for t in timings
    ]
    header = ["engine", "ns", "times NumPy's speed", "times C's time", ""]
    return table(header, rows, left=(0, 4))
