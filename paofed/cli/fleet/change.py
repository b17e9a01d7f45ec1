"""Change what a fleet agrees on, while its server is stopped; devices follow by themselves.

Shared, step size, tick, algorithm, age limit, clip, bound and ranges can be changed, and an input
can be added. Features, kernel width, seed, and the scaling of numbers that are there cannot: the
model has learned with them. Firmware in C follows a change of clip and aside; of any other change
it has to be built anew, so the command names the devices that `paofed fleet firmware` has noted,
and asks.
"""

import sys
from argparse import ArgumentParser, Namespace

from paofed.cli.shared.agreement import (
    NUMBER,
    add_agreement,
    given,
    limits,
    scaling,
)
from paofed.cli.shared.folder import add_folder, next_step, say_result
from paofed.device_c.agreed import can_follow
from paofed.errors import InputError
from paofed.live.fleet.change import change_fleet
from paofed.live.fleet.folder import Fleet
from paofed.live.protocol.change import Changed, Changes
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.served import with_options
from paofed.words import counted

EXAMPLE = "paofed fleet change greenhouse --step-size 0.2 --clip 6 --dry-run"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    stays = dict.fromkeys(("features", "kernel_width", "seed"), "cannot be changed")
    add_agreement(parser, stays)
    add = parser.add_argument
    add("--input", action="append", type=scaling, default=[], metavar=NUMBER,
        help="input to add, as `paofed fleet init` takes it")  # fmt: skip
    said = "plausible values of an input or of the target; an empty limit is no limit"
    add("--range", action="append", type=limits, default=[], metavar="NAME:LOW:HIGH", help=said)
    add("--dry-run", action="store_true", help="only say what would change; the server may run")
    add("--yes", action="store_true", help="do not ask where firmware in C is cut off")


def run(args: Namespace) -> int:
    """Change the fleet, and say what is kept and what is lost."""
    changes = Changes(
        values=with_options(given(args)),
        inputs=tuple(args.input),
        ranges=dict(args.range),
    )
    if changes == Changes():
        raise InputError("fleet change needs something to change (see --help)")
    fleet = Fleet(args.folder)
    with fleet.store() as store:
        firmware = [member.label for member in store.firmware()]
    cut_off: list[str] = []

    def look(before: Manifest, after: Changed) -> None:
        if not can_follow(before, after.server.manifest):
            cut_off.extend(firmware)
            if cut_off and not (args.yes or args.dry_run):
                _ask(cut_off)

    found = change_fleet(fleet, changes, dry_run=args.dry_run, look=look)
    if found is None:
        say_result(args, f"{args.folder}: nothing is different, and nothing was done")
        return 0
    done = next_step(fleet, found.server.manifest, dry_run=args.dry_run)
    lines = [_told(found), *([_cut_off(cut_off)] if cut_off else []), f"{args.folder}: {done}"]
    say_result(
        args,
        "\n".join(lines),
        changes=[difference._asdict() for difference in found.differences],
        kept=found.kept,
        lost=found.lost,
        cut_off=cut_off,
        tick=found.server.tick,
        dry_run=args.dry_run,
    )
    return 0


def _told(found: Changed) -> str:
    lines = [f"{what}: {before} -> {after}" for what, before, after in found.differences]
    lines += [f"kept: {what}" for what in found.kept]
    return "\n".join([*lines, *(f"lost: {what}" for what in found.lost)])


def _cut_off(labels: list[str]) -> str:
    """Say which devices cannot follow."""
    return (
        f"cut off: {counted(len(labels), 'device')} with firmware in C, until it is built anew "
        f"(`paofed device c`): {', '.join(labels)}"
    )


def _ask(labels: list[str]) -> None:
    """Ask whether devices may be cut off; where nobody can answer, refuse."""
    if not sys.stdin.isatty():
        raise InputError(f"{_cut_off(labels)}; --yes changes the fleet all the same")
    print(f"{_cut_off(labels)}\nchange the fleet all the same? [y/N] ", end="", flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InputError("nothing was changed")
