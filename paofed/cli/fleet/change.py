"""Change what a fleet agrees on, and who is in it."""

import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Generator, Iterable
from contextlib import closing
from datetime import datetime
from pathlib import Path

from paofed.cli.command import Command
from paofed.cli.shared.agreement import NUMBER, add_agreement, agreed, limits, quantity
from paofed.cli.shared.fleet_options import (
    add_accounts,
    add_dry_run,
    add_folder,
    add_labels,
    fleet_of,
    next_step,
    say_result,
    say_untold,
)
from paofed.device_c.agreed import can_follow
from paofed.durations import moment
from paofed.errors import InputError
from paofed.live.fleet.changes import change_fleet, trust, trusted
from paofed.live.fleet.folder import Fleet
from paofed.live.protocol.change import Changed, Changes
from paofed.live.protocol.manifest import Manifest
from paofed.words import counted, listed

_LATEST = 4e9  # seconds since 1970: beyond a certificate's life


def _change_options(parser: ArgumentParser) -> None:
    """Declare the arguments of `change`."""
    add_folder(parser)
    stays = dict.fromkeys(("features", "kernel_width", "seed"), "cannot be changed")
    add_agreement(parser, stays)
    add = parser.add_argument
    add("--input", action="append", type=quantity, default=[], metavar=NUMBER,
        help="input to add, as `paofed fleet init` takes it")  # fmt: skip
    said = "plausible values of an input or of the target; an empty limit is no limit"
    add("--range", action="append", type=limits, default=[], metavar="NAME:LOW:HIGH", help=said)
    add_dry_run(parser)
    add("--yes", action="store_true", help="do not ask where firmware in C is cut off")


def run_change(args: Namespace) -> int:
    """Change what a fleet agrees on, while its server is stopped; devices follow by themselves.

    Shared, step size, tick, algorithm, age limit, clip, bound and ranges can be changed, and an
    input can be added. Features, kernel width, seed, and the scaling of numbers that are there
    cannot: the model has learned with them. Firmware in C follows a change of clip and aside; of
    any other change it has to be built anew, so the command names the devices that `paofed fleet
    firmware` has noted, and asks.
    """
    changes = Changes(
        values=agreed(args),
        inputs=tuple(args.input),
        ranges=dict(args.range),
    )
    if changes == Changes():
        raise InputError("fleet change needs something to change (see --help)")
    fleet = Fleet(args.folder)
    with fleet.store() as store:
        firmware = [member.label for member in store.roster.firmware()]
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
    lines = [_changed(found), *([_cut_off(cut_off)] if cut_off else []), f"{args.folder}: {done}"]
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


def _changed(found: Changed) -> str:
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


def _firmware_options(parser: ArgumentParser) -> None:
    """Declare the arguments of `firmware`."""
    add_folder(parser)
    add_labels(parser, "these devices run no firmware in C", nargs="*")


def run_firmware(args: Namespace) -> int:
    """Note which devices run firmware in C; without a label, list them.

    Such a device was built with what the fleet had agreed on, and cannot follow every change of it.
    The server cannot tell it from others, so somebody has to say so: `paofed fleet change` then
    names the devices that a change would cut off, and asks.
    """
    with Fleet(args.folder).store() as store:
        devices = [store.roster.member(label).device for label in args.labels]
        if devices:
            store.roster.note_firmware(devices, on=not args.off)
        labels = [member.label for member in store.roster.firmware()]
    say_result(args, f"firmware in C: {', '.join(labels) or 'no device'}", labels=labels)
    return 0


def _rotate_options(parser: ArgumentParser) -> None:
    """Declare the arguments of `rotate`."""
    add_folder(parser)
    add = parser.add_argument
    add("labels", nargs="*", metavar="LABEL", help="name of a device")
    add("--all", action="store_true", help="in the place of names: every device")
    add("--until", type=_time, metavar="WHEN",
        help="with --all and certificates: how long the old files are good still, as in "
        "2026-12-24, 2026-12-24T18:00, 14d or 36h (default: no longer)")  # fmt: skip
    add("--server", action="store_true",
        help="in the place of names: the server and the broker")  # fmt: skip
    add_accounts(parser)


def run_rotate(args: Namespace) -> int:
    """Give devices new credentials; the old are good no more, or with --until for a while still.

    With --server, the server and the broker get theirs, and the broker's settings are written anew;
    restart both afterwards. After Ctrl-C, the devices whose files were printed have new
    credentials, and no others.
    """
    if bool(args.labels) + args.all + args.server != 1:
        raise InputError("fleet rotate needs one of: some LABEL, --all, --server")
    if args.until is not None and not args.all:
        raise InputError("--until needs --all: the old file of a single device ends at once")
    fleet = fleet_of(args)
    fleet.require(args.labels)
    if args.server:
        fleet.rotate_server()
        own = fleet.settings.security != "external"
        say_result(args, f"restart {'the broker and ' * own}the server of {args.folder}")
        return 0
    rotated = fleet.rotate_all(args.until) if args.all else _one_by_one(fleet, args.labels)
    with closing(rotated) as files:  # whatever ends the loop, the broker is told
        for path in files:
            _say_file(args, fleet, path)
    if args.until is not None:
        when = datetime.fromtimestamp(args.until).astimezone().isoformat(" ", "minutes")
        say_result(args, f"the old files are good until {when}", until=args.until)
    say_untold(fleet)
    return 0


def _one_by_one(fleet: Fleet, labels: Iterable[str]) -> Generator[Path]:
    for label in labels:
        yield fleet.rotate(label)


def _say_file(args: Namespace, fleet: Fleet, path: Path) -> None:
    # With --all, the broker is told only in the end.
    told = {} if args.all else {"broker_told": fleet.told}
    say_result(args, f"put {path} on its device", file=str(path), **told)


def _time(text: str) -> float:
    """Read a time to come, in seconds since 1970: a date, perhaps with a time, or a duration."""
    when = moment(text, ago=False)
    if when is None:
        raise ArgumentTypeError(
            f"{text!r} is no time: expected 2026-12-24, 2026-12-24T18:00, 14d or 36h"
        )
    if not time.time() < when < _LATEST:
        raise ArgumentTypeError(f"{text!r} is past, or too far ahead")
    return when


def _trust_options(parser: ArgumentParser) -> None:
    """Declare the arguments of `trust`."""
    add_folder(parser)
    add_labels(parser, "judge the devices like all others again", nargs="*",
        who="a device or gateway")  # fmt: skip


def run_trust(args: Namespace) -> int:
    """Let a device count in full that measures where nobody else does, while the server is stopped.

    A device whose updates lie far outside those of the others is set aside, and counts little. That
    is right for a broken device. A healthy device at a place of its own is let in step by step; it
    counts in full at once, and for good, if somebody says that it is to be trusted. With --off, it
    is judged like all others again. Without a label, the command lists who is trusted.
    """
    fleet = Fleet(args.folder)
    if args.labels:
        fleet.require(args.labels)
        trust(fleet, args.labels, on=not args.off)
    with fleet.store() as store:
        labels = trusted(store)
    text = f"trusted: {listed(labels) if labels else 'nobody'}"
    say_result(args, text, trusted=labels)
    return 0


def _remove_options(parser: ArgumentParser) -> None:
    """Declare the arguments of `remove`."""
    add_folder(parser)
    parser.add_argument("labels", nargs="+", metavar="LABEL", help="name of a device")


def run_remove(args: Namespace) -> int:
    """Let devices leave for good: server and broker refuse them from now on.

    What they brought stays. A label can be given again; an index never is.
    """
    fleet = Fleet(args.folder)
    fleet.require(args.labels)
    for label in args.labels:
        fleet.remove(label)
        text = f"{label} is no longer part of {args.folder}"
        say_result(args, text, broker_told=fleet.told)
    say_untold(fleet)
    return 0


COMMANDS = {
    "change": Command(
        _change_options,
        run_change,
        "paofed fleet change greenhouse --step-size 0.2 --clip 6 --dry-run",
    ),
    "firmware": Command(
        _firmware_options, run_firmware, "paofed fleet firmware greenhouse north-wall"
    ),
    "rotate": Command(
        _rotate_options, run_rotate, "paofed fleet rotate greenhouse --all --until 14d"
    ),
    "trust": Command(_trust_options, run_trust, "paofed fleet trust greenhouse north-wall"),
    "remove": Command(_remove_options, run_remove, "paofed fleet remove greenhouse north-wall"),
}
