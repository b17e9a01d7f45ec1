"""A whole federation in one process: virtual time, a faulty network, power cuts, restarts.

Every choice comes from one seed, so a run that fails can be run again. An auditor looks on and ends
the run when a promise is broken (paofed.live.trials.auditor).
"""

import heapq
import shutil
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from paofed.live.device.state import load_state, save_state
from paofed.live.journal.database import CONFIRMED, FILE, StoreError
from paofed.live.journal.host import Host
from paofed.live.journal.store import Store
from paofed.live.protocol.coordinator import MOST_HELLOS, TOLERANCE, Send
from paofed.live.protocol.edge import Clock, Edge
from paofed.live.protocol.manifest import SERVED, Manifest
from paofed.live.protocol.messages import (
    LARGEST,
    MOST_REPEATS,
    REPLY,
    Hello,
    Reply,
    Update,
    decode,
    encode,
)
from paofed.live.protocol.scaling import Scaling
from paofed.live.trials.auditor import Auditor, BrokenPromiseError

NETWORK = ("drop", "duplicate", "delay", "reorder", "partition")
CRASHES = (
    "before write",
    "before commit",
    "after commit",
    "inside confirmation",
    "after confirmation",
    "before reply",
    "after close",
    "inside snapshot",
    "before snapshot's commit",
    "after snapshot",
)
DISK = ("log cut short",)
DEVICE = (
    "power cut",
    "power cut while saving",
    "lost state",
    "lost clock",
    "clock ahead",
    "clock a little ahead",
    "contact again",
    "wild sample",
)
JUNK = (
    "garbage",
    "cut short",
    "flipped bits",
    "not finite",
    "too large",
    "replayed",
    "future",
    "too old",
    "unknown device",
    "wrong epoch",
    "wrong kind",
    "hello again",
)
POINTS = (*NETWORK, *CRASHES, *DISK, *DEVICE, *JUNK)

_DEVICES, _TICKS, _SNAPSHOT_EVERY = 5, 70, 7
_CALM = 24  # ticks at the end without faults: the latest message, then a clock found wrong
_RECENT = 3  # ticks: who merged a reply within these at the end was heard
_UNKNOWN = 999
_WILD = 1e30  # a measurement that no model's numbers can follow


class _PowerCut(BaseException):
    """Ends the server wherever it stands."""


def rehearse(seed: int, folder: Path) -> Counter[str]:
    """Run one federation through its faults; returns how often each fault and point was hit."""
    run = _Rehearsal(seed, folder)
    try:
        for n in range(_TICKS):
            run.tick(n)
        run.finish()
    finally:
        run.store.close()
    return run.hits


class _Rehearsal:
    """The federation and what happens to it."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.random = np.random.default_rng(seed)
        self.hits: Counter[str] = Counter()
        self.folder = folder
        self.manifest = _manifest(self.random)
        self.store = Store.create(folder, self.manifest)
        for k in range(_DEVICES):
            self.store.add(f"device {k}")
        self.auditor = Auditor(self.manifest, self.random)
        self.promised = 0  # lines that were on disk when the last reply left
        self.now = 0
        self.calm = False
        self.host: Host | None = self._boot()
        self.down_until = 0
        self.edges = [self._edge(k) for k in range(_DEVICES)]
        self.cut_off = np.zeros(_DEVICES, dtype=np.int64)  # partitioned until this tick
        self.to_server: list[tuple[int, int, int, int, bytes]] = []
        self.to_devices: list[tuple[int, int, int, int, bytes]] = []
        self.sequence = 0
        self.last_heard: dict[int, int] = {}
        self.heard: list[tuple[int, bytes]] = []  # what somebody might send again

    # One tick

    def tick(self, n: int) -> None:
        """Devices act, the server hears, commits and answers, the tick closes."""
        self.now, self.calm = n, n >= _TICKS - _CALM
        if self.host is None and n >= self.down_until:
            self.host = self._boot()
        for k in self.random.permutation(_DEVICES).tolist():
            self._device(k)
        try:
            self._hear()
            if self.host is not None:
                self.host.flush()
            self._answer()
            if self.host is not None:
                self.host.advance(n + 1)
                self.auditor.closed(n + 1, self.host.coordinator.rule)
        except _PowerCut:
            if self.random.random() < 0.3:
                self._cut_log_short()
            self.store.close()
            self.host, self.down_until = None, n + 1 + int(self.random.integers(3))
        self._check_memory()

    def finish(self) -> None:
        """After the calm, everybody must have been heard; the store is consistent, and small."""
        for k, edge in enumerate(self.edges):
            if edge.unanswered or edge.merged < _TICKS - _RECENT:
                raise BrokenPromiseError(f"device {k} was not heard again after the faults ended")
        if not self.store.verify().agrees:
            raise BrokenPromiseError("replaying the journal does not give the snapshot")
        span = 2 * _SNAPSHOT_EVERY + self.manifest.max_age + TOLERANCE + 1
        if self.store.lines() > _DEVICES * span:
            raise BrokenPromiseError(f"the journal has grown to {self.store.lines()} lines")

    # The server

    def _boot(self) -> Host:
        """Start from the disk: it must be as if nothing had happened."""
        self.store.close()
        self.store = Store.open(self.folder)
        host = Host(self.store, self._reply, snapshot_every=_SNAPSHOT_EVERY, sync=self._sync)
        host.coordinator.close(self.now)
        self.auditor.closed(self.now, host.coordinator.rule)
        return host

    def _sync(self, point: str) -> None:
        """A write stands here: note what is on disk, and maybe let the power fail."""
        if point == "after commit" and self.host is not None:
            self.auditor.commit(self.host.group)
        if not self.calm and self.random.random() < (0.1 if "snapshot" in point else 0.02):
            self.hits[point] += 1
            raise _PowerCut

    def _hear(self) -> None:
        """Deliver what is due; a server that is down hears nothing."""
        for _, _, sequence, k, payload in _due(self.to_server, self.now):
            if sequence < self.last_heard.get(k, -1):
                self.hits["reorder"] += 1
            self.last_heard[k] = max(sequence, self.last_heard.get(k, -1))
            if self.host is not None:
                self.host.receive(k, payload)
        if self.host is not None and not self.calm and self.random.random() < 0.3:
            self._junk(self.host)

    def _junk(self, host: Host) -> None:
        """Refused input changes nothing."""
        kind = JUNK[int(self.random.integers(len(JUNK)))]
        for device, payload in self._junk_of(kind):
            before, lines = host.coordinator.digest(), len(host.group)
            host.receive(device, payload)
            if host.coordinator.digest() != before or len(host.group) != lines:
                raise BrokenPromiseError(f"input that must be refused ({kind}) changed the state")
            self.hits[kind] += 1

    def _junk_of(self, kind: str) -> list[tuple[int, bytes]]:
        random, manifest = self.random, self.manifest
        device = int(random.integers(_DEVICES))
        values = random.standard_normal(manifest.shared).astype("<f4")
        update = Update(manifest.epoch, self.now, values)
        good = encode(update)
        hello = encode(Hello(manifest.epoch))
        past = self.now - manifest.max_age - 1
        match kind:
            case "garbage":
                return [
                    (device, bytes([random.integers(16)]) + random.bytes(int(random.integers(40))))
                ]
            case "cut short":
                return [(device, good[: random.integers(len(good))])]
            case "flipped bits":
                return [(device, bytes([good[0] ^ (16 << int(random.integers(4)))]) + good[1:])]
            case "not finite":
                return [(device, good[:-4] + np.float32(np.nan).tobytes())]
            case "too large":
                return [(device, good[:-4] + np.float32(2 * LARGEST).tobytes())]
            case "replayed":
                known = [heard for heard in self.heard if self._is_known(*heard)]
                return [known[int(random.integers(len(known)))]] if known else []
            case "future":
                ahead = self.now + TOLERANCE + 1 + int(random.integers(1000))
                return [(device, encode(replace(update, tick=ahead)))]
            case "too old":
                return [(device, encode(replace(update, tick=past)))] if past >= 0 else []
            case "unknown device":
                return [(_UNKNOWN, good)]
            case "wrong epoch":
                return [(device, bytes([good[0], good[1] ^ 1]) + good[2:])]
            case "wrong kind":
                return [(device, encode(Reply(manifest.epoch, self.now, 0, values)))]
            case _:
                return [(device, hello)] * (MOST_HELLOS + 1)

    def _is_known(self, device: int, payload: bytes) -> bool:
        """Whether a message only brings what is on disk: to repeat it changes nothing."""
        manifest = self.manifest
        message = decode(payload, shared=manifest.shared, features=manifest.features)
        return isinstance(message, Update) and all(
            self.auditor.has(device, message.tick - earlier)
            for earlier in (0, *(repeat.earlier for repeat in message.repeats))
        )

    def _cut_log_short(self) -> None:
        """Where the end of SQLite's log is lost with the power, no promise may be lost silently."""
        place = self.folder / "cut-short"
        place.mkdir()
        for name in (FILE, f"{FILE}-wal", CONFIRMED):
            shutil.copy(self.folder / name, place)
        with (place / f"{FILE}-wal").open("r+b") as log:
            log.truncate(int(self.random.integers(1 + log.seek(0, 2))))
        try:
            with closing(Store.open(place)) as store:
                kept = store.recover().counts["accepted"]
        except StoreError:
            self.hits["log cut short"] += 1
        else:
            if kept < self.promised:
                raise BrokenPromiseError(f"{self.promised - kept} lines are lost, yet confirmed")
        shutil.rmtree(place)

    def _reply(self, send: Send) -> None:
        if send.payload[0] & 15 == REPLY:
            self.promised = self.auditor.lines
        self._travel(self.to_devices, send.device, send.payload)

    def _answer(self) -> None:
        """Deliver what is due to the devices; what they then believe safe must be so."""
        for _, _, _, k, payload in _due(self.to_devices, self.now):
            for tick in self.edges[k].receive(payload, self._clock()):
                self.auditor.confirm(k, tick)

    # The devices

    def _edge(self, k: int) -> Edge:
        # No message is later than by two ticks beyond the age limit: see `_travel`.
        return Edge(self.manifest, k, patience=1 + k % 2, doubt=self.manifest.max_age + 3)

    def _device(self, k: int) -> None:
        random = self.random
        if not self.calm:
            self._misfortune(k)
        edge = self.edges[k]
        if random.random() < 0.8:
            x = random.standard_normal(len(self.manifest.inputs))
            edge.learn(x, float(np.sin(x).sum() + 0.1 * random.standard_normal()))
        if self.calm or random.random() < 0.5:
            self._contact(k)
        if random.random() < 0.3:
            save_state(self._state(k), edge)

    def _contact(self, k: int) -> None:
        payload = self.edges[k].contact(self._clock())
        if payload is not None:
            self.heard = [*self.heard[-50:], (k, payload)]
            self._travel(self.to_server, k, payload)

    def _misfortune(self, k: int) -> None:
        if self.random.random() >= 0.05:
            return
        kind = DEVICE[int(self.random.integers(len(DEVICE)))]
        self.hits[kind] += 1
        edge = self.edges[k]
        if kind.startswith("clock"):
            ahead = 30 if kind == "clock ahead" else int(self.random.integers(1, TOLERANCE + 1))
            if edge.clock is not None:
                edge.clock = Clock(edge.clock.tick + ahead, edge.clock.seconds)
            return
        if kind == "contact again":  # in one tick, whether or not there is anything new
            for _ in range(2):
                self._contact(k)
            return
        if kind == "lost clock":
            edge.clock = None
            return
        if kind == "wild sample":
            edge.learn(np.zeros(len(self.manifest.inputs)), _WILD)
            return
        if kind == "power cut while saving":
            # What a write that was cut off leaves behind: a file under another name.
            self._state(k).with_name(f".{self._state(k).name}.cut").write_bytes(b"half")
        if kind == "lost state":
            self._state(k).unlink(missing_ok=True)
        self.edges[k] = self._edge(k)
        load_state(self._state(k), self.edges[k])

    def _state(self, k: int) -> Path:
        return self.folder / f"device-{k}.npz"

    def _clock(self) -> float:
        return self.now * self.manifest.tick_seconds

    # The network

    def _travel(
        self, queue: list[tuple[int, int, int, int, bytes]], k: int, payload: bytes
    ) -> None:
        random = self.random
        if self.calm:
            self._post(queue, k, payload, 0)
            return
        if self.now < self.cut_off[k]:
            self.hits["partition"] += 1
            return
        if random.random() < 0.02:
            self.cut_off[k] = self.now + 1 + int(random.integers(8))
        if random.random() < 0.1:
            self.hits["drop"] += 1
            return
        copies = 2 if random.random() < 0.1 else 1
        self.hits["duplicate"] += copies - 1
        for _ in range(copies):
            delay = int(random.integers(1, self.manifest.max_age + 3))
            late = random.random() < 0.2
            self.hits["delay"] += late
            self._post(queue, k, payload, delay if late else 0)

    def _post(
        self, queue: list[tuple[int, int, int, int, bytes]], k: int, payload: bytes, delay: int
    ) -> None:
        self.sequence += 1
        shuffle = int(self.random.integers(1000))
        heapq.heappush(queue, (self.now + delay, shuffle, self.sequence, k, payload))

    def _check_memory(self) -> None:
        """What is kept must not grow with time."""
        for edge in self.edges:
            if len(edge.unconfirmed) > MOST_REPEATS + 1:
                raise BrokenPromiseError("a device keeps more updates than it may")


def _due(
    queue: list[tuple[int, int, int, int, bytes]], now: int
) -> list[tuple[int, int, int, int, bytes]]:
    """Take what is due from a queue."""
    taken = []
    while queue and queue[0][0] <= now:
        taken.append(heapq.heappop(queue))
    return taken


def _manifest(random: np.random.Generator) -> Manifest:
    """A small fleet with the algorithm that the seed picks."""
    name = SERVED[int(random.integers(len(SERVED)))]
    features = int(random.integers(3, 9))
    return Manifest(
        algorithm=name,
        features=features,
        shared=features if name == "online-fedsgd" else int(random.integers(1, features + 1)),
        kernel_width=1.0,
        seed=int(random.integers(2**32)),
        step_size=0.5,
        max_age=int(random.integers(1, 7)),
        tick_seconds=1.0,
        start=1.0,
        epoch=int(random.integers(256)),
        inputs=(Scaling(name="a"), Scaling(name="b", offset=0.5, scale=2.0)),
        target=Scaling(name="y"),
    )
