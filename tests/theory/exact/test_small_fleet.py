"""Curves and their parts, steady states, growth in the square, and what is refused."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paofed.algorithms.base import Settled
from paofed.algorithms.setup import resolve
from paofed.core.metrics import decibels
from paofed.errors import AlgorithmError, InputError
from paofed.theory.exact.recursion import SecondMoments
from paofed.theory.exact.sample_moments import SampleLaw, SampleMoments
from paofed.theory.exact.small_fleet import SmallFleet, growth_in_square, second_order, steady_state
from paofed.theory.fleet import Contacts
from paofed.theory.mean import growth, predict
from tests.effort import effort, some
from tests.theory.fleets import as_means_need

U1 = resolve("pao-fed-u1:shared=1")
STEP = Settled(0.8, 5)


def fleet_of(
    clients: int = 2,
    *,
    seed: int = 0,
    data: float = 0.9,
    there: float = 0.6,
    late: tuple[float, ...] = (0.7, 0.3),
    noise: float = 0.2,
) -> SmallFleet:
    """Two features, three samples per client that tell them well apart; nothing fits all."""
    rng = np.random.default_rng(seed)
    z = np.array([[1.2, 0.1], [0.0, 1.0], [0.5, -0.6]]) + rng.normal(0, 0.1, (clients, 3, 2))
    y, chance = rng.normal(size=(clients, 3)), np.array([0.5, 0.3, 0.2])
    contacts = Contacts(
        np.full(clients, data),
        there * data * np.linspace(0.7, 1.0, clients),
        np.arange(len(late)),
        np.tile(late, (clients, 1)),
    )
    laws = [SampleLaw(z[k], y[k], chance) for k in range(clients)]
    judged = z.reshape(-1, 2), y.ravel()
    return SmallFleet(SampleMoments.of(laws, noise), contacts, *judged, test_noise=0.05)


@pytest.mark.parametrize(
    "text", some(["pao-fed-u1:shared=1", "pao-fed-c2:shared=1,exchange=live"], everyday=1)
)
def test_the_steady_state_is_where_the_curve_ends(text: str) -> None:
    fleet, method = fleet_of(), resolve(text)
    ended = steady_state(fleet, method, STEP)
    assert ended.ticks.tolist() == [0, 1]  # windows are where they were after two ticks
    late = second_order(fleet, method, STEP, np.array([180, 181]))
    np.testing.assert_allclose(ended.models, late.models, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ended.of_inputs, late.of_inputs, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ended.of_noise, late.of_noise, rtol=0, atol=1e-9)
    assert ended.error(fleet).of_noise.min() > 1e-3


def test_growth_is_that_of_deviations_in_the_end() -> None:
    fleet = fleet_of()
    recursion = SecondMoments(fleet.samples.without_target(), fleet.contacts, U1, STEP)
    squares = recursion.deviations()
    for n in range(160):
        squares = recursion.tick(squares, n)
    later = squares
    for n in range(160, 170):
        later = recursion.tick(later, n)
    factor = (np.linalg.norm(later) / np.linalg.norm(squares)) ** 0.1
    assert growth_in_square(fleet, U1, STEP) == pytest.approx(factor, rel=1e-8)


def test_rounding_that_is_not_symmetric_does_not_live_on() -> None:
    """Else growth would be found of what are no moments at all."""
    fleet = fleet_of()
    recursion = SecondMoments(fleet.samples, fleet.contacts, U1, STEP)
    skewed = recursion.start()
    skewed[0, 1:7, 1:7] = np.triu(np.ones((6, 6)))
    moved = recursion.tick(skewed, 0)
    np.testing.assert_array_equal(moved, moved.transpose(0, 2, 1))


def test_squares_of_many_features_grow_little_faster_than_the_square_of_the_mean() -> None:
    """Steps are small, so most of what moves deviations is the mean of a step."""
    rng = np.random.default_rng(0)
    z, chance = rng.normal(size=(12, 4)) / 2, np.full(8, 1 / 8)
    laws = [SampleLaw(z[k : k + 8], np.zeros(8), chance) for k in range(4)]
    contacts = Contacts(
        np.full(4, 0.8), np.linspace(0.3, 0.6, 4), np.zeros(1, dtype=np.int64), np.ones((4, 1))
    )
    fleet = SmallFleet(SampleMoments.of(laws), contacts, z, np.zeros(12))
    method, small_steps = resolve("pao-fed-c0:shared=2"), Settled(0.4, 0)
    slowest = growth(as_means_need(fleet), [method], small_steps, 600)[0]
    found = growth_in_square(fleet, method, small_steps)
    assert slowest**2 < found < slowest**2 + 0.001


def test_the_parts_of_an_error() -> None:
    fleet = fleet_of()
    found = second_order(fleet, U1, STEP, np.array([0, 5, 40]))
    parts, z, y = found.error(fleet), fleet.z_test, fleet.y_test
    squares = found.covariance + found.models[:, :, None] * found.models[:, None, :]
    square_of_prediction = np.einsum("ti,pij,tj->pt", z, squares, z)
    expected = fleet.test_noise + (square_of_prediction - 2 * y * (found.models @ z.T) + y**2).mean(
        axis=1
    )
    np.testing.assert_allclose(parts.mse, expected, rtol=1e-12)
    np.testing.assert_allclose(parts.db, decibels(expected), rtol=1e-12)
    best = np.linalg.solve(z.T @ z, z.T @ y)
    assert parts.residual == pytest.approx(np.mean((y - z @ best) ** 2), rel=1e-12)
    assert parts.test_noise == 0.05
    of_mean = np.mean((y - found.models @ z.T) ** 2, axis=1) - parts.residual
    np.testing.assert_allclose(parts.of_mean, of_mean, rtol=1e-10)


chances = st.floats(0.0, 1.0)
METHODS = [
    "online-fedsgd",
    "online-fed:subset=1",
    "pso-fed:subset=0.5,shared=1",
    "pao-fed-c0:shared=1",
    "pao-fed-u1:shared=1,exchange=single",
    "pao-fed-u2:shared=1,exchange=live",
]


@given(st.sampled_from(METHODS), chances, chances, chances, st.integers(1, 2), st.integers(0, 99))
@settings(max_examples=effort(everyday=6, thorough=60))
def test_moments_are_those_of_something(
    text: str, data: float, there: float, fresh: float, clients: int, seed: int
) -> None:
    """Chances add up to 1, covariances are none below 0, and noise counts in proportion."""
    late = (fresh, 1 - fresh)
    fleet = fleet_of(clients, seed=seed, data=data, there=there, late=late)
    method = resolve(text)
    recursion = SecondMoments(fleet.samples, fleet.contacts, method, STEP)
    squares = recursion.start()
    for n in range(4):
        squares = recursion.tick(squares, n)
    assert squares[:, 0, 0].sum() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(squares, squares.transpose(0, 2, 1), rtol=0, atol=1e-12)
    assert np.linalg.eigvalsh(squares).min() > -1e-12
    louder = fleet._replace(samples=fleet.samples._replace(noise=3 * fleet.samples.noise))
    one, three = (second_order(f, method, STEP, np.array([3])) for f in (fleet, louder))
    np.testing.assert_allclose(three.of_noise, 3 * one.of_noise, rtol=1e-9, atol=1e-14)
    np.testing.assert_array_equal(three.of_inputs, one.of_inputs)
    for covariance in (one.of_inputs, one.of_noise):
        assert np.linalg.eigvalsh(covariance).min() > -1e-12


@given(st.sampled_from([m for m in METHODS if "live" not in m and "=1" not in m[-8:]]), chances)
@settings(max_examples=effort(everyday=5, thorough=30))
def test_means_are_those_of_the_mean_recursion_where_that_is_exact(text: str, there: float) -> None:
    """Where all messages are equally late; and squares grow no slower than the mean does."""
    fleet, method = fleet_of(there=there, late=(0.0, 1.0)), resolve(text)
    mean, points = as_means_need(fleet), np.arange(8)
    found = second_order(fleet, method, STEP, points)
    expected = predict(mean, [method], STEP, points).models[0]
    np.testing.assert_allclose(found.models, expected, rtol=0, atol=1e-12)
    slowest = growth(mean, [method], STEP, 100)[0]
    assert growth_in_square(fleet, method, STEP) > slowest**2 - 0.02


def test_what_blows_up_has_no_steady_state_but_a_curve() -> None:
    fleet, method = fleet_of(), resolve("pao-fed-u1:shared=1,step_size=3.0")
    assert growth_in_square(fleet, method, STEP) > 1
    with pytest.raises(
        InputError, match=r"no steady state: .* grow by .* per tick; take a smaller"
    ):
        steady_state(fleet, method, STEP)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert second_order(fleet, method, STEP, np.array([60])).error(fleet).db[0] > 30


def test_where_nothing_happens_nothing_moves() -> None:
    fleet = fleet_of(data=0.0, there=0.0)
    assert growth_in_square(fleet, U1, STEP) == pytest.approx(1.0, rel=1e-12)
    ended = steady_state(fleet, U1, STEP)
    assert not ended.models.any()
    assert not ended.covariance.any()


def test_messages_that_are_all_too_late_move_nothing() -> None:
    fleet = fleet_of(late=(0.0, 0.0, 0.5, 0.5))
    found = second_order(fleet, resolve("pao-fed-u1:shared=1,max_age=1"), STEP, np.array([9]))
    assert not found.models.any()
    assert not found.covariance.any()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pao-fed-u1:shared=3", "only 2 features"),
        ("pao-fed-c0:shared=1,exchange=single", "cannot do exchange 'single'"),
        ("pao-fed-u1:shared=1,clip=6", "the exact recursion knows linear rules alone"),
        ("pao-fed-u1:shared=1,learner=rls", "the exact recursion knows LMS steps alone"),
    ],
)
def test_what_is_not_linear_or_does_not_fit_is_refused(text: str, words: str) -> None:
    with pytest.raises(AlgorithmError, match=words):
        growth_in_square(fleet_of(), resolve(text), STEP)


def test_fleets_that_are_not_small_are_refused() -> None:
    late = (0.25,) * 4
    with pytest.raises(InputError, match=r"4 clients .* age 3 have 2\^16 .* a lower max_age"):
        growth_in_square(fleet_of(4, late=late), U1, STEP)
    growth_in_square(fleet_of(4, late=late), resolve("pao-fed-u1:shared=1,max_age=0"), STEP)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"data": np.array([0.9])}, r"shapes .* and there are 2 clients"),
        ({"available": np.array([0.5, 0.95])}, "0 <= contacts <= samples <= 1"),
        ({"available": np.array([0.5, np.nan])}, "0 <= contacts <= samples <= 1"),
        ({"ages": np.array([1, 0])}, "rising whole numbers"),
        ({"late": np.full((2, 2), 0.6)}, "sum is at most 1"),
    ],
)
def test_chances_that_are_none_are_refused(changed: dict[str, np.ndarray], words: str) -> None:
    fleet = fleet_of()
    with pytest.raises(InputError, match=words):
        second_order(
            fleet._replace(contacts=fleet.contacts._replace(**changed)), U1, STEP, np.arange(2)
        )


Z, Y, P = np.eye(2), np.ones(2), np.full(2, 0.5)


@pytest.mark.parametrize(
    ("law", "words"),
    [
        (SampleLaw(Z, Y[:1], P), r"client 0 has inputs of shape \(2, 2\), targets \(1,\)"),
        (SampleLaw(Z + np.inf, Y, P), "client 0 may see samples that are no numbers"),
        (SampleLaw(Z, Y, P * 1.1), "client 0's samples are .* whose sum is 1"),
        (SampleLaw(Z, Y, np.array([1.5, -0.5])), "client 0's samples are"),
    ],
)
def test_laws_of_samples_that_are_none_are_refused(law: SampleLaw, words: str) -> None:
    with pytest.raises(InputError, match=words):
        SampleMoments.of([law])


def test_clients_that_differ_in_size_and_noise_below_nothing_are_refused() -> None:
    law = SampleLaw(Z, Y, P)
    with pytest.raises(InputError, match=r"clients have \[2, 1\] features"):
        SampleMoments.of([law, SampleLaw(Z[:, :1], Y, P)])
    for noise in (-0.1, np.nan, [0.1, 0.1]):
        with pytest.raises(InputError, match="expected a variance from 0 on"):
            SampleMoments.of([law], noise)
