"""What the actions on a fleet have in common."""

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

from paofed.cli.shared.outputs import say
from paofed.live.fleet.folder import Fleet
from paofed.live.protocol.manifest import Manifest


def add_folder(parser: ArgumentParser) -> None:
    """Declare the fleet's folder, and JSON."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="the fleet's folder")
    parser.add_argument("--json", action="store_true", help="print as JSON")


def say_result(args: Namespace, text: str, **values: object) -> None:
    """Print what was done, for people or as JSON."""
    print(json.dumps({**values, "text": text}) if args.json else text)


def say_untold(fleet: Fleet) -> None:
    """Say on stderr that the broker has to be told, where it could not be."""
    if not fleet.told:
        say("no broker runs with these files here: start it, or have it read them (kill -HUP)")


def next_step(fleet: Fleet, manifest: Manifest, *, dry_run: bool) -> str:
    """What to do after the fleet has agreed on something else, once its broker has room for it."""
    if dry_run:
        return "nothing was changed yet (--dry-run)"
    if fleet.make_room(manifest):
        return "start its broker and its server again; the broker's largest packet has grown"
    return "start its server again"
