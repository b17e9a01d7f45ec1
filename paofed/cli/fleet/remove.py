"""Let devices leave for good: server and broker refuse them from now on; what they brought stays.

A label can be given again; an index never is.
"""

from argparse import ArgumentParser, Namespace

from paofed.cli.fleet.folder import add_folder, say_result
from paofed.live.folder import Fleet

EXAMPLE = "paofed fleet remove greenhouse north-wall"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument("labels", nargs="+", metavar="LABEL")


def run(args: Namespace) -> int:
    """Remove them, and say whether the broker knows."""
    fleet = Fleet(args.folder)
    for label in args.labels:
        told = fleet.remove(label)
        knows = "the broker has been told" if told else "tell the broker: kill -HUP, or restart it"
        say_result(args, f"{label} is no longer part of {args.folder}; {knows}", told=told)
    return 0
