"""Make a fleet's folder of a backup, while its server is stopped; the old content is kept.

What was in the folder before is kept beside it. Devices follow by themselves: they begin from the
server's model, and what they sent since the backup was made does not come back.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from paofed.cli.shared.folder import say_result
from paofed.cli.shared.times import when
from paofed.live.fleet.backup import restore
from paofed.words import listed

EXAMPLE = "paofed fleet restore greenhouse.tar greenhouse"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", type=Path, metavar="FILE", help="what `paofed fleet backup` wrote")
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder of the fleet to make")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(args: Namespace) -> int:
    """Restore, and say what comes next."""
    found = restore(args.file, args.folder)
    said = [f"{args.folder} has the model of tick {found.tick:,}, {when(found.time)}"]
    if found.aside is not None:
        said.append(f"what was there is now {found.aside}")
    if found.forgotten:
        said.append(f"quarantined, since the broker refuses them: {listed(found.forgotten)}")
    said.append("start its broker and its server again; all devices begin from this model")
    say_result(
        args,
        "\n".join(said),
        tick=found.tick,
        time=found.time,
        epoch=found.server.manifest.epoch,
        aside=None if found.aside is None else str(found.aside),
        quarantined=found.forgotten,
    )
    return 0
