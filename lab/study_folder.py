"""The folder of a long study: whose it is, and the store in it, from which a second start goes on.

A folder belongs to one study. `about.json` says by which command and versions it was made; a start
with others is refused.
"""

import json
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paofed.cli.shared.spread_options import crew_of
from paofed.errors import FileError
from paofed.files import make_folder, read_text, write_text
from paofed.simulate.results.outcome import versions
from paofed.simulate.spread.crew import Crew

_ABOUT, JOBS = "about.json", "jobs"


@contextmanager
def crew_in_folder(args: Namespace, command: str) -> Iterator[Crew]:
    """Yield the crew of a study in the folder `--out`, which is claimed for the command.

    Finished jobs are kept there, unless `--store` names another place.
    """
    args.store = args.store or args.out / JOBS
    with crew_of(args) as crew:
        claim_folder(args.out, command)
        yield crew


def claim_folder(folder: Path, command: str) -> None:
    """Say in a folder by what its files are made; refuse a folder that something else made."""
    make_folder(folder)
    path, about = folder / _ABOUT, {"command": command, "versions": versions()}
    if path.exists():
        try:
            found = json.loads(read_text(path))
        except json.JSONDecodeError:
            found = None
        if found != about:
            raise FileError(
                f"{folder} was made by {_said(found)}: expected {_said(about)}; give another --out"
            )
    write_text(path, json.dumps(about, indent=1) + "\n")


def _said(about: object) -> str:
    """Say the command of an about.json and its versions, in one line."""
    if not isinstance(about, dict) or not isinstance(about.get("versions"), dict):
        return "something else"
    made_with = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    return f"`{about.get('command')}` with {made_with}"
