"""Add devices to a fleet: each gets an index, a credential, and one file to put on it.

The file holds a secret: move it to its device, readable by its owner alone, and keep no copy.
"""

from argparse import ArgumentParser, Namespace

from paofed.cli.shared.folder import add_folder, say_result, say_untold
from paofed.live.fleet.folder import Fleet

EXAMPLE = "paofed fleet add greenhouse north-wall south-wall"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument("labels", nargs="+", metavar="LABEL", help="what people call the device")


def run(args: Namespace) -> int:
    """Add them, one by one."""
    fleet = Fleet(args.folder)
    for path in fleet.add(args.labels):
        say_result(args, f"put {path} on its device", file=str(path))
    if fleet.settings.security == "password":  # certificates need no telling
        say_untold(fleet)
    return 0
