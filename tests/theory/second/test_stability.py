"""The largest stable step against cases that are known and against the exact recursion."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paofed.algorithms.base import Settled
from paofed.algorithms.setup import resolve
from paofed.core.arrays import FloatArray, IntArray
from paofed.theory.exact.sample_moments import SampleLaw, SampleMoments
from paofed.theory.exact.small_fleet import SmallFleet, growth_in_square
from paofed.theory.fleet import Contacts, FleetInTheory
from paofed.theory.moments import Moments
from paofed.theory.sample_points import SamplePoints
from paofed.theory.second.stability import largest_step, stable_step

SETTINGS = Settled(step_size=0.5, max_age=10)
Z = np.array([[1.2, 0.1], [0.1, 1.0], [0.5, -0.6]])
CHANCES = np.array([0.5, 0.3, 0.2])


def fleets(contacts: Contacts) -> tuple[SmallFleet, FleetInTheory]:
    """Clients that all see the points Z, as the exact recursion and as theory at large has them."""
    number = contacts.data.size
    y = np.zeros(len(Z))
    moments = SampleMoments.of([SampleLaw(Z, y, CHANCES)] * number)
    correlation = np.repeat(((Z * CHANCES[:, None]).T @ Z)[None], number, axis=0)

    def points(clients: IntArray, _: int) -> SamplePoints:
        shape = (clients.size, len(Z))
        z = np.broadcast_to(Z, (*shape, Z.shape[1]))
        return SamplePoints(z, np.zeros(shape), np.broadcast_to(CHANCES, shape), np.zeros(shape[0]))

    return (
        SmallFleet(moments, contacts, Z, y),
        FleetInTheory(
            Moments(correlation, np.zeros(correlation.shape[:2]), 0.0, 0.0),
            contacts,
            Z,
            y,
            points,
            test_noise=0.0,
        ),
    )


def contacts_of(clients: int, there: float, late: tuple[float, ...] = (1.0,)) -> Contacts:
    return Contacts(
        data=np.ones(clients),
        available=np.full(clients, there),
        ages=np.arange(len(late)),
        late=np.tile(late, (clients, 1)),
    )


@given(
    st.lists(st.floats(0.1, 3.0), min_size=1, max_size=4),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=25)
def test_orthogonal_samples_are_stable_up_to_two_over_the_longest(
    lengths: list[float], seed: int
) -> None:
    """A step along one of them does nothing to the others: each allows for 2 / |z|^2."""
    rng = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(rng.standard_normal((len(lengths), len(lengths))))
    weights = rng.dirichlet(np.ones(len(lengths))) * 0.9 + 0.1 / len(lengths)
    z = basis * np.array(lengths)[:, None]
    assert largest_step(z, weights, weights) == pytest.approx(2 / max(lengths) ** 2, rel=1e-6)


def test_a_step_that_is_averaged_over_many_is_limited_by_the_mean_alone() -> None:
    """With a hundred thousand senders nothing is left of what the randomness of samples adds."""
    correlation: FloatArray = (Z * CHANCES[:, None]).T @ Z
    found = largest_step(Z, CHANCES, CHANCES * 1e-5)
    assert found == pytest.approx(2 / np.linalg.eigvalsh(correlation)[-1], rel=2e-3)


@pytest.mark.parametrize(
    ("text", "clients", "there", "late"),
    [
        ("online-fedsgd", 1, 0.5, (1.0,)),
        ("online-fedsgd", 3, 0.7, (1.0,)),
        ("online-fed:subset=0.5", 3, 0.9, (1.0,)),
        ("online-fedsgd", 2, 0.6, (0.5, 0.5)),
        ("pao-fed-c1:shared=1", 2, 0.001, (1.0,)),
    ],
)
def test_deviations_grow_above_the_largest_stable_step_and_not_below(
    text: str, clients: int, there: float, late: tuple[float, ...]
) -> None:
    small, large = fleets(contacts_of(clients, there, late))
    method = resolve(text)
    step = stable_step(large, method, SETTINGS).step
    below, above = (
        growth_in_square(small, replace(method, step_size=factor * step), SETTINGS)
        for factor in (0.99, 1.01)
    )
    assert below < 1 < above


def test_windows_are_limited_by_the_client_with_the_longest_features() -> None:
    _, alike = fleets(contacts_of(3, 0.5))
    lengths = np.array([1.0, 1.5, 1.2])

    def points(clients: IntArray, number: int) -> SamplePoints:
        same = alike.samples(clients, number)
        return same._replace(z=same.z * lengths[clients, None, None])

    moments = alike.moments._replace(R=alike.moments.R * lengths[:, None, None] ** 2)
    fleet = alike._replace(moments=moments, samples=points)
    found = stable_step(fleet, resolve("pao-fed-u1:shared=1"), SETTINGS)
    assert found.client == 1
    assert found.step == pytest.approx(largest_step(Z, CHANCES, CHANCES) / 1.5**2)
