"""Count how often the interval around a server's prediction held what was then measured.

A fleet lives through each scenario in this process, and its server's model of every tick predicts
the readings of that tick before devices learn from them. The interval is to hold 90 % of them.
"""

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from paofed.cli.shared.progress import say
from paofed.files import require_writable, write_table
from paofed.words import table

if TYPE_CHECKING:
    from lab.benchmarks.intervals import HeldRow

EXAMPLE = "python -m lab intervals --out intervals.csv"
_SCENARIOS = ("setting-1", "air-quality")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("--scenario", nargs="+", default=[*_SCENARIOS], metavar="SCENARIO",
        help=f"presets or files to live through (default: {' '.join(_SCENARIOS)})")  # fmt: skip
    add("--out", type=Path, metavar="FILE", help="CSV file to write the rows to")
    add("--json", action="store_true", help="print the rows as JSON")


def run(args: Namespace) -> int:
    """Run a fleet over each scenario, then print."""
    from lab.benchmarks.intervals import HeldRow, held
    from paofed.world.realize import realize
    from paofed.world.scenario import Scenario

    if args.out is not None:
        require_writable(args.out)
    found: list[HeldRow] = []
    for name in args.scenario:
        say(f"{name}: a fleet lives through it")
        scenario = Scenario.load(name)
        found += held(scenario, realize(scenario))
    if args.out is not None:
        write_table(args.out, HeldRow._fields, [list(row) for row in found])
    print(json.dumps([row._asdict() for row in found]) if args.json else _text(found))
    return 0


def _text(found: "list[HeldRow]") -> str:
    header = ["scenario", "quarter", "readings", "held", "least", "most", "half width", "error"]
    rows = [
        [
            row.scenario,
            row.quarter,
            f"{row.readings:,}",
            *(f"{share:.1%}" for share in (row.held, row.least, row.most)),
            *(f"{size:.3f}" for size in (row.half_width, row.error)),
        ]
        for row in found
    ]
    return table(header, rows, left=(0, 1))
