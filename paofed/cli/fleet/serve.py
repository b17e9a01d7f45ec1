"""Run a fleet's server until it is told to stop (SIGTERM, Ctrl-C).

It needs its broker, waits for it, and comes back to it. Exit code 3: another server has taken this
one's place at the broker; do not start it again before you know why.
"""

import logging
import signal
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from paofed.live.fleet.folder import Fleet
from paofed.live.server.service import Service, TakenOverError

EXAMPLE = "paofed fleet serve greenhouse"
_TAKEN_OVER = 3


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="the fleet's folder")


def run(args: Namespace) -> int:
    """Serve, with a log on stderr."""
    fleet = Fleet(args.folder)
    log = logging.Logger("paofed.server", logging.INFO)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    service = Service(fleet, log)
    before = [
        (number, signal.signal(number, lambda *_: service.stop()))
        for number in (signal.SIGTERM, signal.SIGINT)
    ]
    try:
        service.run()
    except TakenOverError as error:
        log.error("%s", error)  # noqa: TRY400 (not a fault of this program)
        return _TAKEN_OVER
    finally:
        for number, handle in before:
            signal.signal(number, handle)
    log.info("stopped in good order")
    return 0
