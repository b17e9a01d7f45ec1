"""Means and second moments against the mean over everything that can happen in tiny fleets."""

import numpy as np
import pytest

from paofed.algorithms.setup import resolve
from paofed.theory.exact.small_fleet import second_order
from tests.effort import effort, some
from tests.theory.exact.futures import SETTINGS, Habits, known, over_futures

PAO_FED = [f"pao-fed-{version}:shared=2" for version in ("c0", "u0", "c1", "u1", "c2", "u2")]
FAMILY = [
    "online-fedsgd",
    *PAO_FED,
    "pao-fed-u0:shared=2,divisor=coverage",
    "pao-fed-u2:shared=1,divisor=coverage",
    "pao-fed-c2:shared=2,exchange=single",
    "pao-fed-u1:shared=1,exchange=live",
    "pao-fed-u2:shared=2,exchange=live",
    "online-fedsgd:exchange=live",
    "online-fedsgd:exchange=single",
    "pao-fed-u1:shared=2,max_age=1",
    "pao-fed-c1:shared=2,max_age=0,exchange=live",
]
PICKING = [
    "online-fed:subset=0.5",
    "pso-fed:subset=0.5,shared=2,coordinated=false,exchange=single",
    "online-fed:subset=1",
    "pso-fed:subset=1,shared=2",
    "pso-fed:subset=1,shared=1,coordinated=false,exchange=live",
    "pso-fed:subset=2,shared=2",
]


def assert_exact(fleet: tuple[Habits, ...], text: str, ticks: int) -> None:
    method = resolve(text)
    expected = over_futures(fleet, method, ticks)
    small = known(fleet)
    found = second_order(small, method, SETTINGS, np.arange(ticks))
    np.testing.assert_allclose(found.models, expected.models, rtol=0, atol=1e-12)
    squares = found.covariance + found.models[:, :, None] * found.models[:, None, :]
    np.testing.assert_allclose(squares, expected.squares, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.error(small).mse, expected.mse, rtol=0, atol=1e-12)


# Messages overtake each other, meet in one tick, and some come with the newer of the same client.
ALONE = (Habits(data=0.9, there=0.7, late=(0.3, 0.2, 0.5)),)
# One client is there now and then, the other always; both are late now and then.
PAIR = (Habits((0,), there=0.6, late=(0.3, 0.7)), Habits((1,), late=(0.6, 0.4)))
# Neither is sure to have a sample, nor to be there.
SELDOM = (Habits((0,), 0.8, 0.5), Habits((1,), 0.9, 0.4))
# Samples differ and are noisy.
NOISY = (Habits((0, 1, 2), data=0.8, there=0.5, late=(0.4, 0.6), noisy=True),)
# Numbers of the lottery: the clients' own never tie.
DRAWN = (
    Habits((0,), 0.9, 0.6, numbers=(0.1, 0.7)),
    Habits((1,), 0.8, 0.7, numbers=(0.2, 0.6)),
)


@pytest.mark.parametrize("text", some(FAMILY, everyday=3))
def test_messages_of_one_client_that_overtake_each_other(text: str) -> None:
    assert_exact(ALONE, text, ticks=effort(everyday=3, thorough=4))


@pytest.mark.parametrize("text", some(FAMILY, everyday=3))
def test_two_clients_whose_messages_meet(text: str) -> None:
    assert_exact(PAIR, text, ticks=3)


@pytest.mark.parametrize("text", some(FAMILY, everyday=2))
def test_clients_with_samples_now_and_then(text: str) -> None:
    assert_exact(SELDOM, text, ticks=2)


@pytest.mark.parametrize("text", some(FAMILY, everyday=1))
def test_samples_that_differ_and_are_noisy(text: str) -> None:
    assert_exact(NOISY, text, ticks=2)


@pytest.mark.parametrize("text", some(PICKING, everyday=2))
def test_servers_that_pick(text: str) -> None:
    assert_exact(DRAWN, text, ticks=2)
