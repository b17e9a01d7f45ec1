"""Predicted learning curves at full size against averages over runs in the same world."""

import numpy as np

from paofed.algorithms.base import Settled
from paofed.algorithms.setup import resolve
from paofed.core.metrics import decibels
from paofed.simulate.average import average
from paofed.theory.fleet import FleetInTheory
from paofed.theory.modes import Modes
from paofed.theory.second.curve import learning_curve
from paofed.theory.second.groups import Detail
from tests.effort import long
from tests.natures import small_scenario
from tests.theory.test_mean_of_runs import full_size

FINER = Detail(stride=2, points=256)


@long
def test_curves_of_the_paper_s_fleet_are_where_they_are_predicted() -> None:
    """Setting I with inputs independent in time: gaps were 0.01, 0.03 and 0.02 dB at most."""
    scenario = full_size(memory=(0.0, 0.0))
    methods = [resolve(text) for text in ("online-fedsgd", "pao-fed-u1", "pao-fed-c2")]
    runs = average(scenario, methods, runs=100, world=0, every=25)
    points = runs.ticks[runs.ticks >= 50]
    fleet = FleetInTheory.of(scenario, world=0)
    modes, settings = Modes.of(fleet.moments.R), Settled(scenario.step_size, scenario.max_age)
    for method, seen in zip(methods, runs.learning, strict=True):
        predicted = learning_curve(fleet, method, settings, points, modes=modes)
        gap = predicted.db - decibels(seen[runs.ticks >= 50])
        np.testing.assert_allclose(gap, 0.0, rtol=0, atol=0.2)


@long
def test_a_target_that_drifts_is_followed() -> None:
    """A fleet of 24 before and after a drift; in four worlds, gaps were at most 0.1 dB."""
    stream = {"samples": (60, 120), "memory": (0.0, 0.0), "drifts": (60,)}
    scenario = small_scenario(clients=24, ticks=120, features=20, stream=stream)
    methods = [resolve(text) for text in ("online-fedsgd", "pao-fed-u1", "pao-fed-c2")]
    runs = average(scenario, methods, runs=100, seed=3, every=20)
    fleet = FleetInTheory.of(scenario, seed=3)
    settings = Settled(scenario.step_size, scenario.max_age)
    for method, seen in zip(methods, runs.learning, strict=True):
        predicted = learning_curve(fleet, method, settings, runs.ticks, detail=FINER)
        np.testing.assert_allclose(predicted.db, decibels(seen), rtol=0, atol=0.2)
