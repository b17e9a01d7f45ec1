"""Show a scenario with every value it has, check a file, or copy one with its tables.

`paofed scenario list` says which scenarios come with paofed.
`paofed scenario show setting-1 > mine.toml` is a good way to begin one's own.
"""

import json
import shutil
from argparse import ArgumentParser, Namespace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from paofed import words
from paofed.cli.shared import worlds
from paofed.errors import InputError
from paofed.files import make_folder, replacing, write_text
from paofed.world.names import PRESETS, source_of

if TYPE_CHECKING:
    from paofed.world.scenario import Scenario

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
        head = "" if args.table is not None else _comments(source_of(args.scenario))
        print(_copy(scenario, args.to or Path(), head))
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
    if args.scenario is not None or args.table is not None:
        named = args.scenario or f"--table {args.table}"
        raise InputError(f"list takes no scenario: leave out {named}, or show it")
    told = {name: _comments(source_of(name)).splitlines()[0].lstrip("# ") for name in PRESETS}
    print(
        json.dumps(told) if args.json else words.table(["scenario", ""], list(told.items()), (0, 1))
    )
    return 0


def _comments(path: Path) -> str:
    """Return the comments at the head of a file, which may say where its data come from."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(takewhile(lambda line: line.startswith("#"), lines))


def _copy(scenario: "Scenario", folder: Path, head: str) -> Path:
    """Write a scenario, with a head of comments, and beside it the tables that it names."""
    from paofed.world.scenario_text import to_toml

    values = scenario.model_dump()
    made = folder / f"{scenario.name.replace('/', '-')}.toml"
    tables = {key: Path(law["file"]) for key, law in values.items() if _names_file(law)}
    if len({table.name for table in tables.values()}) < len(set(tables.values())):
        raise InputError("two tables have the same name, in different folders: rename one of them")
    for path in (made, *(folder / table.name for table in tables.values())):
        if path.exists():
            raise InputError(f"{path} is there already: copy into another folder, with --to")
    make_folder(folder)
    for key, table in tables.items():
        with table.open("rb") as source, replacing(folder / table.name) as file:
            shutil.copyfileobj(source, file)
        values[key]["file"] = table.name
    write_text(made, head + to_toml(values))
    return made


def _names_file(law: object) -> bool:
    return isinstance(law, dict) and "file" in law
