"""Write the whole fleet to one file; may be run while the fleet is served.

The file holds every secret of the fleet: only its owner may read it, and it should be kept as safe
as the folder.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from paofed.cli.shared.folder import add_folder, say_result
from paofed.live.fleet.backup import back_up
from paofed.live.fleet.folder import Fleet

EXAMPLE = "paofed fleet backup greenhouse greenhouse.tar"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument("file", type=Path, metavar="FILE", help="tar file to write")


def run(args: Namespace) -> int:
    """Write the backup."""
    back_up(Fleet(args.folder), args.file)
    size = args.file.stat().st_size
    text = f"wrote {args.folder} to {args.file} ({size:,} bytes, with all its secrets)"
    say_result(args, text, out=str(args.file), bytes=size)
    return 0
