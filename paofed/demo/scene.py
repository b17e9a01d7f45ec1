"""What the demonstration's devices will see, and what they have agreed on: the paper's stream."""

import math

from paofed.core.random import child
from paofed.live.protocol.manifest import USUAL_BOUND, USUAL_CLIP, Manifest
from paofed.live.protocol.scaling import Scaling
from paofed.world.realize import make_world
from paofed.world.scenario import Scenario
from paofed.world.streams import INPUTS

ALGORITHM = "pao-fed-u1"
SHARED = 4
_PRESENCE = (0.75, 0.5, 0.25, 0.1)


def scenario_of(devices: int, ticks: int) -> Scenario:
    """Return Setting I, smaller and with more contacts.

    Messages take no time unless something fails.
    """
    values = Scenario.load("setting-1").model_dump()
    values |= {"name": "demo", "clients": devices, "ticks": ticks}
    values["stream"]["samples"] = [ticks * (3 + k % 2) // 4 for k in range(devices)]
    presence = [_PRESENCE[k % len(_PRESENCE)] for k in range(devices)]
    values["availability"]["probabilities"] = presence
    values["delay"] = {"kind": "geometric", "base": 0.0}
    return Scenario.model_validate(values)


def first_tick(earliest: float, scenario: Scenario) -> int:
    """Return the server's tick at which the trace begins: its windows are those of tick 0."""
    period = -(-scenario.features // SHARED)
    return period * math.ceil(earliest / period)


def manifest_of(scenario: Scenario, seed: int, tick_seconds: float, start: float) -> Manifest:
    """Return the manifest of a live fleet with the scenario's numbers and its world's map."""
    key = child(make_world(scenario, seed, 0).key, 0, 1)
    return Manifest(
        algorithm=ALGORITHM,
        features=scenario.features,
        shared=SHARED,
        kernel_width=scenario.kernel_width,
        seed=key.low | key.high << 32,  # a key is a seed in two words
        step_size=scenario.step_size,
        max_age=scenario.max_age,
        tick_seconds=tick_seconds,
        start=start,
        epoch=0,
        inputs=tuple(Scaling(name=f"x{i}").limited() for i in range(INPUTS)),
        target=Scaling(name="y").limited(),
        clip=USUAL_CLIP,
        bound=USUAL_BOUND,
    )
