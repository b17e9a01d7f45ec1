"""A scenario copied into a folder, with the tables that it names beside it."""

import shutil
from itertools import takewhile
from pathlib import Path

from paofed.errors import InputError
from paofed.files import make_folder, replacing, write_text
from paofed.world.scenario import Scenario
from paofed.world.scenario_text import to_toml


def comments_of(path: Path) -> str:
    """Return the comments at the head of a file, which may say where its data come from."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(takewhile(lambda line: line.startswith("#"), lines))


def copy_scenario(scenario: Scenario, folder: Path, head: str = "") -> Path:
    """Write a scenario as NAME.toml, with a `head` of comments, and return the file."""
    values = scenario.model_dump()
    made = folder / f"{scenario.name.replace('/', '-')}.toml"
    tables = {
        key: Path(law["file"])
        for key, law in values.items()
        if isinstance(law, dict) and "file" in law
    }
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
