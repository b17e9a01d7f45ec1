"""Give devices new credentials; the old ones are good no more, or with --until for a while still.

With --server, the server and the broker get theirs, and the broker's settings are written anew;
restart both afterwards. After Ctrl-C, the devices whose files were printed have new credentials,
and no others.
"""

import re
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Generator, Iterable
from contextlib import closing
from datetime import datetime
from pathlib import Path

from paofed.cli.shared.folder import add_accounts, add_folder, fleet_of, say_result, say_untold
from paofed.errors import InputError
from paofed.live.fleet.folder import Fleet

EXAMPLE = "paofed fleet rotate greenhouse --all --until 14d"
_SECONDS = {"d": 86400.0, "h": 3600.0}
_LATEST = 4e9  # seconds since 1970: beyond a certificate's life


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
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


def run(args: Namespace) -> int:
    """Rotate the credentials that were named."""
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
    while_ = re.fullmatch(r"([0-9]{1,5})([dh])", text)
    try:
        if while_:
            return time.time() + int(while_[1]) * _SECONDS[while_[2]]
        when = datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise ArgumentTypeError(
            f"{text!r} is no time: expected 2026-12-24, 2026-12-24T18:00, 14d or 36h"
        ) from None
    if not time.time() < when < _LATEST:
        raise ArgumentTypeError(f"{text!r} is past, or too far ahead")
    return when
