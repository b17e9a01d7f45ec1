"""Write services for systemd: broker and server, and templates for devices and gateways.

Broker and server run as the owner of the fleet's folder. Without --out, the units are printed.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from paofed.cli.shared.folder import add_folder, say_result
from paofed.cli.shared.stderr import say
from paofed.files import make_folder, write_text
from paofed.live.fleet.settings import Settings
from paofed.live.operations.services import owner, services

EXAMPLE = "paofed fleet units greenhouse --out units"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    add = parser.add_argument
    add("--out", type=Path, metavar="FOLDER",
        help="folder to write to, made if it is not there (default: print the units)")  # fmt: skip
    add("--program", type=Path, metavar="FILE",
        help="paofed's program on the machine that the units are for (default: this "
        "one)")  # fmt: skip


def run(args: Namespace) -> int:
    """Write the units, one by one, or print them."""
    settings = Settings.load(args.folder)
    written = services(args.folder, settings, args.program)
    if args.out is not None:
        make_folder(args.out)
    for name, text in written.items():
        if args.out is None:
            say_result(args, f"# {name}\n{text}", name=name)
        else:
            write_text(args.out / name, text)
            say_result(args, f"wrote {args.out / name}", file=str(args.out / name))
    if owner(args.folder) == "root":
        say(
            f"{args.folder} belongs to root, and so its services will: give it to a user (chown -R)"
        )
    return 0
