"""Measure what a run over a table of readings takes: time by stage, and memory."""

import json
import os
from argparse import ArgumentParser, Namespace

from paofed.algorithms.spec import from_text
from paofed.bench.readings import cost
from paofed.cli.run import LINEUP
from paofed.cli.shared import worlds
from paofed.cli.shared.columns import table
from paofed.simulate.table.coldstart import USUAL_COUNT

EXAMPLE = "paofed bench table air-quality"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    worlds.add_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print as JSON")


def run(args: Namespace) -> int:
    """Measure, then print."""
    scenario = worlds.world_of(args)
    worlds.tell(scenario, args)
    methods = [from_text(text) for text in LINEUP]
    found = cost(scenario, methods, os.cpu_count() or 1)
    if args.json:
        print(json.dumps(found._asdict()))
        return 0
    rows = [
        ["reading", f"{found.reading:.1f} s"],
        [f"{len(methods)} algorithms", f"{found.algorithms:.1f} s"],
        ["baselines", f"{found.baselines:.1f} s"],
        [f"every device joins late, {USUAL_COUNT} times", f"{found.newcomers:.1f} s"],
        ["everything", f"{found.everything:.1f} s"],
        ["memory, at most", f"{found.peak_megabytes:.0f} MB"],
    ]
    print(table([f"{scenario.clients} devices, {scenario.ticks:,} ticks", ""], rows))
    return 0
