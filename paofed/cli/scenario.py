"""Show a scenario with every value it has, or check a file.

`paofed scenario show setting-1 > mine.toml` is a good way to begin one's own.
"""

import json
from argparse import ArgumentParser, Namespace

from paofed.world.scenario import PRESETS, Scenario

EXAMPLE = "paofed scenario show setting-1"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", choices=["show", "check"])
    parser.add_argument(
        "scenario", metavar="SCENARIO", help=f"a TOML file or a preset: {', '.join(PRESETS)}"
    )
    parser.add_argument("--json", action="store_true", help="show as JSON")


def run(args: Namespace) -> int:
    """Print the scenario, or that it is valid."""
    scenario = Scenario.load(args.scenario)
    if args.json:
        print(json.dumps(scenario.model_dump()))
    elif args.action == "show":
        print(scenario.to_toml(), end="")
    else:
        print(f"{args.scenario} is valid: {scenario.clients} clients, {scenario.ticks} ticks")
    return 0
