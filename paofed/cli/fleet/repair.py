"""Go on from what is intact, after damage; copy the folder first.

Keeps the newest intact snapshot and the lines of the journal that can be read behind it.
"""

from argparse import ArgumentParser, Namespace
from contextlib import closing, suppress

from paofed.cli.fleet.folder import add_folder, say_result
from paofed.live.database import StoreError, locked
from paofed.live.store import Store

EXAMPLE = "paofed fleet repair greenhouse"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)


def run(args: Namespace) -> int:
    """Repair, unless there is nothing to repair."""
    with closing(Store.open(args.folder)) as store, locked(args.folder):
        intact = False
        with suppress(StoreError):
            intact = store.verify().agrees
        lost = 0 if intact else store.repair()
    if intact:
        text = f"{args.folder} is intact: there is nothing to repair"
    else:
        text = f"{args.folder} is usable again; {lost} accepted updates were lost"
    say_result(args, text, lost=lost)
    return 0
