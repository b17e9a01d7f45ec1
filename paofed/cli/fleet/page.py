"""Write the page about a fleet as one file, for a folder whose server is down.

The running server shows the same page, which goes on by itself, at the address that it prints. May
be run while the fleet is served.
"""

import time
from argparse import ArgumentParser, Namespace
from contextlib import closing
from pathlib import Path

from paofed.cli.shared.folder import add_folder, add_validation, say_result
from paofed.files import require_writable, write_text
from paofed.live.fleet.folder import Fleet
from paofed.live.journal.store import Store
from paofed.live.model.fleet_model import FleetModel
from paofed.live.server.clock import at_present
from paofed.live.server.lookout import Lookout
from paofed.live.server.validation import validated, validation_of
from paofed.live.server.web.page.page import page
from paofed.live.server.web.page.view import view_of

EXAMPLE = "paofed fleet page greenhouse --out page.html"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", required=True,
        help="HTML file to write")  # fmt: skip
    add_validation(parser)


def run(args: Namespace) -> int:
    """Write the page."""
    require_writable(args.out)
    fleet, now = Fleet(args.folder), time.time()
    with closing(Store.open(args.folder)) as store:
        coordinator = at_present(store)
        lookout = Lookout(fleet, store, coordinator, now)
        if args.validation is not None:
            found = validated(FleetModel.of(coordinator), args.validation)
            lookout.validated(validation_of(found, coordinator.manifest))
        sight = lookout.sight(coordinator, now)
    write_text(args.out, page(view_of(sight)))
    text = f"wrote the page of tick {coordinator.tick} to {args.out}"
    say_result(args, text, tick=coordinator.tick, out=str(args.out))
    return 0
