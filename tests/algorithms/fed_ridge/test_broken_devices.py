"""What broken and lying devices cost the others: hardly anything, once models are fitted.

Seeds are fixed, so these tests never fail by chance. Errors are those of the second half of the
time. Before that, also a device that says nothing at all decides now and then about which size of
model is used when, and so costs or gains the others a few tenths of a dB for a short time.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from paofed.algorithms import Algorithm, algorithm
from paofed.core.arrays import FloatArray
from paofed.core.parts import Bytes, keys_of
from paofed.core.sums import COUNT, FIRST, SQUARES, add, size_of
from paofed.simulate.engines.fast.family import settle
from paofed.simulate.engines.fast.own.simulation import General
from paofed.simulate.faulty import with_faults
from paofed.world.realize import realize
from paofed.world.trace import Trace
from tests.algorithms.fed_ridge.cases import Carried, Fleet, Samples, Told, at_once, drawn, honest
from tests.effort import effort, long, some
from tests.natures import small_scenario

CLIENTS = 40
MOST = {1: 0.15, 8: 0.4}  # dB that so many broken devices of 40 cost the others, at most
WORLDS = effort(everyday=1, thorough=4)
FLEET = small_scenario(
    ticks=400,
    clients=CLIENTS,
    features=24,
    stream={"samples": (100, 200, 300, 400)},
    availability={"kind": "bernoulli", "probabilities": (0.6, 0.3)},
    delay={"kind": "geometric", "base": 0.2},
)

Fault = Callable[[FloatArray], FloatArray]  # what sensors say in place of the targets, (N, K)


@cache
def world_of(world: int) -> Trace:
    return realize(FLEET, world, seed=7)


def squared_errors(trace: Trace, method: Algorithm, broken: int) -> FloatArray:
    """Of the models of the devices that are not broken, and of the server's model, on theirs."""
    samples = trace.sparse()
    running = General.over(samples, [settle(method, 0.4, 10)], keys_of(0), judged=True)
    running.advance(0, trace.ticks)
    late = (samples.client >= broken) & (samples.tick >= trace.ticks // 2)
    errors: FloatArray = np.mean(running.errors[0][:, late] ** 2, axis=1)
    return errors


@cache
def without(world: int, broken: int) -> FloatArray:
    """The errors of the same devices where nothing is broken."""
    return squared_errors(world_of(world), algorithm("fed-ridge"), broken)


def cost(broken: int, errors: Callable[[int], FloatArray]) -> FloatArray:
    """What broken devices cost the others, and the server, in dB; `errors` are those of a world."""
    found = np.mean([errors(world) for world in range(WORLDS)], axis=0)
    healthy = np.mean([without(world, broken) for world in range(WORLDS)], axis=0)
    dearer: FloatArray = 10 * np.log10(found / healthy)
    return dearer


def spike(y: FloatArray) -> FloatArray:
    wild = y.copy()
    wild[len(y) // 4] = 1e6
    return wild


SENSORS: dict[str, Fault] = {
    "times 1000": lambda y: 1000 * y,
    "stuck at 50": lambda y: np.full_like(y, 50.0),
    "a single 1e6": spike,
    "times 10": lambda y: 10 * y,
    "stuck": lambda y: np.tile(y[0], (len(y), 1)),
    "of the other sign": lambda y: -y,
    "drifting": lambda y: y + np.linspace(0, 20, len(y))[:, None],
    "noisy": lambda y: y + 5 * np.random.default_rng(0).normal(size=y.shape),
}


@pytest.mark.parametrize(("broken", "fault"), list(product(MOST, SENSORS)))
def test_what_broken_sensors_cost(broken: int, fault: str) -> None:
    def errors(world: int) -> FloatArray:
        y = world_of(world).y.copy()
        y[:, :broken] = SENSORS[fault](y[:, :broken])
        return squared_errors(replace(world_of(world), y=y), algorithm("fed-ridge"), broken)

    assert (cost(broken, errors) < MOST[broken]).all()


MESSAGES: list[dict[str, Any]] = [
    {"kind": "garbage", "size": 0.5},
    {"kind": "garbage", "size": 1e30},
    {"kind": "liar", "push": 0.1},
    {"kind": "liar", "push": 1000.0},
]


@long  # a kernel of its own
@pytest.mark.parametrize(("broken", "fault"), list(product(MOST, MESSAGES)))
def test_what_faulty_messages_cost(broken: int, fault: dict[str, Any]) -> None:
    scenario = small_scenario(
        **{**FLEET.model_dump(), "faults": [{**fault, "clients": list(range(broken))}]}
    )
    method = with_faults(algorithm("fed-ridge"), scenario)
    found = cost(broken, lambda world: squared_errors(world_of(world), method, broken))
    assert (found < MOST[broken]).all()


# What devices do that no sensor makes them do, without an engine around them.
TICKS, FEATURES = 60, 5
SAMPLES = drawn(0, TICKS, CLIENTS, FEATURES)


def shared_error(samples: Samples, broken: int, told: Told, carried: Carried) -> float:
    """The error of the shared model on the samples of those who are not broken."""
    fleet = Fleet(samples, width=12)
    fleet.live(0, TICKS, told, carried)
    errors = samples.y - samples.u @ fleet.model()
    return float(np.mean(errors[:, broken:] ** 2))


@cache
def honestly(broken: int) -> float:
    return shared_error(SAMPLES, broken, honest, at_once)


def claiming(samples: float) -> Callable[[int, FloatArray], FloatArray]:
    """The same means, of so many samples."""

    def claimed(_tick: int, sums: FloatArray) -> FloatArray:
        claim: FloatArray = sums * samples / sums[COUNT]
        return claim

    return claimed


def nonsense_of_all_ticks(tick: int, sums: FloatArray) -> FloatArray:
    """Targets of the other sign and a thousand times as large, of all samples there can be."""
    wrong: FloatArray = sums * (tick + 1) / sums[COUNT]
    wrong[SQUARES] *= 1e6
    for f in range(FEATURES + 1):
        wrong[FIRST + f * (f + 3) // 2] *= -1e3
    return wrong


def turned(_tick: int, sums: FloatArray) -> FloatArray:
    """Sums that no samples have."""
    wrong = np.append(sums[: SQUARES + 1], sums[:SQUARES:-1])
    assert wrong.size == sums.size
    return wrong


LIES: dict[str, Callable[[int, FloatArray], FloatArray]] = {
    "a million samples": claiming(1e6),
    "nonsense of all ticks": nonsense_of_all_ticks,
    "turned": turned,
    "no samples": claiming(1e-6),
}


@pytest.mark.parametrize(("lie", "broken"), some(product(LIES, MOST), everyday=2))
def test_what_lies_about_sums_cost(lie: str, broken: int) -> None:
    def told(client: int, tick: int, sums: FloatArray) -> FloatArray:
        return LIES[lie](tick, sums) if client < broken else sums

    found = shared_error(SAMPLES, broken, told, at_once)
    assert 10 * np.log10(found / honestly(broken)) < MOST[broken]


@pytest.mark.parametrize("broken", some(MOST, everyday=1))
def test_what_bytes_cost_that_nobody_wrote(broken: int) -> None:
    rng = np.random.default_rng(0)

    def carried(client: int, tick: int, payload: Bytes) -> list[tuple[int, Bytes]]:
        if client < broken:
            payload = rng.integers(0, 256, size=payload.size).astype(np.uint8)
        return [(tick, payload)]

    with np.errstate(invalid="ignore"):  # as engines do: bytes may be a NaN that signals
        found = shared_error(SAMPLES, broken, honest, carried)
    assert 10 * np.log10(found / honestly(broken)) < MOST[broken]


def test_a_fleet_learns_at_all() -> None:
    """Else nothing that is broken could cost anything."""
    begun = np.mean((SAMPLES.y - SAMPLES.u[..., 0])[:, 1:] ** 2)
    assert honestly(1) < 0.2 * begun
    sums = np.zeros(size_of(FEATURES + 1))
    add(sums, SAMPLES.u[0, 0], float(SAMPLES.y[0, 0]))
    assert nonsense_of_all_ticks(0, sums)[SQUARES] > 1e5 * sums[SQUARES]
