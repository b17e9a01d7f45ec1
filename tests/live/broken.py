"""Fleets of six, one of whose devices breaks: what it measures then, and what it says."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray
from paofed.live.model.fleet_model import FleetModel
from paofed.live.protocol.coordinator import Coordinator, Send
from paofed.live.protocol.edge import Edge
from paofed.live.protocol.manifest import USUAL_BOUND, USUAL_CLIP, Manifest
from paofed.live.protocol.messages import Update, decode, encode
from paofed.live.protocol.quantity import Quantity
from paofed.live.server.concerns import judged

DEVICES, BROKEN = 6, 5
_NOISE = 10.0  # of what is measured, in a target that varies by 60

Random = np.random.Generator


def manifest(features: int = 200) -> Manifest:
    """As `paofed fleet init` makes it, for a load that depends on temperature and hour."""
    return Manifest(
        algorithm="pao-fed-u1",
        features=features,
        shared=4,
        kernel_width=1.0,
        seed=0,
        step_size=0.4,
        max_age=10,
        tick_seconds=1.0,
        start=1.0,
        epoch=3,
        inputs=(
            Quantity(name="temperature", offset=20.0, scale=10.0).limited(),
            Quantity(name="hour", offset=12.0, scale=6.0).limited(),
        ),
        target=Quantity(name="load", offset=300.0, scale=100.0).limited(),
        clip=USUAL_CLIP,
        bound=USUAL_BOUND,
    )


class Fault(NamedTuple):
    """What a broken device measures and sends instead, and within how many ticks it is named.

    `measured` has the right target and the ticks since it broke.
    """

    named_as: frozenset[str]  # one of these at least
    within: int
    measured: Callable[[float, int, Random], float] = lambda y, _age, _random: y
    said: Callable[[NDArray[Any], Random], NDArray[Any]] = lambda values, _: values


def _named(*kinds: str) -> frozenset[str]:
    return frozenset(kinds)


FAULTS = {  # the first ones are tried every day
    "times 1000": Fault(_named("implausible"), 4, lambda y, _age, _random: 1000 * y),
    "garbage": Fault(
        _named("aside"), 10, said=lambda values, random: random.uniform(-1, 1, values.size)
    ),
    "stuck": Fault(_named("aside", "worse"), 100, lambda _y, _age, _random: 300.0),
    "stuck far out": Fault(_named("aside"), 30, lambda _y, _age, _random: 900.0),
    "stuck at 1e6": Fault(_named("implausible"), 4, lambda _y, _age, _random: 1e6),
    "times 3": Fault(_named("aside"), 30, lambda y, _age, _random: 3 * y),
    "times 10": Fault(_named("implausible"), 4, lambda y, _age, _random: 10 * y),
    "spikes": Fault(
        _named("implausible"), 100, lambda y, _, random: y + 1e6 * (random.random() < 0.1)
    ),
    "spikes in range": Fault(
        _named("aside", "worse"), 150, lambda y, _, random: y + 500 * (random.random() < 0.1)
    ),
    "drift": Fault(_named("aside", "worse"), 100, lambda y, age, _: y + 2 * age),
    "noise": Fault(_named("aside", "worse"), 60, lambda y, _, random: y + random.normal(0, 200)),
    "no numbers": Fault(_named("refused"), 10, said=lambda values, _: values * np.nan),
    "liar": Fault(_named("aside"), 10, said=lambda values, _: values + 0.1),
}
# Passed over, or too small to matter: nothing to be named.
ONE_SPIKE = Fault(_named(), 0, lambda y, age, _: y if age else 1e6)
CAREFUL_LIAR = Fault(_named(), 0, said=lambda values, _: values + 0.02)


def truth(x: FloatArray) -> FloatArray:
    """The load without any noise."""
    y: FloatArray = 300 + 80 * np.sin(x[..., 0] / 8) + 30 * np.cos(x[..., 1] * np.pi / 12)
    return y


def inputs(random: Random, count: int) -> FloatArray:
    return np.column_stack([random.normal(20, 6, count), random.uniform(0, 24, count)])


_CLEAN = inputs(np.random.default_rng(99), 400)


def error(model: FleetModel) -> float:
    """Root mean squared error on clean data that no device has seen."""
    return float(np.sqrt(np.mean((model.predict(_CLEAN) - truth(_CLEAN)) ** 2)))


class Sensor:
    """One device's measurements, wrong from the moment at which it is given a fault."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self._chance = np.random.default_rng(seed + 1_000_000)  # of the fault
        self.fault: Fault | None = None
        self._age = 0

    def measure(self) -> tuple[FloatArray, float]:
        x = inputs(self.random, 1)[0]
        y = float(truth(x) + self.random.normal(0, _NOISE))
        if self.fault is not None:
            y = float(self.fault.measured(y, self._age, self._chance))
            self._age += 1
        return x, y

    def say(self, payload: bytes, agreed: Manifest) -> bytes:
        """What is sent in place of a message."""
        message = decode(payload, shared=agreed.shared, features=agreed.features)
        if self.fault is None or not isinstance(message, Update):
            return payload
        wrong = self.fault.said(message.values, self._chance).astype("<f4")
        return encode(replace(message, values=wrong))


class Lived(NamedTuple):
    """What became of a fleet."""

    error: float  # of the server's model, over the last ticks
    named: dict[str, int]  # what the broken device was called, first how many ticks after
    others: set[str]  # what any other device was called


def lived(fault: Fault | None, seed: int, before: int, after: int) -> Lived:
    """Let a fleet learn, let a device break, and let the fleet go on; all in one process."""
    server = Coordinator(manifest())
    edges = [Edge(server.manifest, k) for k in range(DEVICES)]
    sensors = [Sensor(seed * DEVICES + k) for k in range(DEVICES)]
    for k in range(DEVICES):
        server.add(k)
    named: dict[str, int] = {}
    others: set[str] = set()
    errors = []
    for tick in range(before + after):
        if tick == before:
            sensors[BROKEN].fault = fault
        for edge, sensor in zip(edges, sensors, strict=True):
            contact(server, edge, sensor, tick)
        server.close(tick + 1)
        for device, faults in judged(server).items():
            for found in faults:
                if device == BROKEN and tick >= before:
                    named.setdefault(found.kind, tick + 1 - before)
                else:
                    others.add(found.kind)
        if tick >= before + after // 2:
            errors.append(error(FleetModel.of(server)))
    return Lived(float(np.mean(errors)), named, others)


def contact(server: Coordinator, edge: Edge, sensor: Sensor, tick: int) -> None:
    """Let a device learn and send, and hear the reply."""
    edge.learn(*sensor.measure())
    payload = edge.contact(float(tick))
    assert payload is not None
    effects = server.receive(edge.device, sensor.say(payload, server.manifest))
    for effect in (*effects, *server.committed()):
        if isinstance(effect, Send):
            edge.receive(effect.payload, float(tick))
