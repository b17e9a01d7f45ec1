"""Bring a fleet back: from a wrong clock, from broken devices, to earlier models, after damage."""

import time
from argparse import ArgumentParser, Namespace
from pathlib import Path

from paofed.cli.command import Command
from paofed.cli.shared.folder import (
    add_dry_run,
    add_folder,
    add_labels,
    add_validation,
    next_step,
    say_result,
    say_untold,
)
from paofed.durations import date_text, duration
from paofed.live.fleet.backup import restore
from paofed.live.fleet.changes import GoneBack, leave_out, reset_clock, roll_back
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.issuing import revoked_at_broker
from paofed.live.fleet.methods import opened
from paofed.live.journal.confirmation import missing
from paofed.live.journal.database import locked
from paofed.live.journal.past import TIME
from paofed.live.journal.repair import Repair, repair
from paofed.words import counted, listed

_UNKNOWN = "rows of devices or credentials, nobody can tell whose"


def _clock_options(parser: ArgumentParser) -> None:
    """Declare the arguments of `clock`."""
    add_folder(parser)
    parser.add_argument("--reset", action="store_true",
        help="let the next tick begin now, while the server is stopped")  # fmt: skip


def run_clock(args: Namespace) -> int:
    """Say whether a fleet's ticks go with this machine's clock; with --reset, let them.

    Ticks only grow. If the server's clock was ahead once, no tick closes until the time has caught
    up, and all that devices send meanwhile is refused. --reset, while the server is stopped, begins
    an epoch in which the next tick begins now. Devices follow by themselves, those in C too, and
    keep their models; only updates that were not confirmed are lost.
    """
    fleet = Fleet(args.folder)
    with fleet.store() as store:
        server = store.recover()
    ahead = max(server.manifest.begins(server.tick) - time.time(), 0.0)
    said = f"tick {server.tick:,} has begun: ticks go with this machine's clock"
    if ahead:
        said = f"tick {server.tick:,} begins in {duration(ahead)}: no tick closes until then"
    if args.reset:
        tick = reset_clock(fleet).server.tick
        said += f"\ntick {tick:,} begins now; start the server again, and devices follow"
    elif ahead:
        said += (
            f"\nif this machine's clock is right: stop the server, `paofed fleet clock "
            f"{args.folder} --reset`, start it again"
        )
    say_result(args, said, tick=server.tick, ahead=ahead, reset=args.reset)
    return 0


def _quarantine_options(parser: ArgumentParser) -> None:
    """Declare the arguments of `quarantine`."""
    add_folder(parser)
    add_labels(parser, "use what the devices send again", nargs="+")


def run_quarantine(args: Namespace) -> int:
    """Refuse what devices send, without removing them; with --off, accept it again."""
    fleet = Fleet(args.folder)
    fleet.require(args.labels)
    for label in args.labels:
        fleet.quarantine(label, on=not args.off)
        text = f"{label}: what it sends is {'taken' if args.off else 'refused'}"
        say_result(args, text, broker_told=fleet.told)
    say_untold(fleet)
    return 0


def _without_options(parser: ArgumentParser) -> None:
    """Declare the arguments of `without`."""
    add_folder(parser)
    add = parser.add_argument
    add("labels", nargs="+", metavar="LABEL", help="name of a device to leave out")
    add(
        "--since",
        required=True,
        metavar="TIME",
        help=f"when their messages begin to be left out: {TIME}",
    )
    add_validation(parser)
    add("--quarantine", action="store_true", help="also refuse what these devices send from now on")
    add_dry_run(parser)


def run_without(args: Namespace) -> int:
    """Replay what the others sent, without some devices, while the server is stopped.

    The model is computed anew from the messages of all other devices since a time, by the present
    rule. What these devices had already taken over from the devices left out remains in their
    messages: a fleet that is ruined needs `paofed fleet rollback`.
    """
    fleet = Fleet(args.folder)
    with fleet.store() as store:
        tick = store.past.tick_of(args.since)

    def look(_: GoneBack) -> None:
        # First, since until the rest is done it is the only protection.
        if args.quarantine and not args.dry_run:
            _quarantine(fleet, args.labels)

    found = leave_out(
        fleet, args.labels, tick, validation=args.validation, dry_run=args.dry_run, look=look
    )
    text = "\n".join(_left_out(args, found))
    done = next_step(fleet, found.server.manifest, dry_run=args.dry_run)
    say_result(
        args,
        f"{text}\n{args.folder}: {done}",
        tick=tick,
        updates=found.updates,
        epoch=found.server.manifest.epoch,
        errors=found.errors or [],
        ruined=found.errors is not None and found.errors.ruined,
        dry_run=args.dry_run,
    )
    say_untold(fleet)
    return 0


def _quarantine(fleet: Fleet, labels: list[str]) -> None:
    with fleet.store() as store:
        present = {member.label for member in store.roster.members() if not member.removed}
    for label in labels:
        if label in present:
            fleet.quarantine(label)


def _left_out(args: Namespace, found: GoneBack) -> list[str]:
    who, since = listed(args.labels), f"tick {found.then.tick:,}"
    lines = [
        f"without {counted(found.updates, 'update')} of {who} since {since}",
        f"what others had taken over from {who} remains in what they sent, and in this model",
    ]
    if found.errors is not None:
        then, now, after = found.errors
        target = found.present.manifest.target.name
        lines.append(
            f"error: {then:.4g} {target} then, {now:.4g} now, {after:.4g} after it "
            f"(root mean square)"
        )
    if found.errors is not None and found.errors.ruined:
        lines.append(
            f"this model is far worse than the one of then: go back to that one instead, with "
            f"`paofed fleet rollback {args.folder} {args.since}`"
        )
    if not args.quarantine:
        lines.append(
            f"what {who} sends is taken from now on, unless quarantined already or by --quarantine"
        )
    return [*lines, "all devices begin from this model"]


def _rollback_options(parser: ArgumentParser) -> None:
    """Declare the arguments of `rollback`."""
    add_folder(parser)
    parser.add_argument("time", metavar="TIME", help=f"time to go back to: {TIME}")
    add_validation(parser)
    add_dry_run(parser)


def run_rollback(args: Namespace) -> int:
    """Go back to the model of an earlier time, while the server is stopped.

    Who is in the fleet, and tick numbers, stay as they are. Devices follow by themselves: they
    begin from the server's model, and what they sent or learned since then does not come back.
    """
    fleet = Fleet(args.folder)
    with fleet.store() as store:
        tick = store.past.tick_of(args.time)
        then = store.epochs.time_of(tick)
    found = roll_back(fleet, tick, validation=args.validation, dry_run=args.dry_run)
    done = next_step(fleet, found.server.manifest, dry_run=args.dry_run)
    say_result(
        args,
        _rolled_back(found, then) + f"\n{args.folder}: {done}",
        tick=tick,
        time=then,
        updates=found.updates,
        epoch=found.server.manifest.epoch,
        errors=[] if found.errors is None else found.errors[1:],
        dry_run=args.dry_run,
    )
    return 0


def _rolled_back(found: GoneBack, then: float) -> str:
    target = found.present.manifest.target.name
    lines = [
        f"back to tick {found.then.tick:,}, {date_text(then)} ({duration(time.time() - then)} ago)",
        f"{counted(found.updates, 'update')} that came since then no longer count",
    ]
    if found.errors is not None:
        _, now, after = found.errors
        lines.append(f"error: {now:.4g} {target} now, {after:.4g} after it (root mean square)")
    if not found.present.manifest.means_the_same(found.then.manifest):
        lines.append("the model meant something else then: what was agreed on then comes back, too")
    return "\n".join([*lines, "all devices begin from this model"])


def _restore_options(parser: ArgumentParser) -> None:
    """Declare the arguments of `restore`."""
    parser.add_argument("file", type=Path, metavar="FILE", help="what `paofed fleet backup` wrote")
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder of the fleet to make")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run_restore(args: Namespace) -> int:
    """Make a fleet's folder of a backup, while its server is stopped; the old content is kept.

    What was in the folder before is kept beside it. Devices follow by themselves: they begin from
    the server's model, and what they sent since the backup was made does not come back.
    """
    found = restore(args.file, args.folder)
    said = [f"{args.folder} has the model of tick {found.tick:,}, {date_text(found.time)}"]
    if found.aside is not None:
        said.append(f"what was there is now {found.aside}")
    if found.forgotten:
        said.append(f"quarantined, since the broker refuses them: {listed(found.forgotten)}")
    said.append("start its broker and its server again; all devices begin from this model")
    say_result(
        args,
        "\n".join(said),
        tick=found.tick,
        time=found.time,
        epoch=found.server.manifest.epoch,
        aside=None if found.aside is None else str(found.aside),
        quarantined=found.forgotten,
    )
    return 0


def _repair_options(parser: ArgumentParser) -> None:
    """Declare the arguments of `repair`."""
    add_folder(parser)


def run_repair(args: Namespace) -> int:
    """Go on from what is intact, after damage or with an older copy; copy the folder first.

    Keeps the newest intact snapshot and the lines of the journal after it that can be read, and
    says how many confirmed updates are lost: their devices will not send them again. Revoked
    certificates that were lost are taken over from the broker's list.
    """
    with opened(args.folder, to_repair=True) as store, locked(args.folder):
        found = None if store.is_intact() else repair(store, revoked_at_broker(args.folder))
    say_result(args, f"{args.folder} {_repaired(found)}", **(found or Repair())._asdict())
    return 0


def _repaired(found: Repair | None) -> str:
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


COMMANDS = {
    "clock": Command(_clock_options, run_clock, "paofed fleet clock greenhouse --reset"),
    "quarantine": Command(
        _quarantine_options, run_quarantine, "paofed fleet quarantine greenhouse north-wall"
    ),
    "without": Command(
        _without_options,
        run_without,
        "paofed fleet without greenhouse north-wall --since 2h --validation measured.csv",
    ),
    "rollback": Command(
        _rollback_options,
        run_rollback,
        "paofed fleet rollback greenhouse 2h --validation measured.csv --dry-run",
    ),
    "restore": Command(
        _restore_options, run_restore, "paofed fleet restore greenhouse.tar greenhouse"
    ),
    "repair": Command(_repair_options, run_repair, "paofed fleet repair greenhouse"),
}
