"""Go on from what is intact, after damage or with an older copy; copy the folder first.

Keeps the newest intact snapshot and the lines of the journal after it that can be read, and says
how many confirmed updates are lost: their devices will not send them again. Revoked certificates
that were lost are taken over from the broker's list.
"""

from argparse import ArgumentParser, Namespace
from contextlib import closing

from paofed.cli.shared.folder import add_folder, say_result
from paofed.live.fleet.issuing import revoked_at_broker
from paofed.live.journal.database import locked, missing
from paofed.live.journal.store import Repair, Store
from paofed.words import counted

_UNKNOWN = "rows of devices or credentials, nobody can tell whose"
EXAMPLE = "paofed fleet repair greenhouse"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)


def run(args: Namespace) -> int:
    """Repair, unless there is nothing to repair."""
    with closing(Store.open(args.folder, to_repair=True)) as store, locked(args.folder):
        found = None if store.is_intact() else store.repair(revoked_at_broker(args.folder))
    say_result(args, f"{args.folder} {_told(found)}", **(found or Repair())._asdict())
    return 0


def _told(found: Repair | None) -> str:
    if found is None:
        return "is intact: there is nothing to repair"
    lost = missing(found.lost, found.changes) or ("" if found.unknown else "nothing")
    said = [
        f"is usable again; lost: {' and '.join(filter(None, (lost, _UNKNOWN * found.unknown)))}"
    ]
    if not found.complete:
        said.append("whether more was confirmed cannot be told")
    if found.regained:
        regained = counted(found.regained, "revoked certificate")
        said.append(f"taken over from the broker's list: {regained}")
    if found.devices:
        numbers = ", ".join(map(str, found.devices))
        said.append(f"rows of devices were damaged, and these are quarantined: {numbers}")
    if found.unknown:
        said.append(
            "compare `paofed fleet status` with what you know: whoever is missing has to be added, "
            "and a file that was revoked may be good again (`paofed fleet restore` knows more)"
        )
    return "; ".join(said)
