"""A fleet under load: contacts per second beside the bare broker, latency, memory, reconnection."""

import math
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from lab.benchmarks.crowd import Crowd, LoadOutcome
from lab.benchmarks.trial import served, trial_fleet, trial_manifest
from paofed.demo.processes import LocalBroker, kill, start
from paofed.errors import InputError, PaofedError
from paofed.live.fleet.folder import Fleet
from paofed.live.protocol.coordinator import MOST_PER_TICK

_TICK = 1.0  # seconds
_REST = 200  # files that the process needs beside its connections
_STEPS = 20  # how often memory is measured during a soak, at least
_PATIENCE = 120.0  # seconds without any answer after which no answer is expected
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
            store.add_all(f"device {k}" for k in range(devices))
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
            _until_answered(crowd, seconds=0.1, window=5)
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
        answered = crowd.load(contacts=part, seconds=_PATIENCE, rate=most).answered
        if not answered:
            raise _silence()
        done += answered
        found = Memory(done, _megabytes(server), _megabytes(broker.pid))
        report(f"soak: {done:,} contacts, server {found.server:.0f} MB")
        yield found


def _until_answered(
    crowd: Crowd, *, seconds: float, window: int = 200, rate: float = math.inf
) -> None:
    """Send contacts for some seconds, again and again, until one is answered."""
    end = time.monotonic() + _PATIENCE
    while not crowd.load(seconds=seconds, window=window, rate=rate).answered:
        if time.monotonic() >= end:
            raise _silence()


def _silence() -> PaofedError:
    return PaofedError(
        f"no device was answered for {_PATIENCE:g} s: the server or the broker has ended, or this "
        f"machine is too slow for so many devices (--devices)"
    )


@contextmanager
def crowded(fleet: Fleet, devices: int) -> Iterator[Crowd]:
    """Yield a Crowd of so many devices of a fleet, connected and answered."""
    with fleet.store() as store:
        manifest = store.manifest()
    crowd = Crowd(fleet.settings.name, fleet.settings.port, manifest, devices)
    try:
        crowd.connect()
        if crowd.up < devices:
            raise InputError(f"only {crowd.up:,} of {devices:,} devices could connect")
        # All devices are there, and everything is warm.
        _until_answered(crowd, seconds=2.0, rate=devices)
        yield crowd
    finally:
        crowd.close()


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
