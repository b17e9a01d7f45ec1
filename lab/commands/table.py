"""Measure what a run over a table of readings takes: time by stage, and memory."""

import json
import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from paofed.algorithms.spec import from_text
from paofed.cli.run import LINEUP
from paofed.cli.shared import worlds
from paofed.errors import InputError
from paofed.simulate.table import COLD_STARTS
from paofed.words import table

if TYPE_CHECKING:
    from paofed.world.scenario import Scenario

EXAMPLE = "python -m lab table air-quality"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    worlds.add_arguments(parser)
    parser.add_argument(
        "--sparse", action="store_true",
        help="measure over a table made for it, nearly all gaps: 17,000 readings of 655 devices "
        "over 50 years",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")


def run(args: Namespace) -> int:
    """Measure, then print."""
    from lab.benchmarks.table import cost

    methods = [from_text(text) for text in LINEUP]
    with TemporaryDirectory() as folder:
        scenario = _scenario(args, Path(folder))
        found = cost(scenario, methods, os.cpu_count() or 1)
    if args.json:
        print(json.dumps(found._asdict()))
        return 0
    rows = [
        ["reading", f"{found.reading:.1f} s"],
        [f"{len(methods)} algorithms", f"{found.algorithms:.1f} s"],
        ["baselines", f"{found.baselines:.1f} s"],
        [f"every device joins late, {COLD_STARTS} times", f"{found.newcomers:.1f} s"],
        ["everything", f"{found.everything:.1f} s"],
        ["memory, at most", f"{found.peak_megabytes:.0f} MB"],
    ]
    size = f"{scenario.clients} devices, {scenario.ticks:,} ticks"
    print(table([f"{size}: {found.cells:,} cells, {found.readings:,} readings", ""], rows))
    return 0


def _scenario(args: Namespace, folder: Path) -> "Scenario":
    if not args.sparse:
        scenario = worlds.world_of(args)
        worlds.tell(scenario, args)
        return scenario
    if args.scenario is not None or args.table is not None:
        raise InputError("--sparse makes a table of its own: leave SCENARIO and --table out")
    from lab.benchmarks.table import long_life

    return long_life(folder)
