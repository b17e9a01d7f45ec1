"""A whole federation in one process: virtual time, a faulty network, power cuts, restarts.

Every choice comes from one seed, so that a run that fails can be repeated. An auditor looks on and
ends the run when a promise is broken (lab.rehearsal.auditor).
"""

from collections import Counter
from pathlib import Path

import numpy as np

from lab.rehearsal.auditor import Auditor, BrokenPromiseError
from lab.rehearsal.fate import START, Fate
from lab.rehearsal.fleets import picked
from lab.rehearsal.junk import JUNK, Junk
from lab.rehearsal.misfortunes import DEVICE, NOTICED, Unlucky
from lab.rehearsal.network import NETWORK, Network
from lab.rehearsal.operations import (
    CRASHES,
    DISK,
    OPERATIONS,
    Operations,
    PowerCut,
    cut_log_short,
    may_fail,
)
from lab.rehearsal.sensors import SENSORS, Sensor, sensors
from paofed.live.fleet.settings import Settings
from paofed.live.journal.host import Host
from paofed.live.journal.store import Store
from paofed.live.protocol.coordinator import TOLERANCE, Send
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.messages import MOST_REPEATS

POINTS = (
    *(*NETWORK, *CRASHES, *DISK, *DEVICE, *NOTICED),
    *(*SENSORS, *JUNK, *OPERATIONS),
)

_DEVICES, _SECONDS, _SNAPSHOT_EVERY = 5, 70, 7
_KEEP = 14.0  # seconds that the journal reaches back
_CALM = 24  # seconds at the end without faults: the latest message, then a clock found wrong
_RECENT = 3  # seconds: a device that merged a reply within these at the end was heard


def rehearse(seed: int, folder: Path, unlucky: type[Unlucky] = Unlucky) -> Counter[str]:
    """Run one federation through its faults; return how often each fault and point was hit.

    `unlucky` is the class of its devices.
    """
    run = _Rehearsal(seed, folder, unlucky)
    try:
        for n in range(_SECONDS):
            run.second(n)
        run.finish()
    finally:
        run.store.close()
    return run.fate.hits


def is_heard(edge: Edge, epoch: int, lately: int) -> bool:
    """Whether a device's last contact was answered, under an epoch.

    `lately` is a tick since which it must have merged a reply.
    """
    return edge.manifest.epoch == epoch and edge.unanswered == 0 and edge.merged >= lately


class _Rehearsal:
    """The federation and what happens to it."""

    def __init__(self, seed: int, folder: Path, unlucky: type[Unlucky]) -> None:
        self.fate = Fate(seed)
        self._unlucky = unlucky
        self.folder = folder
        self.operations = Operations(self.fate, _SECONDS - _CALM)
        self.manifest = picked(self.fate.random)
        self.store = Store.create(folder, self.manifest)
        Settings(name="rehearsal", security="none").save(folder)
        for k in range(_DEVICES):
            self.store.roster.add(f"device {k}")
        self.auditor = Auditor(self.manifest, self.fate.random)
        self.host: Host | None = self._boot()
        self.down_until = 0
        latest = self.manifest.max_age + 2  # two more, so that some messages are too late
        self.network = Network(self.fate, _DEVICES, latest)
        self.junk = Junk(self.fate, _DEVICES, self.auditor.has)
        measuring = sensors(self.fate, _DEVICES, _SECONDS - _CALM)
        self.devices = [self._device(k, measuring[k], latest) for k in range(_DEVICES)]

    def _device(self, k: int, sensor: Sensor, latest: int) -> Unlucky:
        return self._unlucky(
            self.fate,
            k,
            self.folder.with_name(f"device-{k}.npz"),
            sensor,
            latest=latest,
            retained=lambda: self.manifest,
            send=self._sent,
        )

    def second(self, n: int) -> None:
        """Devices act, the server hears, commits and answers, its tick closes."""
        self.fate.now, self.fate.calm = n, n >= _SECONDS - _CALM
        self._operate()
        if self.host is None and n >= self.down_until:
            self.host = self._boot()
        for k in self.fate.random.permutation(_DEVICES).tolist():
            self.devices[k].live()
        try:
            self._hear()
            if self.host is not None:
                self.host.flush()
            self._answer()
            if self.host is not None:
                self.host.advance(self.manifest.tick_at(self.fate.wall + 1))
                self._look_at(self.host)
        except PowerCut:
            if self.fate.random.random() < 0.3:
                cut_log_short(self.fate, self.folder, self.auditor.promised)
            self._stop()
        self._check_memory()

    def finish(self) -> None:
        """Check that all devices are heard after the calm, and the store is sound and small."""
        lately = self.manifest.tick_at(START + _SECONDS - _RECENT)
        epoch = self.store.epochs.manifest().epoch
        for k, device in enumerate(self.devices):
            if not is_heard(device.edge, epoch, lately):
                raise BrokenPromiseError(f"device {k} was not heard again after the faults ended")
        if not self.store.verify().agrees:
            raise BrokenPromiseError("replaying the journal does not give the snapshot")
        self._check_disk()

    # The server

    def _operate(self) -> None:
        """Do what is planned for now to the fleet, whose server is stopped meanwhile."""
        self.operations.back_up(self.folder, self.auditor)
        waiting = self.host is not None and bool(self.host.coordinator.waiting())
        if self.operations.is_due(waiting=waiting):
            self._stop()
            self.operations.perform(self.folder, self.auditor)

    def _stop(self) -> None:
        self.store.close()
        self.host, self.down_until = None, self.fate.now + int(self.fate.random.integers(1, 4))

    def _boot(self) -> Host:
        """Start the server from the disk: it must be as if nothing had happened."""
        self.store.close()
        self.store = Store.open(self.folder)
        host = Host(
            self.store,
            self._reply,
            snapshot_every=_SNAPSHOT_EVERY,
            keep=_KEEP,
            sync=self._sync,
        )
        self.manifest = host.coordinator.manifest  # as it is published
        if self.manifest.epoch != self.auditor.epoch:
            raise BrokenPromiseError(f"nobody asked for epoch {self.manifest.epoch}")
        host.coordinator.close(self.manifest.tick_at(self.fate.wall))
        self._look_at(host)
        return host

    def _look_at(self, host: Host) -> None:
        server = host.coordinator
        self.auditor.closed(server.tick, server.rule)
        self.fate.hits["set aside"] += bool(np.any(server.rule.arrays().get("model_aside", False)))

    def _sync(self, point: str) -> None:
        """Note what is on disk at this point of a write, and maybe let the power fail."""
        if point == "after commit" and self.host is not None:
            self.auditor.commit(self.host.group)
        may_fail(self.fate, point)

    def _sent(self, k: int, payload: bytes) -> None:
        self.auditor.sent(k, payload)
        self.junk.overhear(k, payload)
        self.network.travel(self.network.to_server, k, payload)

    def _hear(self) -> None:
        """Deliver the messages that are due; a server that is down hears nothing."""
        for k, payload in self.network.heard():
            if self.host is not None:
                self.host.receive(k, payload)
        if self.host is not None and self.fate.strikes(0.3):
            self.junk.bother(self.host)

    def _reply(self, send: Send) -> None:
        self.auditor.told(send.payload)
        self.network.travel(self.network.to_devices, send.device, send.payload)

    def _answer(self) -> None:
        """Deliver the messages that are due to devices; what they then believe safe must be so."""
        for k, payload in self.network.answered():
            device = self.devices[k]
            for tick in device.receive(payload):
                self.auditor.confirm(device.edge.manifest.epoch, k, tick)

    def _check_disk(self) -> None:
        """Check that the journal begins with a snapshot hardly older than it has to be."""
        snapshots, lines = self.store.snapshots.all(), self.store.lines.count()
        oldest, newest = snapshots[0], snapshots[-1]
        shortest = min(epoch.manifest.tick_seconds for epoch in self.store.epochs.all())
        # The snapshot before the oldest tick that is kept may be half as old again.
        reach = 1.5 * _KEEP / shortest + 2 * _SNAPSHOT_EVERY
        behind = _DEVICES * (_SNAPSHOT_EVERY + self.manifest.max_age + TOLERANCE + 1)
        if lines > newest.line - oldest.line + behind or newest.tick - oldest.tick > reach:
            raise BrokenPromiseError(f"the journal has grown to {lines} lines")

    def _check_memory(self) -> None:
        """Check that what is kept does not grow with time."""
        for device in self.devices:
            if len(device.edge.unconfirmed) > MOST_REPEATS + 1:
                raise BrokenPromiseError("a device keeps more updates than it may")
