"""Say whether a fleet's ticks go with this machine's clock; with --reset, let them.

Ticks only grow. If the server's clock was ahead once, no tick closes until the time has caught up,
and all that devices send meanwhile is refused. --reset, while the server is stopped, begins an
epoch in which the next tick begins now. Devices follow by themselves, those in C too, and keep
their models; only updates that were not confirmed are lost.
"""

import time
from argparse import ArgumentParser, Namespace

from paofed.cli.shared.folder import add_folder, say_result
from paofed.cli.shared.progress import duration
from paofed.live.fleet.changes import reset_clock
from paofed.live.fleet.folder import Fleet

EXAMPLE = "paofed fleet clock greenhouse --reset"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument("--reset", action="store_true",
        help="let the next tick begin now, while the server is stopped")  # fmt: skip


def run(args: Namespace) -> int:
    """Compare ticks and clock, and let the ticks go on from now if that is asked for."""
    fleet = Fleet(args.folder)
    with fleet.store() as store:
        server = store.recover()
    ahead = max(server.manifest.begins(server.tick) - time.time(), 0.0)
    said = f"tick {server.tick:,} has begun: ticks go with this machine's clock"
    if ahead:
        said = f"tick {server.tick:,} begins in {duration(ahead)}: no tick closes until then"
    if args.reset:
        tick = reset_clock(fleet).server.tick
        said += f"\ntick {tick:,} begins now; start the server again, and devices follow"
    elif ahead:
        said += (
            f"\nif this machine's clock is right: stop the server, `paofed fleet clock "
            f"{args.folder} --reset`, start it again"
        )
    say_result(args, said, tick=server.tick, ahead=ahead, reset=args.reset)
    return 0
