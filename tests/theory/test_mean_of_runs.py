"""The expected recursion against averages over many runs.

Messages that are differently late: the recursion ignores that the server's model of today would be
another one had a message come yesterday, which matters less the more clients there are. A z-score
is the distance of a coordinate of the averaged model from its prediction, in standard errors.
"""

from functools import cache

import numpy as np
import pytest

from paofed.algorithms import ALGORITHMS
from paofed.algorithms.base import Settled
from paofed.algorithms.setup import resolve
from paofed.core.arrays import FloatArray
from paofed.core.metrics import decibels
from paofed.simulate.average import average
from paofed.theory.fleet import FleetInTheory
from paofed.theory.mean import predict
from paofed.world.scenario import Scenario
from tests.effort import long
from tests.natures import small_scenario

REGISTERED = [
    "online-fedsgd",
    "online-fed:subset=0.5",
    "pso-fed:subset=0.5",
    *(f"pao-fed-{version}" for version in ("c0", "u0", "c1", "u1", "c2", "u2")),
]
VARIANTS = [
    "pso-fed:subset=0.5,coordinated=false,shared=3",
    "pao-fed-u1:exchange=single",
    "pao-fed-c2:exchange=single,shared=3",
    "online-fedsgd:exchange=single",
    "pao-fed-u1:exchange=live",
    "pao-fed-u1:divisor=coverage,shared=7",
    "online-fedsgd:max_age=1",
    "pao-fed-c1:max_age=0",
]
FULL_LIVE = "online-fedsgd:exchange=live"
COMPARED = [*REGISTERED, *VARIANTS]
WORLDS, RUNS = 16, 100


def compared(
    scenario: Scenario, texts: list[str], *, runs: int, every: int, seed: int = 0, world: int = 0
) -> tuple[FloatArray, FloatArray]:
    """z-scores by algorithm, tick and coordinate; predicted less averaged, in dB."""
    methods = [resolve(text) for text in texts]
    averaged = average(scenario, methods, runs=runs, seed=seed, world=world, every=every)
    fleet = FleetInTheory.of(scenario, seed=seed, world=world)
    settings = Settled(scenario.step_size, scenario.max_age)
    predicted = predict(fleet, methods, settings, averaged.ticks)
    z = (averaged.models - predicted.models) / averaged.errors
    return z, decibels(predicted.mse) - decibels(averaged.mse)


def rms(z: FloatArray, axes: int | tuple[int, ...]) -> FloatArray:
    root: FloatArray = np.sqrt(np.mean(z**2, axis=axes))
    return root


def small_rms(seed: int) -> dict[str, FloatArray]:
    """Per tick, pooled over worlds: 24 clients, every second one there at half of its samples."""
    scenario = small_scenario(
        clients=24,
        ticks=90,
        features=20,
        stream={"samples": (30, 60, 90), "memory": (0.0, 0.0)},
    )
    texts = [*COMPARED, FULL_LIVE]
    scores = [
        compared(scenario, texts, runs=RUNS, every=30, seed=seed, world=world)[0]
        for world in range(WORLDS)
    ]
    return dict(zip(texts, rms(np.array(scores), (0, 3)), strict=True))


@cache
def small_fleets() -> dict[str, FloatArray]:
    return small_rms(seed=1)


def test_every_registered_algorithm_is_among_those_compared() -> None:
    assert {text.partition(":")[0] for text in REGISTERED} == set(ALGORITHMS)


@long
@pytest.mark.parametrize("text", COMPARED)
def test_averages_over_runs_are_where_they_are_predicted(text: str) -> None:
    """Over 12 seeds the 51 values of 16 worlds had a mean of 1.01 and a deviation of 0.045: the
    bound is at more than four of those, so about one seed in a thousand would be a false alarm.
    """
    np.testing.assert_allclose(small_fleets()[text], 1.0, rtol=0, atol=0.2)


@long
def test_averages_of_full_sharing_with_live_answers_are_where_they_are_predicted() -> None:
    np.testing.assert_allclose(small_fleets()[FULL_LIVE], 1.0, rtol=0, atol=0.2)


def full_size(**stream: tuple[float, float]) -> Scenario:
    """Setting I, all 256 clients and 200 features, for 300 of its 2000 ticks."""
    values = Scenario.load("setting-1").model_dump()
    values["stream"] |= {"samples": (75, 150, 225, 300), **stream}
    return Scenario.model_validate({**values, "ticks": 300})


@long
def test_the_paper_s_fleet_is_where_it_is_predicted() -> None:
    """In six worlds the rms z-scores had a mean of 1.00 and a deviation of 0.05 (0.08 for
    online-fedsgd, whose few modes move together), the gaps one of 0.02 dB at most: a few
    worlds in a hundred would be a false alarm.
    """
    texts = ["online-fedsgd", "pao-fed-u1", "pao-fed-c2"]
    z, gap = compared(full_size(memory=(0.0, 0.0)), texts, runs=100, every=100)
    np.testing.assert_allclose(rms(z, 2), 1.0, rtol=0, atol=0.2)
    np.testing.assert_allclose(gap, 0.0, rtol=0, atol=0.1)


@long
def test_inputs_with_memory_are_not_what_theory_assumes() -> None:
    """The same fleet with the paper's inputs: it differs from what is predicted by 0.2 to 0.4 dB.

    In six worlds the rms z-scores were 1.6 to 2.1.
    """
    z, gap = compared(full_size(), ["pao-fed-u1"], runs=100, every=100)
    assert (rms(z, 2) > 1.3).all()
    assert (gap < -0.1).all()
    assert (gap > -0.5).all()
