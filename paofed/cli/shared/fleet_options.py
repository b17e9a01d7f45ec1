"""What the actions on a fleet have in common."""

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

from paofed.cli.shared.progress import say
from paofed.live.fleet.accounts import BrokerAccount, account_of, read_accounts, rights
from paofed.live.fleet.folder import Fleet
from paofed.live.protocol.manifest import Manifest


def add_folder(parser: ArgumentParser) -> None:
    """Declare the argument of the fleet's folder, and --json."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="the fleet's folder")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def say_result(args: Namespace, text: str, **values: object) -> None:
    """Print what was done, for people or as JSON."""
    print(json.dumps({**values, "text": text}) if args.json else text)


def add_accounts(parser: ArgumentParser) -> None:
    """Declare the file with the accounts that a company has given."""
    parser.add_argument("--accounts", type=Path, metavar="FILE",
        help="for a broker that is not the fleet's own: CSV file label,user,password with a line "
        "for each user")  # fmt: skip


def add_labels(parser: ArgumentParser, off: str, *, nargs: str, who: str = "a device") -> None:
    """Declare the devices that something is said of, and --off, which takes it back."""
    parser.add_argument("labels", nargs=nargs, metavar="LABEL", help=f"name of {who}")
    parser.add_argument("--off", action="store_true", help=off)


def add_dry_run(parser: ArgumentParser) -> None:
    """Declare the option --dry-run."""
    parser.add_argument("--dry-run", action="store_true",
        help="only say what would change; the server may run")  # fmt: skip


def add_validation(parser: ArgumentParser) -> None:
    """Declare the file of samples to judge a model by."""
    parser.add_argument("--validation", type=Path, metavar="FILE",
        help="file of samples with their target, CSV or JSON lines, to judge the model "
        "by")  # fmt: skip


def fleet_of(args: Namespace) -> Fleet:
    """Return the fleet, with the accounts that are given."""
    return Fleet(args.folder, accounts_of(args))


def accounts_of(args: Namespace) -> dict[str, BrokerAccount]:
    """Return the accounts that are given, if any."""
    return {} if args.accounts is None else read_accounts(args.accounts)


def rights_of(fleet: Fleet, label: str, *speaks_for: object) -> list[str]:
    """Return what the administrator of a company's broker has to allow; empty for our own broker.

    `speaks_for` is the server, or the indices of the devices for which the user of `label` speaks.
    """
    if fleet.settings.security != "external":
        return []
    allow = f"let the broker allow {account_of(fleet.accounts, label).user}:"
    lines = (f"  {line}" for who in speaks_for for line in rights(fleet.topics, who))
    return [allow, *dict.fromkeys(lines)]


def say_untold(fleet: Fleet) -> None:
    """Say on stderr that the broker must still be told, if it could not be."""
    if fleet.settings.security == "external":
        say(
            "the broker is not the fleet's own: its administrator has to change or take away users "
            "there; the server refuses whom it should in any case"
        )
    elif not fleet.told:
        say("no broker runs with these files here: start it, or have it read them (kill -HUP)")


def next_step(fleet: Fleet, manifest: Manifest, *, dry_run: bool) -> str:
    """Say what to do after the fleet has agreed on something else; makes room at its broker."""
    if dry_run:
        return "nothing was changed yet (--dry-run)"
    if fleet.make_room(manifest):
        return "start its broker and its server again; the broker's largest packet has grown"
    return "start its server again"
