"""Write a fleet's model, for `paofed predict`; may be run while the fleet is served."""

from argparse import ArgumentParser, Namespace
from contextlib import closing
from pathlib import Path

from paofed.cli.shared.folder import add_folder, say_result
from paofed.files import require_writable
from paofed.live.journal.exports import FleetModel
from paofed.live.journal.store import Store
from paofed.live.server.clock import at_present

EXAMPLE = "paofed fleet model greenhouse --out model.npz"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", required=True, help="where to write")


def run(args: Namespace) -> int:
    """Write it."""
    require_writable(args.out)
    with closing(Store.open(args.folder)) as store:
        model = FleetModel.of(at_present(store))
    model.save(args.out)
    text = f"wrote the model of tick {model.tick} to {args.out}"
    say_result(args, text, tick=model.tick, out=str(args.out))
    return 0
