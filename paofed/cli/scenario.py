"""Show a scenario with every value it has, check a file, or copy one with its tables.

`paofed scenario list` says which scenarios come with paofed.
`paofed scenario show setting-1 > mine.toml` is a good way to begin one's own.
"""

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

from paofed import words
from paofed.cli.shared import worlds
from paofed.errors import InputError
from paofed.world.names import PRESETS, source_of

EXAMPLE = "paofed scenario show setting-1"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", choices=["list", "show", "check", "copy"],
        help="list names the presets, show prints a scenario as TOML with every value, check says "
        "whether it is valid, copy writes it as NAME.toml with its tables beside it")  # fmt: skip
    worlds.add_arguments(parser)
    parser.add_argument("--json", action="store_true", help="list, show: print JSON")
    parser.add_argument(
        "--to", type=Path, metavar="DIR", help="copy: folder to write into (default: this one)"
    )


def run(args: Namespace) -> int:
    """Print the presets, the scenario, that it is valid, or where its copy is."""
    if args.action == "list":
        return _list(args)
    if args.to is not None and args.action != "copy":
        raise InputError(f"--to says where to copy to, but the action is {args.action}")
    scenario = worlds.world_of(args)
    worlds.tell(scenario, args)
    if args.action == "copy":
        from paofed.world.copying import comments_of, copy_scenario

        head = "" if args.table is not None else comments_of(source_of(args.scenario))
        print(copy_scenario(scenario, args.to or Path(), head))
    elif args.json:
        print(json.dumps(scenario.model_dump()))
    elif args.action == "show":
        print(scenario.to_toml(), end="")
    else:
        named = args.scenario if args.table is None else args.table
        print(f"{named} is valid: {scenario.clients} clients, {scenario.ticks} ticks")
    return 0


def _list(args: Namespace) -> int:
    """Print every preset with what the first line of its file says of it."""
    from paofed.world.copying import comments_of

    if args.scenario is not None or args.table is not None:
        named = args.scenario or f"--table {args.table}"
        raise InputError(f"list takes no scenario: leave out {named}, or show it")
    told = {name: comments_of(source_of(name)).splitlines()[0].lstrip("# ") for name in PRESETS}
    print(
        json.dumps(told) if args.json else words.table(["scenario", ""], list(told.items()), (0, 1))
    )
    return 0
