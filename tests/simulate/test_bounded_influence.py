"""What broken sensors cost with clip, and what clip costs where nothing is broken.

Seeds are fixed, so these tests never fail by chance; the bounds have room for other seeds. The
numbers of Setting I, 100 runs, are in docs/notation.md.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from paofed.algorithms import algorithm
from paofed.core.arrays import FloatArray
from paofed.simulate.engines import engine_of
from paofed.world.realize import realize
from paofed.world.trace import Trace
from tests.effort import effort, some
from tests.natures import small_scenario

RUNS = effort(everyday=2, thorough=10)
FLEET = small_scenario(
    ticks=700,
    clients=60,
    features=40,
    stream={"samples": (200, 400, 700)},
    availability={"kind": "bernoulli", "probabilities": (0.3, 0.1)},
    delay={"kind": "geometric", "base": 0.2},
)

Fault = Callable[[FloatArray], FloatArray]  # what sensors say in place of the targets, (N, K)


def end(trace: Trace, name: str, clip: float | None) -> float:
    """The error of the server's model over the last fifth."""
    outcome = engine_of("fast").replay(trace, algorithm(name, clip=clip))
    return float(outcome.mse[-trace.ticks // 5 :].mean())


@cache
def world_of(clients: int, world: int) -> Trace:
    return realize(FLEET.model_copy(update={"clients": clients}), world, seed=7)


@cache
def without(clients: int, world: int, name: str) -> float:
    """The error where nothing is broken and nothing bounded."""
    return end(world_of(clients, world), name, clip=None)


def cost(clients: int, name: str, broken: int, fault: Fault) -> float:
    """What some broken sensors cost with clip, against the paper's row without them, in dB."""
    errors = []
    for world in range(RUNS):
        trace = world_of(clients, world)
        y = trace.y.copy()
        y[:, :broken] = fault(y[:, :broken])
        errors.append((end(replace(trace, y=y), name, clip=6), without(clients, world, name)))
    with_faults, healthy = np.mean(errors, axis=0)
    return float(10 * np.log10(with_faults / healthy))


def spike(y: FloatArray) -> FloatArray:
    wild = y.copy()
    wild[len(y) // 2] = 1e6
    return wild


def drifting(y: FloatArray) -> FloatArray:
    return y + np.linspace(0, 20, len(y))[:, None]


FAULTS: dict[str, tuple[int, Fault]] = {
    "none": (0, lambda y: y),
    "one, times 1000": (1, lambda y: 1000 * y),
    "one, a single 1e6": (1, spike),
    "a tenth, stuck at 50": (6, lambda y: np.full_like(y, 50.0)),
    "a tenth, times 10": (6, lambda y: 10 * y),
    "a tenth, drifting": (6, drifting),
}


@pytest.mark.parametrize(
    ("fault", "name"), some(product(FAULTS, ["pao-fed-u1", "pao-fed-c2"]), everyday=3)
)
def test_what_broken_sensors_cost(name: str, fault: str) -> None:
    assert cost(FLEET.clients, name, *FAULTS[fault]) < 0.4


@pytest.mark.parametrize(
    ("fault", "name"),
    some(
        product(["one, times 1000", "one, a single 1e6"], ["pao-fed-u1", "pao-fed-c2"]), everyday=1
    ),
)
def test_one_of_six(name: str, fault: str) -> None:
    """Which is a sixth less to learn from."""
    assert cost(6, name, *FAULTS[fault]) < 0.6
