"""Devices that weigh what a fleet tells them against what they know."""

from typing import Any

import numpy as np
import pytest

from paofed.algorithms import algorithm
from paofed.algorithms.base import Exchange
from paofed.checks import check_algorithm
from paofed.core import two_speed
from paofed.core.arrays import FloatArray
from paofed.core.forecasts import WAITING
from paofed.core.learners import Chosen, learner_of
from paofed.core.local_model import local_model
from paofed.core.parts import Part
from paofed.core.starting import device_from
from paofed.core.weighing import weights_of
from paofed.errors import InputError
from paofed.simulate.engines import reference
from tests.natures import small_trace

FEATURES, STEP = 40, 0.4
WEEK = 7 * 24  # of hourly samples
LEARNER = learner_of(Chosen("weighed"))
ROW = algorithm("pao-fed-u1", learner="weighed")


def zs(seed: int, count: int) -> FloatArray:
    """Features of waves, and in the last place a constant one."""
    z: FloatArray = np.random.default_rng(seed).normal(size=(count, FEATURES)) / np.sqrt(FEATURES)
    z[:, -1] = 1.0
    return z


def after(state: Any, samples: FloatArray, y: FloatArray, told: FloatArray | None = None) -> Any:
    """The device after samples with labels at once; at each it hears the whole model `told`."""
    assert LEARNER.sees is not None
    for z, target in zip(samples, y.tolist(), strict=True):
        state = LEARNER.sees(state, z)
        if told is not None:
            state = LEARNER.merge(state, Part(np.arange(FEATURES), told))
        state = LEARNER.learn(state, z, target, STEP, 0)
    return state


def begun() -> Any:
    return device_from("weighed", LEARNER, np.zeros(FEATURES))


def test_it_keeps_the_contract() -> None:
    check_algorithm(ROW)


@pytest.mark.parametrize("exchange", ["paper", "single", "live"])
def test_a_server_computes_what_it_would_of_devices_at_two_speeds(exchange: Exchange) -> None:
    """The uplink tells the model of the forecaster that hears the fleet."""
    row = algorithm("pao-fed-u1", shared=3, exchange=exchange)
    for seed in range(2):
        trace = small_trace(seed, ticks=90, features=9, lost=0.2, labelled=0.6, latest=12)
        got, expected = (
            reference.replay(trace, algorithm(row, learner=learner))
            for learner in ("weighed", "two-speed")
        )
        assert got.server_model.tobytes() == expected.server_model.tobytes()


def test_all_forecasters_begin_with_the_model_of_the_fleet() -> None:
    w, z = np.linspace(-1.0, 1.0, FEATURES), zs(8, 1)[0]
    state = device_from("weighed", LEARNER, w)
    np.testing.assert_array_equal(LEARNER.model(state), w)
    assert LEARNER.sees is not None
    row = LEARNER.sees(state, z).waiting[0, 2:]
    np.testing.assert_allclose(row, w @ z, rtol=1e-12)


def test_without_a_label_a_device_believes_the_fleet() -> None:
    told = np.arange(float(FEATURES))
    state = LEARNER.merge(begun(), Part(np.arange(FEATURES), told))
    np.testing.assert_array_equal(LEARNER.model(state), told)


def test_a_device_ends_with_the_forecaster_that_has_foretold_best() -> None:
    z, rng = zs(1, 400), np.random.default_rng(2)
    right, wrong = rng.normal(size=(2, FEATURES))
    y = z @ right + 0.1 * rng.normal(size=400)
    for told, place in ((right, 0), (wrong, 1)):
        state = after(begun(), z, y, told)
        weights = weights_of(state.record)
        assert weights[0] > 0.9 if place == 0 else weights[0] < 0.01
        new = zs(3, 200)
        error = np.mean((new @ (right - LEARNER.model(state))) ** 2)
        assert error < np.mean((new @ (right - wrong)) ** 2) / 50


def test_the_filter_wins_where_the_last_features_say_all() -> None:
    z, rng = zs(4, 300), np.random.default_rng(5)
    y = 5.0 * z[:, -2] + 3.0 * z[:, -1] + 0.01 * rng.normal(size=300)
    state = after(begun(), z, y)
    assert weights_of(state.record)[2] > 0.99
    filtered = state.start[-state.over.size :] + state.over
    np.testing.assert_allclose(filtered[-1], 3.0, atol=0.1)


def test_its_own_forecaster_never_hears_the_fleet() -> None:
    z, y = zs(6, 30), np.ones(30)
    alone, heard = after(begun(), z, y), after(begun(), z, y, np.full(FEATURES, 9.0))
    np.testing.assert_array_equal(heard.own, alone.own)
    plain = two_speed.begin(FEATURES)
    for sample in z:
        plain = two_speed.learn(two_speed.FORGETTING, 0.0, plain, sample, 1.0, STEP, 0)
    np.testing.assert_array_equal(alone.own, plain.w)
    np.testing.assert_array_equal(alone.w, plain.w)


def prequential(late: int, told: FloatArray | None) -> tuple[FloatArray, float]:
    """Mean squared errors of the forecasters and of the device, with labels so many samples late.

    The targets follow a level that wanders, so that the forecasters differ. Errors count from where
    some labels are there: before, a device can but believe its fleet.
    """
    rng, count = np.random.default_rng(11), 1200
    z = zs(12, count)
    y = z @ rng.normal(size=FEATURES) + np.cumsum(0.2 * rng.normal(size=count))
    return errors_of(z, y, late, told, step=0.2, known=late + 20)


def errors_of(
    z: FloatArray, y: FloatArray, late: int, told: FloatArray | None, *, step: float, known: int
) -> tuple[FloatArray, float]:
    """Mean squared errors from a sample on; the device hears of the fleet at every 20th."""
    assert LEARNER.sees is not None
    state, errors, mine = begun(), [], []
    for i in range(y.size):
        state = LEARNER.sees(state, z[i])
        errors.append((y[i] - state.waiting[i % WAITING, 2:]) ** 2)
        mine.append((y[i] - LEARNER.model(state) @ z[i]) ** 2)
        if told is not None and i % 20 == 0:
            state = LEARNER.merge(state, Part(np.arange(FEATURES), told))
        if i >= late:
            state = LEARNER.learn(state, z[i - late], float(y[i - late]), step, 0)
    found: FloatArray = np.mean(errors[known:], axis=0)
    return found, float(np.mean(mine[known:]))


@pytest.mark.parametrize("late", [0, 24])
@pytest.mark.parametrize("told", [None, np.zeros(FEATURES), np.full(FEATURES, 50.0)])
def test_it_is_never_far_behind_the_best_forecaster(late: int, told: FloatArray | None) -> None:
    forecasters, mine = prequential(late, told)
    assert 10 * np.log10(mine / forecasters.min()) < 0.1


@pytest.mark.parametrize("told", [None, np.zeros(FEATURES)])
def test_of_labels_a_week_late_it_learns_who_diverges(told: FloatArray | None) -> None:
    """Its own forecaster does, at so large a step, and without news from the fleet that one, too.

    Errors count from the sixth week on: in the second, the first labels of what a forecaster that
    has learned foretold have not come yet, and of later ones every eighth is judged.
    """
    count, rng = 16 * WEEK, np.random.default_rng(11)
    z = zs(12, count)
    y = 2.0 * z[:, -1] - z[:, -2] + 0.3 * rng.normal(size=count)
    forecasters, mine = errors_of(z, y, WEEK, told, step=1.6, known=5 * WEEK)
    assert np.log10(forecasters[1]) > 30
    assert 10 * np.log10(mine / forecasters.min()) < 0.1


def test_a_forecaster_that_is_lost_is_nobody_s_model() -> None:
    """Without weight it adds nothing, not even what is no number."""
    z = zs(6, 40)
    state = after(begun(), z, 3.0 * z[:, -1])
    state.record[-3:] = [1e6, 1e6, 0.0]
    nothing = np.full(FEATURES, np.nan)
    lost = state._replace(w=nothing, own=nothing)
    np.testing.assert_array_equal(LEARNER.model(lost), LEARNER.model(state))
    assert np.isfinite(LEARNER.model(lost)).all()


def test_no_live_fleet_has_it_and_no_model_alone() -> None:
    assert ROW.unserved == "a device of a live fleet has not learned to weigh forecasters yet"
    with pytest.raises(InputError, match="learner is 'weighed', which weighs what a fleet tells"):
        local_model(Chosen("weighed"), 0, inputs=2, features=8, kernel_width=1.0)
