"""A device of a rehearsal, and what befalls it: power cuts, lost files, wrong clocks, bad data."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.rehearsal.auditor import BrokenPromiseError
from lab.rehearsal.fate import Fate
from lab.rehearsal.sensors import Sensor
from paofed.core.arrays import FloatArray
from paofed.live.device.state import load_state, save_state, saved_manifest
from paofed.live.protocol.coordinator import TOLERANCE
from paofed.live.protocol.edge import Clock, Edge
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.messages import HEADER, MODEL, NO_UPDATE, READ, REPLY, UPDATE, VERSION

DEVICE = (
    "power cut",
    "power cut while saving",
    "lost state",
    "lost clock",
    "clock ahead",
    "clock a little ahead",
    "contact again",
    "wild sample",
    "off for long",
)
NOTICED = (
    "implausible sample",
    "set aside",
    "off during two changes",
    "read",
    "update just after a read",
    "answer to a read while updates wait",
)
_FAR_AHEAD = 30  # ticks
_LONGEST_OFF = 25  # seconds
_WILD = 1e30  # a measurement beyond all numbers of a model
_FEW = 0.1  # the share of its samples that have a target, of a device that is short of targets


class Unlucky:
    """A device that learns, contacts its server, saves its state, and is hit by misfortunes."""

    def __init__(
        self,
        fate: Fate,
        device: int,
        file: Path,
        sensor: Sensor,
        *,
        latest: int,
        retained: Callable[[], Manifest],
        send: Callable[[int, bytes], None],
    ) -> None:
        """`file` keeps its state, `retained` returns the manifest that the broker has for it.

        No message is on its way for more than `latest` seconds.
        """
        self._fate = fate
        self._device = device
        self._file = file
        self._sensor = sensor
        self._latest = latest
        self._retained = retained
        self._send = send
        # Drawn apart, so that all other choices of a rehearsal stay: a third is short of targets.
        self._targets = np.random.default_rng([fate.seed, device])
        self._share = _FEW if self._targets.random() < 1 / 3 else 1.0
        self._read = -1  # when it last read, in seconds
        self._off_until = 0
        # The lineage in which it began, by memory and by its file; -1: never.
        self._began = self._saved = -1
        self._kept: dict[str, bytes] = {}  # the lasting part of its state, as it was saved
        self.edge = self._new_edge(retained())

    def _new_edge(self, manifest: Manifest) -> Edge:
        edge = Edge(manifest, self._device, patience=1 + self._device % 2)
        return self._doubting(edge)

    def _doubting(self, edge: Edge) -> Edge:
        edge.doubt = math.ceil((self._latest + 1) / edge.manifest.tick_seconds)
        return edge

    def live(self) -> None:
        """Live for one second."""
        fate, random = self._fate, self._fate.random
        if fate.strikes(0.05):
            self._suffer(fate.one_of(DEVICE))
        if fate.strikes(0.03):  # often, so that its updates wait for their tick
            self._suffer("clock a little ahead")
        if self._is_off():
            return
        if self.edge.outdated and not fate.strikes(0.3):
            self._adopt()
        if fate.calm or random.random() < 0.8:
            x = random.standard_normal(len(self.edge.manifest.inputs))
            y = float(np.sin(x).sum() + 0.1 * random.standard_normal())
            if self._has_target():
                self._learn(x, self._sensor.measured(y))
        if fate.calm or random.random() < 0.5:
            self._contact()
        if random.random() < 0.05:
            self._save()

    def _save(self) -> None:
        save_state(self._file, self.edge)
        self._saved, self._kept = self._began, lasting(self.edge.state())

    def _has_target(self) -> bool:
        """Whether a sample has a target.

        In the calm at the end a device has a target for all samples or for none, so that all of its
        contacts are of one kind, and both kinds must be heard.
        """
        return self._share == 1.0 if self._fate.calm else self._targets.random() < self._share

    def _is_off(self) -> bool:
        return self._fate.now < self._off_until and not self._fate.calm

    def _adopt(self) -> None:
        """Read what the fleet has agreed on; there may be nothing new yet."""
        old, new = self.edge.manifest, self._retained()
        if new != old:
            self._fate.hits["off during two changes"] += (new.epoch - old.epoch) % 256 > 1
            self.edge = self._doubting(self.edge.under(new))

    def receive(self, payload: bytes) -> frozenset[int]:
        """Process a message; return the ticks that the device believes safe because of it."""
        if self._is_off():
            return frozenset()
        edge = self.edge
        of_read = payload[0] & 15 == REPLY and payload[HEADER.size] == NO_UPDATE
        self._fate.hits["answer to a read while updates wait"] += of_read and bool(edge.unconfirmed)
        safe = edge.receive(payload, float(self._fate.now))
        of_now = payload[:2] == bytes([VERSION << 4 | MODEL, edge.manifest.epoch])
        if of_now and self._began != edge.manifest.lineage:
            self._began = edge.manifest.lineage
            if edge.w.astype("<f4").tobytes() != payload[HEADER.size :]:
                raise BrokenPromiseError(f"device {self._device} kept a model that it should not")
        return safe

    def _learn(self, x: FloatArray, y: float) -> None:
        """Learn from a sample; a sample outside the plausible range must change nothing."""
        target, before = self.edge.manifest.target, lasting(self.edge.state())
        learned = self.edge.learn(x, y)
        if target.low is None or target.high is None or target.low <= y <= target.high:
            return
        self._fate.hits["implausible sample"] += 1
        if learned or lasting(self.edge.state()) != before:
            raise BrokenPromiseError(f"device {self._device} learned from a target of {y:g}")

    def _contact(self) -> None:
        edge = self.edge
        payload = edge.contact(float(self._fate.now))
        if payload is None:
            return
        kind = payload[0] & 15
        if kind == UPDATE and self._began != edge.manifest.lineage:
            raise BrokenPromiseError(f"device {self._device} did not begin from the server's model")
        self._fate.hits["read"] += kind == READ
        self._fate.hits["update just after a read"] += (
            kind == UPDATE and self._read == self._fate.now
        )
        self._read = self._fate.now if kind == READ else self._read
        self._send(self._device, self._sensor.said(payload, edge.manifest))

    def _suffer(self, kind: str) -> None:
        self._fate.hits[kind] += 1
        match kind:
            case "clock ahead":
                self._set_clock(_FAR_AHEAD)
            case "clock a little ahead":
                self._set_clock(int(self._fate.random.integers(1, TOLERANCE + 1)))
            case "lost clock":
                self.edge.clock = None
            case "contact again":  # twice in one tick, whether or not there is anything new
                for _ in range(2):
                    self._contact()
            case "off for long":
                self._off_until = self._fate.now + int(self._fate.random.integers(_LONGEST_OFF))
            case "wild sample":
                self._learn(np.zeros(len(self.edge.manifest.inputs)), _WILD)
            case "power cut while saving":
                self._save_a_part()
                self._restart()
            case "lost state":
                self._lose_state()
                self._saved, self._kept = -1, {}
                self._restart()
            case _:
                self._restart()

    def _set_clock(self, ahead: int) -> None:
        if self.edge.clock is not None:
            tick, seconds = self.edge.clock
            self.edge.clock = Clock(tick + ahead, seconds)

    def _save_a_part(self) -> None:
        """Leave behind what a write that was cut off leaves: a file under another name."""
        self._file.with_name(f".{self._file.name}.cut").write_bytes(b"half")

    def _lose_state(self) -> None:
        self._file.unlink(missing_ok=True)

    def _restart(self) -> None:
        self.edge = self._new_edge(saved_manifest(self._file) or self._retained())
        load_state(self._file, self.edge)
        self._began = self._saved
        if self._kept and lasting(self.edge.state()) != self._kept:
            raise BrokenPromiseError(f"device {self._device} lost what it had saved")


def lasting(state: Mapping[str, NDArray[Any]]) -> dict[str, bytes]:
    """Return a device's state without how well it predicts and which samples it passed over."""
    return {name: array.tobytes() for name, array in state.items() if name != "recent"}
