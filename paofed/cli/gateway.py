"""Take part in a fleet for devices that publish telemetry; needs NumPy and paho-mqtt alone.

Telemetry is heard at its broker, every source is one device of the fleet, predictions and errors
are published. It runs until it is told to stop (SIGTERM, Ctrl-C). With --list, shows the sources
that it has seen and which of them take part; with --example, a file to begin with.
"""

import json
import logging
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from paofed.cli.shared.own_method import add_method, admit_given
from paofed.cli.shared.serving import log_to_stderr, stopped_by_signals
from paofed.durations import duration
from paofed.errors import InputError
from paofed.live.gateway.examples import example
from paofed.live.gateway.settings import GatewaySettings
from paofed.live.gateway.sources import UNTOLD, Sources, load
from paofed.live.gateway.telemetry import PRESETS
from paofed.words import counted, natural, table

EXAMPLE = "paofed gateway hall.toml --list"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("file", nargs="?", type=Path, metavar="GATEWAY.toml",
        help="file that says what to hear and publish; docs/gateway.md has its keys")  # fmt: skip
    add_method(parser)
    add("--list", action="store_true", help="show the sources that were seen and which take part")
    add("--json", action="store_true", help="with --list: print it as JSON")
    add("--example", choices=PRESETS, help="print such a file to begin with")


def run(args: Namespace) -> int:
    """Show what was asked for, or take part."""
    if args.example is not None:
        print(example(args.example), end="")
        return 0
    if args.file is None:
        raise InputError("expected GATEWAY.toml, or --example for one to begin with")
    admit_given(args)
    settings = GatewaySettings.load(args.file)
    if args.list:
        return _list(settings, as_json=args.json)
    from paofed.live.gateway.gateway import Gateway  # imported here: it needs paho-mqtt

    log = log_to_stderr("paofed.gateway")
    gateway = Gateway(settings, log)
    with _devices_are_quiet(), stopped_by_signals(gateway.stop):
        gateway.run()
    log.info("stopped in good order")
    return 0


@contextmanager
def _devices_are_quiet() -> Iterator[None]:
    """Silence the log of devices: there may be hundreds, and the gateway counts for each source."""
    log = logging.getLogger("paofed.device")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


def _list(settings: GatewaySettings, *, as_json: bool) -> int:
    """Show the sources on disk, as the gateway last wrote them."""
    from paofed.live.gateway.gateway import credential_of, in_words

    credential = credential_of(settings)
    known, passed_over = load(settings.state, credential)
    places = credential.devices or ()
    sources = Sources(places, settings.admit, known)
    names = sorted(known, key=natural)
    if as_json:
        said = {name: {**asdict(known[name]), "standing": sources.standing(name)} for name in names}
        print(json.dumps({"places": places, "sources": said, "passed_over": passed_over}))
        return 0
    taken = len({source.device for source in known.values()} & set(places))
    print(f"{counted(len(names), 'source')} seen; {taken} of {counted(len(places), 'place')} taken")
    rows = [
        [
            name,
            "" if source.device is None else str(source.device),
            sources.standing(name),
            f"{source.messages:,}",
            f"{source.samples:,}",
            f"{source.implausible:,}",
            f"{duration(max(time.time() - source.last, 0.0))} ago",
        ]
        for name, source in ((name, known[name]) for name in names)
    ]
    header = ["source", "device", "standing", "messages", "samples", "implausible", "last seen"]
    if rows:
        print(table(header, rows, left=(0, 2, 6)))
    for name in names:
        if known[name].why and sources.standing(name) == UNTOLD:
            print(f"nothing comes of {name}: {known[name].why}")
    print(f"passed over: {in_words(Counter(passed_over))}")
    return 0
