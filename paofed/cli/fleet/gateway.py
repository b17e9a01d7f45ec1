"""Add a gateway: one user at the broker that speaks for a number of devices, each with a place.

For a gateway that exists already, places are added. Either way the gateway gets a new file, and a
file that it had before is good no more. `paofed gateway` takes part with the new file.
"""

from argparse import ArgumentParser, Namespace

from paofed.cli.shared.folder import (
    add_accounts,
    add_folder,
    fleet_of,
    rights_of,
    say_result,
    say_untold,
)
from paofed.errors import InputError
from paofed.live.network.credential import Credential
from paofed.words import counted

EXAMPLE = "paofed fleet gateway greenhouse hall --places 20"
_MOST = 10_000  # places at a time


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    add = parser.add_argument
    add("label", metavar="LABEL", help="name of the gateway")
    add("--places", type=int, default=10, metavar="N",
        help="number of devices that it speaks for, 1 to 10,000; for a gateway that is there "
        "already, how many more (default: %(default)s)")  # fmt: skip
    add_accounts(parser)


def run(args: Namespace) -> int:
    """Add the gateway, or places to it."""
    if not 1 <= args.places <= _MOST:
        raise InputError(f"--places is {args.places}: expected 1 to {_MOST:,}")
    fleet = fleet_of(args)
    path = fleet.add_gateway(args.label, args.places)
    allow = rights_of(fleet, args.label, *(Credential.load(path).devices or ()))
    put = f"put {path} on its gateway, which has {counted(args.places, 'place')} more"
    text = "\n".join([put, *allow])
    say_result(args, text, file=str(path), **({"allow": allow[1:]} if allow else {}))
    say_untold(fleet)
    return 0
