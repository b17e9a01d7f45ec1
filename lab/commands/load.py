"""Put a broker and a server on this machine under the load of thousands of devices.

Prints contacts per second beside those of the bare broker with an echo in the server's place,
latency, how long it takes until everybody is back after the broker was killed, and with --soak the
memory over many contacts. Machines are noisy: read the ratio, which is taken inside one run.
"""

import json
import math
import resource
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from lab.benchmarks.crowd import PATIENCE, Crowd, LoadOutcome, crowded, silence, until_answered
from lab.benchmarks.trial import served, trial_fleet, trial_manifest
from paofed.cli.shared.progress import say
from paofed.demo.processes import LocalBroker, kill, start
from paofed.errors import InputError
from paofed.live.fleet.folder import Fleet
from paofed.live.protocol.coordinator import MOST_PER_TICK
from paofed.words import table

EXAMPLE = "python -m lab load --soak 1000000"
_SHARES = (50, 90, 99, 99.9)
_TICK = 1.0  # seconds
_REST = 200  # files that the process needs beside its connections
_STEPS = 20  # how often memory is measured during a soak, at least
Report = Callable[[str], None]


class Memory(NamedTuple):
    """Megabytes of resident memory after so many contacts."""

    contacts: int
    server: float
    broker: float


class Load(NamedTuple):
    """What was measured of a fleet under load."""

    devices: int
    bare: LoadOutcome  # against a broker and an echo
    flat_out: LoadOutcome  # against a broker and the server, as fast as possible
    steady: LoadOutcome  # against a broker and the server, at a fixed rate
    # Seconds from the broker's return until all devices are connected and served.
    reconnected: float
    after: LoadOutcome  # against the same after that
    memory: list[Memory]

    @property
    def ratio(self) -> float:
        """The contact rate with the server, as a share of the rate of the bare broker."""
        return self.flat_out.rate / self.bare.rate


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("--devices", type=int, default=5000, metavar="N",
        help="number of devices that are connected at the same time (default: "
        "%(default)s)")  # fmt: skip
    add("--seconds", type=float, default=20.0, metavar="S",
        help="length of each load (default: %(default)g)")  # fmt: skip
    add("--rate", type=float, default=3000.0, metavar="R",
        help="contacts per second of the steady load (default: %(default)g)")  # fmt: skip
    add("--soak", type=int, default=0, metavar="N",
        help="number of contacts over which memory is watched in the end (default: "
        "none)")  # fmt: skip
    add("--json", action="store_true", help="print the numbers as JSON")


def run(args: Namespace) -> int:
    """Measure, then print tables."""
    right = args.devices >= 1 and 0 < args.seconds < math.inf and args.rate > 0 and args.soak >= 0
    if not right:
        raise InputError("expected --devices, --seconds and --rate above 0, and --soak from 0 on")
    found = measure(say, devices=args.devices, seconds=args.seconds, rate=args.rate, soak=args.soak)
    print(json.dumps(_numbers(found)) if args.json else _text(found))
    return 0


def _rows(found: Load) -> dict[str, LoadOutcome]:
    return {
        "bare broker, flat out": found.bare,
        "server, flat out": found.flat_out,
        "server, steady": found.steady,
        "server, after the broker's return": found.after,
    }


def _numbers(found: Load) -> dict[str, object]:
    loads = {name: contacts.as_json(_SHARES) for name, contacts in _rows(found).items()}
    return {
        "devices": found.devices,
        "loads": loads,
        "ratio": found.ratio,
        "reconnected_seconds": found.reconnected,
        "memory": [m._asdict() for m in found.memory],
    }


def _text(found: Load) -> str:
    header = [f"{found.devices:,} devices", "contacts/s", *(f"{s} %, ms" for s in _SHARES), "lost"]
    rows = [
        [
            name,
            f"{contacts.rate:,.0f}",
            *(f"{contacts.percentile(share):.0f}" for share in _SHARES),
            f"{contacts.lost:,}",
        ]
        for name, contacts in _rows(found).items()
    ]
    parts = [
        table(header, rows),
        f"the server answers {found.ratio:.2f} times as fast as an echo behind the bare broker",
        f"all were connected and served again {found.reconnected:.1f} s after the broker's return",
    ]
    if found.memory:
        memory = [[f"{m.contacts:,}", f"{m.server:.1f}", f"{m.broker:.1f}"] for m in found.memory]
        parts.append(table(["contacts", "server, MB", "broker, MB"], memory, left=()))
    return "\n\n".join(parts)


def measure(
    report: Report,
    *,
    devices: int = 5000,
    seconds: float = 20.0,
    window: int = 250,
    rate: float = 3000.0,
    soak: int = 0,
) -> Load:
    """Put a broker and a server on this machine under load, and measure."""
    _allow_files(devices + _REST)
    # The server would refuse more contacts per device as a flood.
    most = devices * MOST_PER_TICK / _TICK / 2
    manifest = trial_manifest(4, _TICK)
    with trial_fleet(manifest, "none") as fleet:
        with fleet.store() as store:
            store.roster.add_all(f"device {k}" for k in range(devices))
        report(f"the bare broker, {devices:,} devices")
        with LocalBroker(fleet), _echo(fleet), crowded(fleet, devices) as crowd:
            bare = crowd.load(seconds=seconds, window=window, rate=most)
        report(f"the server, {devices:,} devices")
        with served(fleet) as (broker, server), crowded(fleet, devices) as crowd:
            flat_out = crowd.load(seconds=seconds, window=window, rate=most)
            report(f"the server at {rate:,.0f} contacts a second")
            steady = crowd.load(seconds=seconds, window=20 * window, rate=min(rate, most))
            report("the broker is killed and comes back")
            broker.kill()
            crowd.lose()
            broker.start()
            begin = time.monotonic()
            crowd.connect()
            # Until the server is connected again, too.
            until_answered(crowd, seconds=0.1, window=5)
            reconnected = time.monotonic() - begin
            after = crowd.load(seconds=seconds / 2, window=window, rate=most)
            memory = list(_soak(crowd, soak, most, broker, server, report)) if soak else []
    return Load(devices, bare, flat_out, steady, reconnected, after, memory)


def _soak(
    crowd: Crowd, contacts: int, most: float, broker: LocalBroker, server: int, report: Report
) -> Iterator[Memory]:
    done = 0
    yield Memory(done, _megabytes(server), _megabytes(broker.pid))
    while done < contacts:
        part = min(-(-contacts // _STEPS), contacts - done)
        answered = crowd.load(contacts=part, seconds=PATIENCE, rate=most).answered
        if not answered:
            raise silence()
        done += answered
        found = Memory(done, _megabytes(server), _megabytes(broker.pid))
        report(f"soak: {done:,} contacts, server {found.server:.0f} MB")
        yield found


@contextmanager
def _echo(fleet: Fleet) -> Iterator[None]:
    code = (
        "import sys; from lab.benchmarks.crowd import echo; "
        "echo(sys.argv[1], int(sys.argv[2]), bytes(23))"
    )
    words = [sys.executable, "-c", code, fleet.settings.name, str(fleet.settings.port)]
    process = start(words)
    try:
        yield
    finally:
        kill(process)


def _allow_files(count: int) -> None:
    """Allow so many open files, here and in the programs that are started from here."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        if hard != resource.RLIM_INFINITY and hard < count:
            raise InputError(f"{count:,} open files are needed, {hard:,} are allowed: ulimit -Hn")
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


def _megabytes(process: int) -> float:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0
