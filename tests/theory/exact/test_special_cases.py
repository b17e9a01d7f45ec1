"""Fleets for which the literature has formulas: plain LMS, averaged LMS, PSO-Fed without delays."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from paofed.algorithms.base import Settled
from paofed.algorithms.setup import resolve
from paofed.core.arrays import FloatArray
from paofed.theory.exact.sample_moments import SampleLaw, SampleMoments
from paofed.theory.exact.small_fleet import SmallFleet, growth_in_square, second_order, steady_state
from paofed.theory.fleet import Contacts
from tests.oracle import extended, literal
from tests.theory.exact.futures import FEATURES, MAP, NOISE, POINTS, TARGETS, Habits, known

D = 2
TRUTH = np.array([1.5, -0.5])
NOISE_OF_SAMPLES = 0.3
FULL = resolve("online-fedsgd")


def white(clients: int, delay: int = 0) -> SmallFleet:
    """Standard normal features of one true model, by a quadrature exact up to the fifth power."""
    nodes, weight = np.polynomial.hermite_e.hermegauss(3)
    z = np.array(list(product(nodes, repeat=D)))
    chance = np.prod(list(product(weight / weight.sum(), repeat=D)), axis=1)
    samples = SampleMoments.of([SampleLaw(z, z @ TRUTH, chance)] * clients, NOISE_OF_SAMPLES)
    always = np.ones(clients)
    contacts = Contacts(always, always, np.array([delay]), np.ones((clients, 1)))
    judges = np.sqrt(D) * np.eye(D)  # the excess error is the squared distance from the truth
    return SmallFleet(samples, contacts, judges, judges @ TRUTH)


def factor(mu: float, clients: int) -> float:
    """By how much the expected squared distance shrinks, for white normal features."""
    one = 1 - 2 * mu + (D + 2) * mu**2  # since E[z_i^4] = 3
    two = (1 - mu) ** 2  # steps of different clients
    return one / clients + two * (1 - 1 / clients)


@pytest.mark.parametrize(("mu", "clients"), [(0.3, 1), (0.49, 1), (0.4, 3)])
def test_plain_and_averaged_lms(mu: float, clients: int) -> None:
    fleet, settings = white(clients), Settled(mu, 0)
    rho, added = factor(mu, clients), mu**2 * NOISE_OF_SAMPLES * D / clients
    found = second_order(fleet, FULL, settings, np.arange(30)).error(fleet)
    n = np.arange(1, 31)
    expected = rho**n * (TRUTH @ TRUTH) + added * (1 - rho**n) / (1 - rho)
    np.testing.assert_allclose(found.mse, expected, rtol=1e-12)
    np.testing.assert_allclose(found.of_noise, added * (1 - rho**n) / (1 - rho), rtol=1e-12)
    assert growth_in_square(fleet, FULL, settings) == pytest.approx(rho, rel=1e-12)
    ended = steady_state(fleet, FULL, settings)
    spread = added / (1 - rho) / D * np.eye(D)
    np.testing.assert_allclose(ended.models[0], TRUTH, rtol=1e-10)
    np.testing.assert_allclose(ended.of_noise[0], spread, rtol=0, atol=1e-10)
    np.testing.assert_allclose(ended.of_inputs[0], 0.0, rtol=0, atol=1e-10)


@pytest.mark.parametrize("delay", [1, 3])
def test_growth_per_tick_is_slower_the_later_messages_are(delay: int) -> None:
    """With one client, the model of tick n + 1 is made from that of tick n - l."""
    for mu in (0.3, 0.6):
        found = growth_in_square(white(1, delay), FULL, Settled(mu, 10))
        assert found == pytest.approx(factor(mu, 1) ** (1 / (delay + 1)), rel=1e-9)


PSO_FED = (
    Habits((0, 2), data=0.9, there=0.8, noisy=True, numbers=(0.2, 0.7)),
    Habits((1,), data=0.8, there=0.5, numbers=(0.1, 0.6)),
)


def moved(squares: FloatArray, row: literal.Row, tick: int) -> FloatArray:
    """E[(1, w_e) (1, w_e)^T] after a tick of eq. (12), summed over all events of the clients."""
    after = np.zeros_like(squares)
    for events in product(*(habits.events() for habits in PSO_FED)):
        nature: dict[str, Any] = {
            "x": POINTS[[e.point for e in events]],
            "y": np.array([TARGETS[e.point] + e.noise for e in events]),
            "has_data": np.array([e.data for e in events]),
            "available": np.array([e.there for e in events]),
            "delay": np.array([e.delay for e in events]),
            "lottery": np.array([e.lottery for e in events]),
        }
        nature = {name: np.stack([values] * (tick + 1)) for name, values in nature.items()}
        nature |= {"frequencies": MAP.frequencies, "phases": MAP.phases}
        a, b = extended.a_matrix(nature, row, tick), extended.b_matrix(nature, row, tick)
        z, y = extended.z_matrix(nature, row, tick), extended.y_vector(nature, row, tick)
        learned = np.eye(len(z)) - row.step_size * z @ z.T
        matrix = np.eye(len(squares))
        matrix[1:, 1:], matrix[1:, 0] = b @ learned @ a, row.step_size * b @ z @ y
        chance = np.prod([e.probability for e in events])
        after += chance * matrix @ squares @ matrix.T
    return after


@pytest.mark.parametrize("coordinated", [True, False])
def test_pso_fed_without_delays(*, coordinated: bool) -> None:
    """The extended form, whose events are independent from tick to tick if nothing is late."""
    row = literal.row(
        "pso-fed", shared=2, subset=0.5, coordinated=coordinated, step_size=0.7, max_age=0
    )
    text = f"pso-fed:shared=2,subset=0.5,coordinated={str(coordinated).lower()}"
    ticks, size = 7, 1 + FEATURES * (1 + len(PSO_FED))
    found = second_order(known(PSO_FED), resolve(text), Settled(0.7, 0), np.arange(ticks))
    squares = np.zeros((size, size))
    squares[0, 0] = 1.0
    for n in range(ticks):
        squares = moved(squares, row, n)
        mean, server = squares[0, 1 : 1 + FEATURES], squares[1 : 1 + FEATURES, 1 : 1 + FEATURES]
        np.testing.assert_allclose(found.models[n], mean, rtol=0, atol=1e-12)
        covariance = server - np.outer(mean, mean)
        np.testing.assert_allclose(found.covariance[n], covariance, rtol=0, atol=1e-12)
    assert np.trace(found.of_noise[-1]) > 1e-3 * NOISE**2


@pytest.mark.parametrize("text", ["pao-fed-u1:shared=1", "pao-fed-c2:shared=1,exchange=live"])
def test_what_the_features_express_is_learned_without_error(text: str) -> None:
    fleet = white(2)
    seldom = Contacts(np.full(2, 0.9), np.full(2, 0.6), np.arange(2), np.full((2, 2), 0.5))
    fleet = fleet._replace(samples=fleet.samples.without_noise(), contacts=seldom)
    ended = steady_state(fleet, resolve(text), Settled(0.2, 1))
    np.testing.assert_allclose(ended.models, np.tile(TRUTH, (len(ended.ticks), 1)), rtol=1e-8)
    np.testing.assert_allclose(ended.covariance, 0.0, rtol=0, atol=1e-8)
