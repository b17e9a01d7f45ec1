"""Add devices to a fleet: each gets an index, a credential, and one file to put on it.

The file holds a secret: move it to its device, readable by its owner alone, and keep no copy. Where
the broker is not the fleet's own, --accounts has a user for each, and what is printed says what the
broker's administrator has to allow. After Ctrl-C, the devices whose files were printed are in the
fleet, and no others.
"""

from argparse import ArgumentParser, Namespace
from contextlib import closing

from paofed.cli.shared.folder import (
    add_accounts,
    add_folder,
    fleet_of,
    rights_of,
    say_result,
    say_untold,
)
from paofed.live.network.credential import Credential

EXAMPLE = "paofed fleet add greenhouse north-wall south-wall"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument("labels", nargs="+", metavar="LABEL", help="name of a device")
    add_accounts(parser)


def run(args: Namespace) -> int:
    """Add the devices, group by group."""
    fleet = fleet_of(args)
    with closing(fleet.add(args.labels)) as files:  # whatever ends the loop, the broker is told
        for path, label in zip(files, args.labels, strict=True):
            allow = rights_of(fleet, label, Credential.load(path).who)
            text = "\n".join([f"put {path} on its device", *allow])
            say_result(args, text, file=str(path), **({"allow": allow[1:]} if allow else {}))
    if fleet.settings.security == "password":  # certificates need not be told to the broker
        say_untold(fleet)
    return 0
