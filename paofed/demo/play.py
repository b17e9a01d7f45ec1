"""The demonstration: broker, server and devices as processes, and what happens to them."""

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from paofed.demo.processes import (
    LocalBroker,
    Process,
    end,
    find_broker,
    free_port,
    kill,
    serve,
    start,
)
from paofed.demo.relay import Relay
from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.mosquitto import LOCAL
from paofed.live.fleet.settings import Settings
from paofed.live.network.credential import Credential
from paofed.live.protocol.manifest import Manifest
from paofed.live.server.status import Status, asked
from paofed.world.trace import Trace

_BETWEEN = (1.0, 4.0)  # seconds from one failure to the next, at least and at most
_CALM = 8.0  # seconds at the end without any failure
_DOWN = {"kill device": (0.5, 3.0), "cut link": (1.0, 4.0), "kill server": (0.2, 1.5)}
_LIKELY = {"kill device": 5, "cut link": 5, "kill server": 1, "kill broker": 1}


class Scene(NamedTuple):
    """The state of the demonstration at a moment, as people see it."""

    seconds_left: float
    first: int  # the server's tick at which the trace begins
    status: Status | None  # the server's status, if the server answers
    away: dict[int, str]  # by device that is away: killed, or cut off
    misfortunes: Counter[str]
    begun: bool  # whether the trace has begun


class Play:
    """A fleet that runs in a folder."""

    def __init__(
        self, folder: Path, manifest: Manifest, trace: Trace, first: int, seed: int
    ) -> None:
        """Prepare a fleet.

        The trace begins at the server's tick `first`; until then, server and devices get ready.
        """
        self.folder = folder
        self.first = first
        self.trace = folder.parent / "trace.npz"
        trace.save(self.trace)
        program = find_broker()
        secure = program is not None and Path(program).name == "mosquitto"
        settings = Settings(
            name="f",
            host=LOCAL,
            port=free_port(),
            security="certificate" if secure else "none",
            http=f"{LOCAL}:{free_port()}",
            # No snapshots: the curve is made from the journal, which must keep everything.
            snapshot_every=2**30,
        )
        self.fleet = Fleet.create(folder, settings, manifest)
        self.files = list(self.fleet.add(f"device {k}" for k in range(trace.clients)))
        self.broker = LocalBroker(self.fleet, program)
        self.misfortunes: Counter[str] = Counter()
        self.away: dict[int, str] = {}
        self.events: list[tuple[int, str]] = []  # (tick, what failed)
        self.bytes = [(0, 0)]  # (tick, bytes of MQTT until then), as the server counts them
        self._random = random.Random(seed)  # noqa: S311 (no secret)
        self._later: list[tuple[float, Callable[[], None]]] = []
        self._start_time, self._tick_seconds = manifest.start, manifest.tick_seconds
        self._begins = manifest.start + first * manifest.tick_seconds
        self._ends = self._begins + trace.ticks * manifest.tick_seconds
        self._processes: dict[int, Process] = {}
        self._server: Process | None = None
        self._before = self._counted = 0

    @contextmanager
    def running(self) -> Iterator["Play"]:
        """Start everything, and stop it when the block ends."""
        with ExitStack() as stack:
            stack.enter_context(self.broker)
            self._relay = stack.enter_context(Relay(self.fleet.settings.port, len(self.files)))
            stack.callback(self._stop)
            self._lead_over_links()
            self._serve()
            for k in range(len(self.files)):
                self._start(k)
            yield self

    def scenes(self, *, calm: bool) -> Iterator[Scene]:
        """Yield a moment every half second until the last tick is over.

        Cause failures in between.
        """
        due = self._begins + self._random.uniform(*_BETWEEN)
        while (left := self._ends - time.time()) > 0:
            if not calm and left > _CALM and time.time() >= due:
                self._misfortune()
                due = time.time() + self._random.uniform(*_BETWEEN)
            self._mend()
            status = asked(self.fleet.settings, 1.0, folder=self.folder)
            self._count(status)
            begun = time.time() >= self._begins
            yield Scene(left, self.first, status, dict(self.away), self.misfortunes.copy(), begun)
            time.sleep(min(0.5, max(left, 0.0)))
        self._mend(everything=True)

    def _count(self, status: Status | None) -> None:
        """Count bytes on across restarts: a server that was killed begins from 0."""
        if status is None or status.service is None:
            return
        total = status.service.bytes_received + status.service.bytes_sent
        if total < self._counted:
            self._before += self._counted
        self._counted = total
        self.bytes.append((status.tick, self._before + total))

    def _lead_over_links(self) -> None:
        """Give every device the address of its own link."""
        for file, link in zip(self.files, self._relay.links, strict=True):
            replace(Credential.load(file), port=link.port).save(file)

    # Failures

    def _misfortune(self) -> None:
        kind = self._random.choices(list(_LIKELY), list(_LIKELY.values()))[0]
        self.misfortunes[kind] += 1
        self.events.append((round((time.time() - self._start_time) / self._tick_seconds), kind))
        if kind == "kill broker":
            self.broker.kill()
            self.broker.start()
        elif kind == "kill server":
            if self._server is not None:
                kill(self._server)
                self._server = None
                self._in_a_while(kind, self._serve)
        else:
            here = [k for k in range(len(self.files)) if k not in self.away]
            if here:
                self._trouble(kind, self._random.choice(here))

    def _trouble(self, kind: str, k: int) -> None:
        if kind == "kill device":
            kill(self._processes[k])
            self.away[k] = "killed"
            self._in_a_while(kind, lambda: self._start(k))
        else:
            self._relay.cut(k)
            self.away[k] = "cut off"
            self._in_a_while(kind, lambda: self._rejoin(k))

    def _in_a_while(self, kind: str, what: Callable[[], None]) -> None:
        self._later.append((time.time() + self._random.uniform(*_DOWN[kind]), what))

    def _mend(self, *, everything: bool = False) -> None:
        now = time.time()
        due = [what for when, what in self._later if everything or when <= now]
        self._later = [(when, what) for when, what in self._later if not everything and when > now]
        for what in due:
            what()

    # Processes

    def _serve(self) -> None:
        self._server = serve(self.fleet, self.folder.parent / "server.log")

    def _start(self, k: int) -> None:
        state = self.folder.parent / f"device-{k}.npz"
        words = [str(self.files[k]), str(self.trace), str(state), str(self.first)]
        log = self.folder.parent / f"device-{k}.log"
        self._processes[k] = start([sys.executable, "-m", "paofed.demo.device", *words], log)
        self.away.pop(k, None)

    def _rejoin(self, k: int) -> None:
        self._relay.mend(k)
        self.away.pop(k, None)

    def _stop(self) -> None:
        """Stop devices first, then the server, which writes its last snapshot."""
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            kill(process)
        if self._server is not None:
            end(self._server)
