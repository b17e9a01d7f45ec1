"""Run a fleet's server until it is told to stop (SIGTERM, Ctrl-C).

The server waits for its broker, and reconnects when the broker was away. Exit code 3: another
server has taken this one's place at the broker; do not start this one again before you know why.
"""

from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path

from paofed.cli.shared.folder import add_validation
from paofed.cli.shared.serving import log_to_stderr, stopped_by_signals
from paofed.live.fleet.folder import Fleet
from paofed.live.journal.database import TakenOverError
from paofed.live.model.fleet_model import FleetModel
from paofed.live.server.validation import validated

EXAMPLE = "paofed fleet serve greenhouse --validation measured.csv"
_TAKEN_OVER = 3


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="the fleet's folder")
    add_validation(parser)


def run(args: Namespace) -> int:
    """Serve, with a log on stderr."""
    from paofed.live.server.service import Service  # it needs paho-mqtt

    fleet = Fleet(args.folder)
    log = log_to_stderr("paofed.server")
    judge, file = None, args.validation or fleet.settings.validation_file(fleet.folder)
    if file is not None:
        judge = partial(validated, path=file)
        with fleet.store() as store:  # a store that cannot be used is told before anything begins
            judge(FleetModel.of(store.recover()))
    service = Service(fleet, log, judge=judge)
    try:
        with stopped_by_signals(service.stop):
            service.run()
    except TakenOverError as error:
        log.error("%s", error)  # noqa: TRY400 (not a fault of this program)
        return _TAKEN_OVER
    log.info("stopped in good order")
    return 0
