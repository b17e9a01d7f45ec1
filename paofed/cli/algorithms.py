"""List the algorithms and the options that shape each of them."""

import inspect
import json
from argparse import ArgumentParser, Namespace

from paofed.algorithms import ALGORITHMS, options_of
from paofed.cli.shared.columns import table

EXAMPLE = "paofed algorithms --json"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print as JSON")


def run(args: Namespace) -> int:
    """Print one line per algorithm."""
    options = {name: _describe(name) for name in ALGORITHMS}
    if args.json:
        print(json.dumps(options, indent=2))
        return 0
    rows = [[name, ", ".join(f"{k} ({v})" for k, v in options[name].items())] for name in options]
    print(table(["algorithm", "options (default)"], rows, left=(0, 1)))
    print("\nall take step_size and max_age (the scenario's), staleness (their own),")
    print("divisor (class or coverage) and exchange (paper, single or live)")
    return 0


def _describe(name: str) -> dict[str, object]:
    return {
        key: "required" if parameter.default is inspect.Parameter.empty else parameter.default
        for key, parameter in options_of(name).items()
    }
