"""Let devices leave for good: server and broker refuse them from now on; what they brought stays.

A label can be given again; an index never is.
"""

from argparse import ArgumentParser, Namespace

from paofed.cli.shared.folder import add_folder, say_result, say_untold
from paofed.live.fleet.folder import Fleet

EXAMPLE = "paofed fleet remove greenhouse north-wall"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument("labels", nargs="+", metavar="LABEL", help="name of a device")


def run(args: Namespace) -> int:
    """Remove the devices, one by one."""
    fleet = Fleet(args.folder)
    fleet.require(args.labels)
    for label in args.labels:
        fleet.remove(label)
        text = f"{label} is no longer part of {args.folder}"
        say_result(args, text, broker_told=fleet.told)
    say_untold(fleet)
    return 0
