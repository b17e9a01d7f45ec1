"""Show a saved result again: as a table, as JSON, as a tidy CSV, as a figure or a page."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from paofed.cli.shared import outputs
from paofed.simulate.results.result import Result

EXAMPLE = "paofed result setting-1.npz --figure curves.png"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("result", type=Path, metavar="FILE", help="what `paofed run --out` wrote")
    outputs.add_arguments(parser)
    outputs.add_of_results(parser)


def run(args: Namespace) -> int:
    """Load and show."""
    outputs.check(args, inputs=[args.result])
    outputs.show(Result.load(args.result), args, args.result)
    return 0
