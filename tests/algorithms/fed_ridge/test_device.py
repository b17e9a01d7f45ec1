"""What a device knows, believes and predicts."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.algorithms.fed_ridge.device import FIRST, HOW_MANY, NUMBER
from paofed.algorithms.setup import resolve
from paofed.core import two_speed
from paofed.core.arrays import FloatArray
from paofed.core.forecasts import WAITING
from paofed.core.parts import Part
from paofed.core.starting import device_from
from paofed.core.sums import COUNT, add, size_of
from paofed.core.weighing import begin as begin_record
from paofed.core.weighing import scored, weights_of

FEATURES, MOST = 8, 5  # of the map, and as many of these are summed
STEP = 0.4
LEARNER = resolve(f"fed-ridge:most={MOST}").learner
WEEK = 7 * 24  # of hourly samples


def seen(state: Any, z: FloatArray) -> Any:
    assert LEARNER.sees is not None
    return LEARNER.sees(state, z)


def learned(state: Any, z: FloatArray, y: float) -> Any:
    return LEARNER.learn(state, z, y, STEP, 0)


def begun(seed: int = 0) -> Any:
    """A device of a fleet that began with a model."""
    return device_from("fed-ridge", LEARNER, np.random.default_rng(seed).normal(size=FEATURES))


def told_coefficients(*values: float, number: int = 1) -> Part:
    """A window that holds the whole of a shared model, the first one unless another is said."""
    told = np.array([number, len(values), *values], dtype=float)
    return Part(np.arange(told.size), told)


def zs(seed: int, count: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    z: FloatArray = np.cos(rng.normal(size=(count, FEATURES))) * np.sqrt(2.0 / FEATURES)
    return z


def forecasts_of(state: Any, z: FloatArray) -> FloatArray:
    """What the shared model, the corrected one and the device's own predict."""
    waiting = seen(state._replace(waiting=state.waiting.copy()), z).waiting
    found: FloatArray = waiting[int(state.waiting[-1, 0]) % WAITING, 2:].copy()
    return found


def test_a_device_begins_with_the_model_of_its_fleet() -> None:
    zeros = LEARNER.init(FEATURES)
    np.testing.assert_array_equal(LEARNER.model(zeros), np.zeros(FEATURES))
    state, z = begun(), zs(0, 1)[0]
    start = np.random.default_rng(0).normal(size=FEATURES)
    np.testing.assert_array_equal(LEARNER.model(state), start)
    np.testing.assert_allclose(forecasts_of(state, z), start @ z, rtol=1e-12)


def test_without_a_label_a_device_predicts_with_the_shared_model() -> None:
    """Its coefficients are of the prediction, then of the last features, in reverse."""
    state = LEARNER.merge(seen(begun(), zs(0, 1)[0]), told_coefficients(0.5, 3.0, -2.0))
    start = np.random.default_rng(0).normal(size=FEATURES)
    expected = 0.5 * start
    expected[-1] += 3.0
    expected[-2] -= 2.0
    np.testing.assert_allclose(LEARNER.model(state), expected, rtol=1e-12)
    z = zs(1, 1)[0]
    assert forecasts_of(state, z)[0] == pytest.approx(expected @ z)


def test_the_sums_are_those_of_prediction_and_last_features() -> None:
    state, start = begun(), np.random.default_rng(0).normal(size=FEATURES)
    expected = np.zeros(size_of(1 + MOST))
    for i, z in enumerate(zs(0, 20)):
        state = learned(seen(state, z), z, float(i))
        add(expected, np.append(start @ z, z[: FEATURES - MOST - 1 : -1]), float(i))
    assert LEARNER.tells is not None
    np.testing.assert_allclose(LEARNER.tells(state), expected, rtol=1e-12)


@pytest.mark.parametrize("most", [3, 8, 40])
def test_no_more_features_are_summed_than_the_map_has(most: int) -> None:
    learner = resolve(f"fed-ridge:most={most}").learner
    assert learner.tells is not None
    assert learner.tells(learner.init(FEATURES)).size == size_of(1 + min(most, FEATURES))


def windows_of(whole: Part, width: int) -> list[Part]:
    """The windows of a shared model, each with its number."""
    return [
        Part(np.append(0, whole.coordinates[at]), np.append(whole.values[0], whole.values[at]))
        for begin in range(1, whole.coordinates.size, width)
        for at in [slice(begin, begin + width)]
    ]


@given(st.integers(0, 2**32 - 1), st.integers(1, MOST + 1), st.integers(1, 4))
def test_a_shared_model_is_believed_when_all_of_it_has_arrived(
    seed: int, count: int, width: int
) -> None:
    """In any order, some of it twice; a model of fewer coefficients has none beyond them."""
    rng = np.random.default_rng(seed)
    state = LEARNER.merge(begun(), told_coefficients(*rng.normal(size=MOST + 1)))
    before, values = state.shared.copy(), rng.normal(size=count)
    windows = windows_of(told_coefficients(*values, number=7), width)
    for i, at in enumerate(rng.permutation(len(windows)).tolist()):
        np.testing.assert_array_equal(state.shared, before)
        for _ in range(1 + i % 2):
            state = LEARNER.merge(state, windows[at])
    np.testing.assert_array_equal(state.shared[: FIRST + count], [7.0, count, *values])
    assert not state.shared[FIRST + count :].any()


def test_windows_of_two_models_are_no_model() -> None:
    """And what is left of an older one is not waited for."""
    old, new = (
        windows_of(told_coefficients(*[value] * 3, number=int(value)), 2) for value in (4.0, 5.0)
    )
    state = begun()
    first = state.shared.copy()
    for window in (old[0], new[1], old[1]):
        state = LEARNER.merge(state, window)
        np.testing.assert_array_equal(state.shared, first)
    state = LEARNER.merge(state, new[0])
    assert state.shared[: FIRST + 3].tolist() == [5.0, 3.0, 5.0, 5.0, 5.0]
    for window in old:
        state = LEARNER.merge(state, window)
    assert state.shared[NUMBER] == 5.0


def test_a_part_without_a_number_is_of_no_model() -> None:
    state = LEARNER.merge(begun(), Part(np.array([HOW_MANY, FIRST]), np.array([1.0, 3.0])))
    np.testing.assert_array_equal(state.shared, begun().shared)


@pytest.mark.parametrize(
    ("count", "expected"), [(np.nan, 1), (-9.0, 1), (1e9, MOST + 1), (MOST + 40.0, MOST + 1)]
)
def test_a_count_that_cannot_be_is_the_nearest_that_can(count: float, expected: int) -> None:
    """A server that sums more tells coefficients that this device has not."""
    values = np.full(MOST + 20, 0.25)
    heard = told_coefficients(*values)
    heard.values[1] = count
    state = LEARNER.merge(begun(), heard)
    assert state.shared[HOW_MANY] == expected
    assert (state.shared[FIRST:] == 0.25).sum() == expected
    assert np.isfinite(LEARNER.model(state)).all()


def test_the_model_is_that_of_the_forecasters_by_their_weights() -> None:
    rng = np.random.default_rng(0)
    state, record = begun(), begin_record(4)
    for i, z in enumerate(zs(0, 40)):
        if i % 7 == 3:
            state = LEARNER.merge(state, told_coefficients(*rng.normal(size=3), number=i))
        y, forecasts = float(rng.normal()), forecasts_of(state, z)
        state = learned(seen(state, z), z, y)
        record = scored(record, (y - forecasts) ** 2)
        np.testing.assert_allclose(state.record, record, rtol=1e-6, atol=1e-9)
        again = zs(100 + i, 1)[0]
        expected = weights_of(state.record) @ forecasts_of(state, again)
        assert LEARNER.model(state) @ again == pytest.approx(expected, rel=1e-9, abs=1e-12)


def lived(shared: FloatArray, truth: FloatArray, count: int, seed: int = 0) -> Any:
    """A device whose fleet knows `shared`, where the samples follow `truth`."""
    state = LEARNER.merge(begun(), told_coefficients(*shared))
    rng = np.random.default_rng(seed)
    for z in zs(seed, count):
        state = learned(seen(state, z), z, float(truth @ z + 0.1 * rng.normal()))
    return state


def test_a_device_believes_its_fleet_where_that_is_right() -> None:
    truth = np.zeros(FEATURES)
    truth[-1], truth[-2] = 2.0, -1.0
    state = lived(np.array([0.0, 2.0, -1.0]), truth, 60)
    weights = weights_of(state.record)
    assert weights[2] < 0.05
    # If nonsense is told afterwards, that is believed for a while: a loss is cut.
    ruined = LEARNER.merge(state, told_coefficients(0.0, 1e3, 1e3, number=2))
    for z in zs(9, 80):
        ruined = learned(seen(ruined, z), z, float(truth @ z))
    assert weights_of(ruined.record)[0] < 0.01
    z = zs(10, 1)[0]
    assert LEARNER.model(ruined) @ z == pytest.approx(truth @ z, abs=0.5)


def test_a_device_unlike_its_fleet_believes_itself() -> None:
    truth = np.linspace(-3, 3, FEATURES)
    state = lived(np.array([0.0, 500.0, -400.0]), truth, 150)
    assert weights_of(state.record)[0] < 1e-3
    alone = lived(np.array([1.0]), truth, 150)
    errors = [
        np.mean([(LEARNER.model(s) @ z - truth @ z) ** 2 for z in zs(7, 50)])
        for s in (state, alone)
    ]
    assert errors[0] < 4 * errors[1] + 0.1


def test_its_own_model_learns_at_two_speeds() -> None:
    """The steps in place are those of the learner, on what the first model leaves over."""
    state, plain = begun(), two_speed.begin(FEATURES)
    start = np.random.default_rng(0).normal(size=FEATURES)
    rng = np.random.default_rng(5)
    for z in zs(5, 60):
        y = float(rng.normal())
        state = learned(seen(state, z), z, y)
        plain = two_speed.learn(two_speed.FORGETTING, 0.0, plain, z, y - start @ z, STEP, 0)
    np.testing.assert_allclose(state.own, [plain.w, plain.lead], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(state.own_trust, plain.trust, rtol=1e-9)


def test_a_late_label_is_judged_by_what_was_predicted_then() -> None:
    """Not by a model that has heard of it, or of later samples, meanwhile."""
    every, state = zs(0, WAITING), begun()
    forecasts = []
    for z in every:
        forecasts.append(forecasts_of(state, z))
        state = seen(state, z)
        news = told_coefficients(*z[:3], number=len(forecasts))
        state = LEARNER.merge(state, news)  # the shared model goes on
    for i in np.random.default_rng(1).permutation(WAITING)[:10].tolist():
        before = state.record.copy()
        state = learned(state, every[i], float(i))
        expected = scored(before, (i - forecasts[i]) ** 2)
        np.testing.assert_allclose(state.record, expected, rtol=1e-9)
        assert (state.record != before).any()


def test_while_no_forecast_was_judged_a_device_believes_the_shared_model() -> None:
    """Of the samples before the newest ones, the second is none of those that are kept."""
    state, every = begun(), zs(0, WAITING + 2)
    for z in every:
        state = seen(state, z)
    before = LEARNER.model(state)
    state = learned(state, every[1], 1.0)
    np.testing.assert_array_equal(state.record, begun().record)
    assert state.sums[COUNT] == 1.0
    np.testing.assert_array_equal(LEARNER.model(state), before)
    state = learned(state, every[0], 1.0)
    assert (LEARNER.model(state) != before).any()


@pytest.mark.parametrize(("coefficients", "best"), [((0.0, 2.0, -1.0), 0), ((1.0, 9.0), 3)])
def test_of_labels_a_week_late_a_device_learns_who_diverges(
    coefficients: tuple[float, ...], best: int
) -> None:
    """At so large a step the corrected model and its own do, the shared one and the filter do not.

    Errors count from the sixth week on: in the second, the first labels of what a forecaster that
    has learned foretold have not come yet, and of later ones every eighth is judged.
    """
    count, rng = 16 * WEEK, np.random.default_rng(3)
    z = zs(4, count)
    y = 2.0 * z[:, -1] - z[:, -2] + 0.3 * rng.normal(size=count)
    state, errors, mine = LEARNER.merge(begun(), told_coefficients(*coefficients)), [], []
    for i in range(count):
        mine.append((y[i] - LEARNER.model(state) @ z[i]) ** 2)
        state = seen(state, z[i])
        errors.append((y[i] - state.waiting[i % WAITING, 2:]) ** 2)
        if i >= WEEK:
            state = LEARNER.learn(state, z[i - WEEK], float(y[i - WEEK]), 2.1, 0)
    forecasters = np.mean(errors[5 * WEEK :], axis=0)
    assert forecasters.argmin() == best
    assert np.log10(forecasters[1:3]).min() > 30
    assert 10 * np.log10(np.mean(mine[5 * WEEK :]) / forecasters[best]) < 0.1


def test_a_forecaster_that_is_lost_is_nobody_s_model() -> None:
    """Without weight it adds nothing, not even what is no number."""
    state = lived(np.array([0.0, 2.0, -1.0]), np.zeros(FEATURES), 20)
    state.record[-4:] = [0.0, 1e6, 1e6, 1e6]
    expected = LEARNER.model(state)
    state.correction[:], state.own[:], state.over[:] = np.nan, np.nan, np.nan
    np.testing.assert_array_equal(LEARNER.model(state), expected)


def test_a_label_of_a_sample_that_was_never_seen_is_learned() -> None:
    """As where a device was started between the two."""
    state = learned(begun(), zs(0, 1)[0], 1.0)
    np.testing.assert_array_equal(state.record, begun().record)
    assert state.sums[COUNT] == 1.0


def test_a_forecaster_that_blows_up_is_not_believed() -> None:
    """A step far too large makes the two that take steps diverge; the shared model remains."""
    truth = np.zeros(FEATURES)
    truth[-1], truth[-2] = 2.0, -1.0
    state = LEARNER.merge(begun(), told_coefficients(0.0, 2.0, -1.0))
    for z in zs(0, 40):
        state = LEARNER.learn(seen(state, z), z, float(truth @ z), 9.0, 0)
    z = zs(1, 1)[0]
    assert np.abs(forecasts_of(state, z)[2]) > 1e3
    weights = weights_of(state.record)
    assert np.isfinite(weights).all()
    assert weights[2] < 1e-6
