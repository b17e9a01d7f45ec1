"""The door of theory for users."""

import numpy as np
import pytest

from paofed import PaofedError, algorithm, realize, theory
from paofed.algorithms.base import Settled
from paofed.theory.fleet import FleetInTheory
from paofed.theory.second.curve import learning_curve
from tests.natures import small_scenario

SHORT = small_scenario(features=8, ticks=60, stream={"samples": (20, 40, 60)})


def test_names_and_records_mean_the_same_and_the_scenario_settles_the_rest() -> None:
    ahead = theory.foresee(SHORT, seed=3, world=1)
    assert (ahead.settings, ahead.ticks) == (Settled(0.4, 10), 60)
    by_name = ahead.learning_curve("pao-fed-u1:shared=2", every=25)
    by_record = ahead.learning_curve(algorithm("pao-fed-u1", shared=2), every=25)
    assert by_name.ticks.tolist() == [24, 49, 59]
    np.testing.assert_array_equal(by_name.mse, by_record.mse)
    fleet = FleetInTheory.of(SHORT, seed=3, world=1)
    same = learning_curve(fleet, algorithm("pao-fed-u1", shared=2), ahead.settings, by_name.ticks)
    np.testing.assert_allclose(by_name.mse, same.mse, rtol=1e-5)
    assert ahead.learning_curve("pao-fed-u1", ticks=5).ticks.tolist() == [4]


def test_an_outlook_takes_matrices_apart_for_all_that_follows() -> None:
    ahead = theory.foresee(SHORT)
    found = ahead.outlook("pao-fed-u1", every=30)
    assert found.prediction.names == ["pao-fed-u1"]
    assert ahead.modes is found.modes
    assert ahead.outlook(["pao-fed-u1", "pao-fed-c2"]).modes is found.modes


def test_traces_are_looked_at_with_the_papers_settings() -> None:
    ahead = theory.foresee(realize(SHORT))
    assert (ahead.settings, ahead.ticks) == (Settled(0.4, 10), 60)
    assert ahead.learning_curve("pao-fed-u1").test_noise == 0.0
    assert 1 < ahead.stable_step("pao-fed-u1").step < 3


def test_bad_numbers_are_refused() -> None:
    ahead = theory.foresee(SHORT)
    with pytest.raises(PaofedError, match="ticks is 0: expected at least 1"):
        ahead.learning_curve("pao-fed-u1", ticks=0)
    with pytest.raises(PaofedError, match="every is 0: expected at least 1"):
        ahead.outlook("pao-fed-u1", every=0)


def test_second_moments_follow_a_target_that_drifts() -> None:
    """Up to the drift nothing is different; after it, the models are far from the new target."""
    steady, changing = (
        theory.foresee(small_scenario(stream={"drifts": drifts})) for drifts in ((), (50,))
    )
    one, other = (
        ahead.learning_curve("pao-fed-u1", ticks=60, every=10) for ahead in (steady, changing)
    )
    np.testing.assert_allclose(other.mse[:5], one.mse[:5], rtol=1e-9)
    assert other.mse[5] > 1.1 * one.mse[5]
