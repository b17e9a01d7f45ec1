"""A device of a rehearsal, and what befalls it: power cuts, lost files, wrong clocks, bad data."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.live.device.state import load_state, save_state
from paofed.live.protocol.coordinator import TOLERANCE
from paofed.live.protocol.edge import Clock, Edge
from paofed.live.protocol.manifest import Manifest
from paofed.live.trials.auditor import BrokenPromiseError
from paofed.live.trials.fate import Fate
from paofed.live.trials.sensors import Sensor

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
SAMPLES = ("implausible sample",)
_FAR_AHEAD = 30  # ticks
_WILD = 1e30  # a measurement that no model's numbers can follow


class Unlucky:
    """A device that learns, contacts its server, saves its state, and is hit by misfortunes."""

    def __init__(
        self,
        fate: Fate,
        device: int,
        manifest: Manifest,
        file: Path,
        sensor: Sensor,
        *,
        doubt: int,
        send: Callable[[int, bytes], None],
    ) -> None:
        """`file` is where its state is saved, `doubt` as in `Edge`."""
        self._fate = fate
        self._device = device
        self._manifest = manifest
        self._file = file
        self._sensor = sensor
        self._doubt = doubt
        self._send = send
        self.edge = self._begun()

    def _begun(self) -> Edge:
        patience = 1 + self._device % 2
        return Edge(self._manifest, self._device, patience=patience, doubt=self._doubt)

    def live(self) -> None:
        """One tick of its life."""
        fate, random = self._fate, self._fate.random
        if fate.strikes(0.05):
            self._suffer(fate.one_of(DEVICE))
        if random.random() < 0.8:
            x = random.standard_normal(len(self._manifest.inputs))
            y = float(np.sin(x).sum() + 0.1 * random.standard_normal())
            self._learn(x, self._sensor.measured(y))
        if fate.calm or random.random() < 0.5:
            self._contact()
        if random.random() < 0.15:
            save_state(self._file, self.edge)

    def receive(self, payload: bytes) -> frozenset[int]:
        """A message arrived; returns the ticks that the device believes safe because of it."""
        return self.edge.receive(payload, self._seconds())

    def _learn(self, x: FloatArray, y: float) -> None:
        """Learn from a sample; one outside the plausible range must change nothing."""
        target, before = self._manifest.target, _lasting(self.edge)
        learned = self.edge.learn(x, y)
        if target.low is None or target.high is None or target.low <= y <= target.high:
            return
        self._fate.hits["implausible sample"] += 1
        if learned or _lasting(self.edge) != before:
            raise BrokenPromiseError(f"device {self._device} learned from a target of {y:g}")

    def _contact(self) -> None:
        payload = self.edge.contact(self._seconds())
        if payload is not None:
            self._send(self._device, self._sensor.said(payload, self._manifest))

    def _suffer(self, kind: str) -> None:
        self._fate.hits[kind] += 1
        match kind:
            case "clock ahead":
                self._set_clock(_FAR_AHEAD)
            case "clock a little ahead":
                self._set_clock(int(self._fate.random.integers(1, TOLERANCE + 1)))
            case "lost clock":
                self.edge.clock = None
            case "contact again":  # in one tick, whether or not there is anything new
                for _ in range(2):
                    self._contact()
            case "wild sample":
                self._learn(np.zeros(len(self._manifest.inputs)), _WILD)
            case "power cut while saving":
                # What a write that was cut off leaves behind: a file under another name.
                self._file.with_name(f".{self._file.name}.cut").write_bytes(b"half")
                self._restart()
            case "lost state":
                self._file.unlink(missing_ok=True)
                self._restart()
            case _:
                self._restart()

    def _set_clock(self, ahead: int) -> None:
        if self.edge.clock is not None:
            tick, seconds = self.edge.clock
            self.edge.clock = Clock(tick + ahead, seconds)

    def _restart(self) -> None:
        self.edge = self._begun()
        load_state(self._file, self.edge)

    def _seconds(self) -> float:
        return self._fate.now * self._manifest.tick_seconds


def _lasting(edge: Edge) -> dict[str, bytes]:
    """A device's state, but for how well it predicts and which samples it passed over."""
    return {name: array.tobytes() for name, array in edge.state().items() if name != "recent"}
