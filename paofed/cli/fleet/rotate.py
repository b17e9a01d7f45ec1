"""Give devices new credentials; the old ones are good no more.

With --server, the server and the broker get theirs, and the broker's settings are written anew;
restart both afterwards.
"""

from argparse import ArgumentParser, Namespace

from paofed.cli.shared.folder import add_folder, say_result, say_untold
from paofed.errors import InputError
from paofed.live.fleet.folder import Fleet

EXAMPLE = "paofed fleet rotate greenhouse north-wall"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument("labels", nargs="*", metavar="LABEL", help="devices")
    parser.add_argument("--server", action="store_true", help="the server and the broker")


def run(args: Namespace) -> int:
    """Rotate what was named."""
    if bool(args.labels) == args.server:
        raise InputError("fleet rotate needs either some LABEL or --server")
    fleet = Fleet(args.folder)
    fleet.require(args.labels)
    for label in args.labels:
        path = fleet.rotate(label)
        say_result(args, f"put {path} on its device", file=str(path), broker_told=fleet.told)
    if args.server:
        fleet.rotate_server()
        say_result(args, f"restart the broker and the server of {args.folder}")
    else:
        say_untold(fleet)
    return 0
