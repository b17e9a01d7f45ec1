"""Let a device count in full that measures where nobody else does, while the server is stopped.

A device whose updates lie far outside those of the others is set aside, and counts little. That is
right for a broken device. A healthy device at a place of its own is let in step by step; it counts
in full at once, and for good, if somebody says that it is to be trusted. With --off, it is judged
like all others again. Without a label, the command lists who is trusted.
"""

from argparse import ArgumentParser, Namespace

from paofed.cli.shared.folder import add_folder, say_result
from paofed.live.fleet.changes import trust, trusted
from paofed.live.fleet.folder import Fleet
from paofed.words import listed

EXAMPLE = "paofed fleet trust greenhouse north-wall"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument("labels", nargs="*", metavar="LABEL", help="name of a device or gateway")
    parser.add_argument("--off", action="store_true",
        help="judge the devices like all others again")  # fmt: skip


def run(args: Namespace) -> int:
    """Trust devices or no longer, and say who is trusted."""
    fleet = Fleet(args.folder)
    if args.labels:
        fleet.require(args.labels)
        trust(fleet, args.labels, on=not args.off)
    with fleet.store() as store:
        labels = trusted(store)
    text = f"trusted: {listed(labels) if labels else 'nobody'}"
    say_result(args, text, trusted=labels)
    return 0
