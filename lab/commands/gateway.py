"""Put a gateway on this machine under the load of many sources, one reading a second of each.

Prints how much of a core the gateway takes, how much memory for each source, and what became of the
readings.
"""

import json
import math
import os
import random
import sys
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from lab.benchmarks.trial import served, trial_fleet, trial_manifest
from paofed.cli.shared.progress import say
from paofed.demo.processes import end, kill, start
from paofed.errors import InputError, PaofedError
from paofed.files import write_text
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.mosquitto import LOCAL
from paofed.live.gateway.gateway import in_words
from paofed.live.gateway.login import TelemetryLogin
from paofed.live.gateway.sources import FILE
from paofed.live.network.mqtt import Mqtt
from paofed.words import counted, table

EXAMPLE = "python -m lab gateway --sources 500"
Report = Callable[[str], None]
_TICK = 1.0  # seconds: every source also has a contact once a second
# A process that takes less than this, in seconds of processor time per second, is idle.
_IDLE = 0.15
_BEGIN = 4  # seconds until all sources take part, and before it until the gateway is at rest
_PATIENCE = 60.0  # seconds that the gateway may take to connect
_SETTINGS = """\
file = "{file}"
state = "state"
admit = ["*"]
save_every = 60
[telemetry]
host = "{host}"
port = {port}
topic = "bench/{{source}}"
[inputs]
{inputs}
[target]
{target} = "{target}"
[publish]
topic = "bench-told/{{source}}"
"""


class GatewayLoad(NamedTuple):
    """What was measured of a gateway under load."""

    sources: int
    published: int  # readings, each with inputs and target
    heard: int
    learned: int
    passed_over: dict[str, int]  # by reason: readings that were not learned
    # The share of one core that the gateway takes with one reading a second of every source.
    core: float
    bytes_per_source: float  # bytes of memory for each source
    megabytes: float  # memory of the whole process


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add(
        "--sources",
        type=int,
        default=500,
        metavar="N",
        help="number of sources (default: %(default)s)",
    )
    add(
        "--seconds",
        type=float,
        default=20.0,
        metavar="S",
        help="length of the load (default: %(default)g)",
    )
    add("--json", action="store_true", help="print the numbers as JSON")


def run(args: Namespace) -> int:
    """Measure, then print."""
    if args.sources < 1 or not 1 <= args.seconds < math.inf:
        raise InputError("expected --sources of at least 1, and --seconds of at least 1")
    found = measure(say, sources=args.sources, seconds=args.seconds)
    print(json.dumps(found._asdict()) if args.json else _text(found))
    return 0


def _text(found: GatewayLoad) -> str:
    rows = [
        ["of one core, at one reading a second of each", f"{found.core:.0%}"],
        ["memory per source", f"{found.bytes_per_source / 1e3:.0f} kB"],
        ["memory in all", f"{found.megabytes:.0f} MB"],
        ["readings published", f"{found.published:,}"],
        ["heard", f"{found.heard:,}"],
        ["learned from", f"{found.learned:,}"],
    ]
    text = table([f"gateway, {found.sources:,} sources", ""], rows)
    return f"{text}\npassed over: {in_words(Counter(found.passed_over))}"


def measure(report: Report, *, sources: int = 500, seconds: float = 20.0) -> GatewayLoad:
    """Publish one reading a second of every source, for some seconds, and measure the gateway."""
    with trial_fleet(trial_manifest(4, _TICK), "none") as fleet, served(fleet):
        place = _prepare(fleet, sources)
        words, log = ["-m", "paofed", "gateway", str(place / "gateway.toml")], place / "gateway.log"
        gateway = start([sys.executable, *words], log)
        try:
            _until_connected(log)
            time.sleep(_BEGIN)
            empty = _resident(gateway.pid)
            report(f"{counted(sources, 'source')}, one reading a second of each")
            code = "import sys; from lab.commands.gateway import publish; publish(*sys.argv[1:])"
            about = map(str, (fleet.settings.port, sources, _BEGIN + int(seconds)))
            before = _processor(gateway.pid)
            start([sys.executable, "-c", code, *about]).wait()
            _until_idle(gateway.pid)
            spent, full = _processor(gateway.pid) - before, _resident(gateway.pid)
            end(gateway)
        finally:
            kill(gateway)
        found = json.loads((place / "state" / FILE).read_text())
    said = found["sources"].values()
    heard = sum(source["messages"] for source in said)
    return GatewayLoad(
        sources=sources,
        published=sources * (_BEGIN + int(seconds)),
        heard=heard,
        learned=sum(source["samples"] for source in said),
        passed_over=found["passed_over"],
        core=sources * spent / max(heard, 1),
        bytes_per_source=(full - empty) / sources,
        megabytes=full / 1e6,
    )


def _prepare(fleet: Fleet, sources: int) -> Path:
    """Write the gateway's settings and return their folder."""
    with fleet.store() as store:
        manifest = store.epochs.manifest()
    place = fleet.folder.parent
    text = _SETTINGS.format(
        file=fleet.add_gateway("bench", sources),
        host=LOCAL,
        port=fleet.settings.port,
        inputs="\n".join(f'{number.name} = "{number.name}"' for number in manifest.inputs),
        target=manifest.target.name,
    )
    write_text(place / "gateway.toml", text)
    return place


def publish(port: str, sources: str, rounds: str) -> None:
    """Publish readings of `sources` sources, one a second each, spread evenly over the second."""
    chance, count = random.Random(0), int(sources)  # noqa: S311 (no secret)
    link = Mqtt().connect(TelemetryLogin(host=LOCAL, port=int(port)), ["none"], lambda *_: None)
    link.open()
    link.up.wait()
    begun = time.monotonic()
    for number in range(count * int(rounds)):
        time.sleep(max(begun + number / count - time.monotonic(), 0.0))
        values = {name: chance.gauss(0.0, 1.0) for name in "abcd"}
        values["y"] = sum(values.values()) / 4
        link.send(f"bench/{number % count}", json.dumps(values).encode())
    time.sleep(1.0)
    link.close()


def _until_connected(log: Path) -> None:
    """Wait until the gateway is connected to both brokers: what comes before that is lost."""
    ends = time.monotonic() + _PATIENCE
    while log.read_text(encoding="utf-8").count("connected to the ") < 2:
        if time.monotonic() > ends:
            raise PaofedError(f"the gateway did not connect in {_PATIENCE:g} s: try again")
        time.sleep(0.1)


def _until_idle(process: int) -> None:
    """Wait until a process has done all its work."""
    busy = True
    while busy:
        before = _processor(process)
        time.sleep(1.0)
        busy = _processor(process) - before > _IDLE


def _processor(process: int) -> float:
    """Return the seconds of processor time that a process has taken."""
    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _resident(process: int) -> int:
    """Return the bytes of memory that a process has."""
    pages = Path(f"/proc/{process}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
