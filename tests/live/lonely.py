"""Fleets with a healthy device at a place of its own, which nobody else measures."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.live.model.fleet_model import FleetModel
from paofed.live.protocol.coordinator import Coordinator
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.manifest import Manifest
from tests.live import broken

DEVICES = 12
COMMON, LONELY = 20.0, 0.0  # degrees: eleven devices measure here, the last one there
LONER = DEVICES - 1
_SPREAD, _NOISE = 3.0, 10.0


def truth(x: FloatArray) -> FloatArray:
    """The load without any noise: there is something to learn at both places."""
    y: FloatArray = 300 + 3 * (x[..., 0] - COMMON)
    return y


class Sensor(broken.Sensor):
    """The sensor of a device at its own place."""

    def __init__(self, seed: int, device: int) -> None:
        super().__init__(seed * DEVICES + device)
        self._place = LONELY if device == LONER else COMMON

    def measure(self) -> tuple[FloatArray, float]:
        x = _inputs(self.random, self._place, 1)[0]
        y = float(truth(x) + self.random.normal(0, _NOISE))
        if self.fault is not None:
            y = float(self.fault.measured(y, 0, self.random))
        return x, y


def _inputs(random: np.random.Generator, place: float, count: int) -> FloatArray:
    return random.normal(place, _SPREAD, (count, 1))


def error(server: Coordinator, place: float) -> float:
    """Root mean squared error of the server's model on clean data of a place."""
    x = _inputs(np.random.default_rng(99), place, 300)
    return float(np.sqrt(np.mean((FleetModel.of(server).predict(x) - truth(x)) ** 2)))


def manifest(features: int, *, bounds: bool = True) -> Manifest:
    agreed = broken.manifest(features)
    agreed = replace(agreed, inputs=agreed.inputs[:1])
    return agreed if bounds else replace(agreed, clip=None, bound=None)


def lived(agreed: Manifest, ticks: int, trusted: Sequence[int] = ()) -> Coordinator:
    """Let a fleet learn for some ticks, all in one process."""
    server = Coordinator(agreed)
    edges = [Edge(agreed, k) for k in range(DEVICES)]
    sensors = [Sensor(0, k) for k in range(DEVICES)]
    for k in range(DEVICES):
        server.add(k)
    server.rule.trust(trusted)
    for tick in range(ticks):
        for edge, sensor in zip(edges, sensors, strict=True):
            broken.contact(server, edge, sensor, tick)
        server.close(tick + 1)
    return server
