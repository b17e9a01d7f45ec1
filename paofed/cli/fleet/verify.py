"""Recompute the model from the journal and say whether it equals every snapshot that is kept.

May be run while the fleet is served. Exit code 1: some snapshot differs.
"""

from argparse import ArgumentParser, Namespace
from contextlib import closing

from paofed.cli.shared.folder import add_folder, say_result
from paofed.cli.shared.progress import Progress
from paofed.live.journal.store import Store

EXAMPLE = "paofed fleet verify greenhouse"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)


def run(args: Namespace) -> int:
    """Compare every snapshot with what the journal makes."""
    with closing(Store.open(args.folder)) as store, Progress("recomputing") as progress:
        found = store.verify(progress)
    verdict = "equals" if found.agrees else "DOES NOT EQUAL"
    text = (
        f"{args.folder}: the model recomputed from {found.lines} lines of the journal {verdict} "
        f"the snapshot of tick {found.tick}"
    )
    say_result(args, text, **found._asdict())
    return 0 if found.agrees else 1
