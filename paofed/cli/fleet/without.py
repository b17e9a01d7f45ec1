"""Replay what the others sent, without some devices, while the server is stopped.

The model is computed anew from the messages of all other devices since a time, by the present rule.
What these devices had already taken over from the devices left out remains in their messages: a
fleet that is ruined needs `paofed fleet rollback`.
"""

from argparse import ArgumentParser, Namespace

from paofed.cli.shared.folder import add_folder, add_validation, next_step, say_result, say_untold
from paofed.cli.shared.times import TIME_HELP, tick_of
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.going_back import GoneBack, leave_out
from paofed.live.server.validation import error_of
from paofed.words import counted, listed

EXAMPLE = "paofed fleet without greenhouse north-wall --since 2h --validation measured.csv"
_RUINED = 1.5  # a model with this many times its former error is ruined


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_folder(parser)
    add = parser.add_argument
    add("labels", nargs="+", metavar="LABEL", help="name of a device to leave out")
    add(
        "--since",
        required=True,
        metavar="TIME",
        help=f"when their messages begin to be left out: {TIME_HELP}",
    )
    add_validation(parser)
    add("--quarantine", action="store_true", help="also refuse what these devices send from now on")
    add("--dry-run", action="store_true", help="only say what would change; the server may run")


def run(args: Namespace) -> int:
    """Say what the replay means, do it, and say what comes next."""
    fleet = Fleet(args.folder)
    with fleet.store() as store:
        tick = tick_of(args.since, store)
    errors: list[float] = []

    def look(found: GoneBack) -> None:
        if args.validation is not None:
            servers = found.then, found.present, found.server
            errors.extend(error_of(server, args.validation) for server in servers)
        # First, since until the rest is done it is the only protection.
        if args.quarantine and not args.dry_run:
            _quarantine(fleet, args.labels)

    found = leave_out(fleet, args.labels, tick, dry_run=args.dry_run, look=look)
    text = "\n".join(_told(args, found, errors))
    done = next_step(fleet, found.server.manifest, dry_run=args.dry_run)
    say_result(
        args,
        f"{text}\n{args.folder}: {done}",
        tick=tick,
        updates=found.updates,
        epoch=found.server.manifest.epoch,
        errors=errors,
        ruined=_is_ruined(errors),
        dry_run=args.dry_run,
    )
    say_untold(fleet)
    return 0


def _quarantine(fleet: Fleet, labels: list[str]) -> None:
    with fleet.store() as store:
        present = {member.label for member in store.members() if not member.removed}
    for label in labels:
        if label in present:
            fleet.quarantine(label)


def _is_ruined(errors: list[float]) -> bool:
    return bool(errors) and not errors[2] <= _RUINED * errors[0]


def _told(args: Namespace, found: GoneBack, errors: list[float]) -> list[str]:
    who, since = listed(args.labels), f"tick {found.then.tick:,}"
    lines = [
        f"without {counted(found.updates, 'update')} of {who} since {since}",
        f"what others had taken over from {who} remains in what they sent, and in this model",
    ]
    if errors:
        then, now, after = errors
        target = found.present.manifest.target.name
        lines.append(
            f"error: {then:.4g} {target} then, {now:.4g} now, {after:.4g} after it "
            f"(root mean square)"
        )
    if _is_ruined(errors):
        lines.append(
            f"this model is far worse than the one of then: go back to that one instead, with "
            f"`paofed fleet rollback {args.folder} {args.since}`"
        )
    if not args.quarantine:
        lines.append(
            f"what {who} sends is taken from now on, unless quarantined already or by --quarantine"
        )
    return [*lines, "all devices begin from this model"]
