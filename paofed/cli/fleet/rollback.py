"""Go back to the model of an earlier time, while the server is stopped.

Who is in the fleet, and tick numbers, stay as they are. Devices follow by themselves: they begin
from the server's model, and what they sent or learned since then does not come back.
"""

import time
from argparse import ArgumentParser, Namespace

from paofed.cli.shared.folder import add_folder, add_validation, next_step, say_result
from paofed.cli.shared.progress import duration
from paofed.cli.shared.times import TIME_HELP, tick_of, when
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.going_back import GoneBack, roll_back
from paofed.live.server.validation import error_of
from paofed.words import counted

EXAMPLE = "paofed fleet rollback greenhouse 2h --validation measured.csv --dry-run"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    parser.add_argument("time", metavar="TIME", help=f"time to go back to: {TIME_HELP}")
    add_validation(parser)
    parser.add_argument("--dry-run", action="store_true",
        help="only say what would change; the server may run")  # fmt: skip


def run(args: Namespace) -> int:
    """Say what the rollback means, do it, and say what comes next."""
    fleet = Fleet(args.folder)
    with fleet.store() as store:
        tick = tick_of(args.time, store)
        then = store.time_of(tick)
    errors: list[float] = []

    def look(found: GoneBack) -> None:
        if args.validation is not None:
            servers = found.present, found.server
            errors.extend(error_of(server, args.validation) for server in servers)

    found = roll_back(fleet, tick, dry_run=args.dry_run, look=look)
    done = next_step(fleet, found.server.manifest, dry_run=args.dry_run)
    say_result(
        args,
        _told(found, then, errors) + f"\n{args.folder}: {done}",
        tick=tick,
        time=then,
        updates=found.updates,
        epoch=found.server.manifest.epoch,
        errors=errors,
        dry_run=args.dry_run,
    )
    return 0


def _told(found: GoneBack, then: float, errors: list[float]) -> str:
    target = found.present.manifest.target.name
    lines = [
        f"back to tick {found.then.tick:,}, {when(then)} ({duration(time.time() - then)} ago)",
        f"{counted(found.updates, 'update')} that came since then no longer count",
    ]
    if errors:
        now, after = errors
        lines.append(f"error: {now:.4g} {target} now, {after:.4g} after it (root mean square)")
    if not found.present.manifest.means_the_same(found.then.manifest):
        lines.append("the model meant something else then: what was agreed on then comes back, too")
    return "\n".join([*lines, "all devices begin from this model"])
