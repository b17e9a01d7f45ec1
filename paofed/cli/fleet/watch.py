"""See how a fleet is doing, and whether its journal is what its model was made from."""

import json
import time
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path

import numpy as np

from paofed.cli.command import Command
from paofed.cli.shared.folder import add_folder, add_validation, say_result
from paofed.cli.shared.progress import Progress
from paofed.durations import duration
from paofed.files import require_writable, write_text
from paofed.live.fleet.methods import opened
from paofed.live.fleet.settings import Settings
from paofed.live.journal.database import is_locked
from paofed.live.model.fleet_model import FleetModel
from paofed.live.model.reported import COVERAGE
from paofed.live.model.validated import Validated, validated
from paofed.live.protocol.manifest import Manifest
from paofed.live.server.clock import at_present
from paofed.live.server.lookout import sight_of
from paofed.live.server.status import DeviceStatus, Status, asked
from paofed.live.server.web.page.page import page
from paofed.live.server.web.page.view import view_of
from paofed.words import counted, size, table

_MOST_SHOWN = 40  # devices that are shown without --all
# How long ago; the first that the history reaches back to is shown.
_AGO = {"a day": 86400.0, "an hour": 3600.0, "a minute": 60.0}


def _status_options(parser: ArgumentParser) -> None:
    """Declare the arguments of `status`."""
    add_folder(parser)
    add = parser.add_argument
    add("--all", action="store_true", help=f"show every device, not only the first {_MOST_SHOWN}")
    add_validation(parser)


def run_status(args: Namespace) -> int:
    """Show how a fleet is doing: its server if it runs, else the journal as it is on disk."""
    settings = Settings.load(args.folder)
    with opened(args.folder) as store:
        coordinator = at_present(store)
        manifest = coordinator.manifest
        status, served = _asked(args.folder, settings, manifest), is_locked(args.folder)
        if status is None:
            status = Status.of(settings.name, coordinator, store.roster.devices())
        found = (
            None
            if args.validation is None
            else validated(FleetModel.of(coordinator), args.validation)
        )
        disk, oldest = store.disk(settings.keep), store.past.reaches()
        ago = max(time.time() - store.epochs.time_of(oldest), 0.0)
    if args.json:
        said = {"validation_error": found and found.error, "validation_held": found and found.held}
        beside = {**said, "disk": {**disk._asdict(), "back_to": oldest}}
        print(json.dumps({**asdict(status), **beside}))
        return 0
    first, *others = _lines(status, served=served)
    ahead = manifest.begins(coordinator.tick) - time.time()
    if status.service is None and ahead > manifest.tick_seconds:  # else the server says so
        others.insert(
            0,
            f"PROBLEM      ticks are {duration(ahead)} ahead of the clock, and none closes until "
            f"then: `paofed fleet clock {args.folder} --reset` frees the fleet",
        )
    print("\n".join([first, *others]))
    print(
        f"disk         {size(disk.now)}, back to tick {oldest:,} ({duration(ago)} ago); "
        f"{settings.keep_days} days take about {size(disk.expected)}, at most {size(disk.most)}"
    )
    if found is not None:
        print("\n".join(_validated(found, manifest)))
    devices = _devices(status, every=args.all)
    if devices:
        print(f"\n{devices}")
    return 0


def _asked(folder: Path, settings: Settings, manifest: Manifest) -> Status | None:
    """Return what the server says, if one runs and serves this fleet."""
    status = asked(settings, folder=folder)
    same = status is not None and (status.fleet, status.start) == (settings.name, manifest.start)
    return status if same else None


def _validated(found: Validated, manifest: Manifest) -> list[str]:
    """Say how wrong the model is on samples, and how often its interval holds them."""
    error = f"error        {found.error:.4g} {manifest.target.name} (root mean square)"
    decibels = 20 * np.log10(max(found.error / manifest.unit.scale, 1e-300))
    beside = "" if manifest.unit.logarithm else f", {decibels:.2f} dB of its scale squared"
    if found.held is None:
        return [error + beside]
    held = f"{100 * found.held:.1f} % of {counted(found.samples, 'sample')}"
    return [error + beside, f"interval     holds {held}; it is made for {100 * COVERAGE:.0f} %"]


def _lines(status: Status, *, served: bool) -> list[str]:
    """Return what is to be said of the whole fleet."""
    counts, service = status.counts, status.service
    word = "refused: "
    refused = {k.removeprefix(word): n for k, n in counts.items() if k.startswith(word)}
    how = "its server does not answer; this is from disk" if served else "nobody serves it"
    if service is not None:
        how = f"served for {duration(service.seconds)}"
    lines = [f"{status.fleet}: {status.algorithm}, tick {status.tick:,}; {how}"]
    lines += [f"PROBLEM      {problem}" for problem in status.problems]
    lines += [f"ATTENTION    {attention}" for attention in status.attention]
    lines += [f"fleet error  {said}" for said in _fleet_error(status)]
    lines.append(
        f"updates      {counts.get('accepted', 0):,} accepted, {counts.get('duplicates', 0):,} "
        f"repeated, {counted(counts.get('reads', 0), 'read')}, "
        f"{counted(counts.get('hellos', 0), 'hello')}"
    )
    if status.ages:
        median, most, nearly = status.age_quantiles()
        lines.append(
            f"how late     half within {median} ticks, 90 % within {most}, 99 % within {nearly}"
        )
    lines.append(f"refused      {_listed(refused)}")
    if service is not None:
        lines.append(f"by broker    {_listed(service.broker_refused)}")
        lines.append(
            f"bytes        {service.bytes_received:,} in, {service.bytes_sent:,} out "
            f"(MQTT messages, since the server started)"
        )
        if service.dropped:
            lines.append(f"dropped      {service.dropped:,} messages, to be repeated by devices")
    return [*lines, f"bounds       {status.bounds}"]


def _fleet_error(status: Status) -> list[str]:
    """Say how well the devices predict, and how well they did."""
    error = status.error
    if error is None:
        return []
    says = [f"{status.in_unit(error.now)} now", f"usually {status.in_unit(error.usual)}"]
    for name, seconds in _AGO.items():
        then = status.tick - seconds / status.tick_seconds
        before = [past for tick, past in error.history if tick <= then]
        if before:
            says.append(f"{status.in_unit(before[-1])} {name} ago")
            break
    beside = "" if status.scale is None else f"{error.now:.1f} dB; "
    return [f"{', '.join(says)} ({beside}as the median device says)"]


def _devices(status: Status, *, every: bool) -> str:
    """Return a table: first devices in trouble, then those that are silent longest."""
    present = [device for device in status.devices if device.standing != "removed"]
    present.sort(key=lambda device: (not device.faults, _last(device)))
    shown = present if every else present[:_MOST_SHOWN]
    if not shown:
        return ""
    rows = [
        [
            str(device.device),
            device.label,
            _seen(device, status),
            f"{device.messages:,}",
            "" if device.error is None else status.in_unit(device.error),
            _standing(device),
        ]
        for device in shown
    ]
    header = ["index", "label", "last seen", "messages", "error", "standing"]
    text = table(header, rows, left=(1, 2, 5))
    hidden = len(present) - len(shown)
    return f"{text}\nand {hidden:,} more, heard later (--all shows them)" if hidden else text


def _last(device: DeviceStatus) -> int:
    return -1 if device.last_seen is None else device.last_seen


def _standing(device: DeviceStatus) -> str:
    """Say what is the matter with a device, and whether it only reads; empty for most."""
    standing = [] if device.standing == "member" else [device.standing]
    standing += [fault.kind for fault in device.faults]
    standing += ["reads only, no targets"] if device.reads_only else []
    standing += ["trusted"] if device.trusted else []
    return ", ".join(dict.fromkeys(standing))


def _seen(device: DeviceStatus, status: Status) -> str:
    if device.last_seen is None:
        return "never"
    ticks = max(status.tick - device.last_seen, 0)
    return f"{duration(ticks * status.tick_seconds)} ago" if ticks else "in this tick"


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{reason} {count:,}" for reason, count in counts.items()) or "nothing"


def _page_options(parser: ArgumentParser) -> None:
    """Declare the arguments of `page`."""
    add_folder(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", required=True,
        help="HTML file to write")  # fmt: skip
    add_validation(parser)


def run_page(args: Namespace) -> int:
    """Write the page about a fleet as one file, for a folder whose server is down.

    The running server shows the same page, which goes on by itself, at the address that it prints.
    May be run while the fleet is served.
    """
    require_writable(args.out)
    sight = sight_of(args.folder, args.validation)
    write_text(args.out, page(view_of(sight)))
    tick = sight.status().tick
    text = f"wrote the page of tick {tick} to {args.out}"
    say_result(args, text, tick=tick, out=str(args.out))
    return 0


def _verify_options(parser: ArgumentParser) -> None:
    """Declare the arguments of `verify`."""
    add_folder(parser)


def run_verify(args: Namespace) -> int:
    """Recompute the model from the journal and say whether it equals every snapshot that is kept.

    May be run while the fleet is served. Exit code 1: some snapshot differs.
    """
    with opened(args.folder) as store, Progress("recomputing") as progress:
        found = store.verify(progress)
    verdict = "equals" if found.agrees else "DOES NOT EQUAL"
    text = (
        f"{args.folder}: the model recomputed from {found.lines} lines of the journal {verdict} "
        f"the snapshot of tick {found.tick}"
    )
    say_result(args, text, **found._asdict())
    return 0 if found.agrees else 1


COMMANDS = {
    "status": Command(
        _status_options, run_status, "paofed fleet status greenhouse --validation measured.csv"
    ),
    "page": Command(_page_options, run_page, "paofed fleet page greenhouse --out page.html"),
    "verify": Command(_verify_options, run_verify, "paofed fleet verify greenhouse"),
}
