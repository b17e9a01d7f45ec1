"""Refuse what devices send, without removing them; with --off, accept it again."""

from argparse import ArgumentParser, Namespace

from paofed.cli.shared.folder import add_folder, say_result, say_untold
from paofed.live.fleet.folder import Fleet

EXAMPLE = "paofed fleet quarantine greenhouse north-wall"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument("labels", nargs="+", metavar="LABEL", help="name of a device")
    parser.add_argument("--off", action="store_true",
        help="use what the devices send again")  # fmt: skip


def run(args: Namespace) -> int:
    """Refuse or accept devices; a running server notices within a second or two."""
    fleet = Fleet(args.folder)
    fleet.require(args.labels)
    for label in args.labels:
        fleet.quarantine(label, on=not args.off)
        text = f"{label}: what it sends is {'taken' if args.off else 'refused'}"
        say_result(args, text, broker_told=fleet.told)
    say_untold(fleet)
    return 0
