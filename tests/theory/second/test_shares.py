"""Moments of the weights of messages, against all that may arrive."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from paofed.core.arrays import FloatArray
from paofed.theory.second.groups import Groups
from paofed.theory.second.shares import Shares, of_presence
from tests.effort import effort


@st.composite
def some_groups(draw: st.DrawFn) -> Groups:
    """Up to five clients, in classes of one group or two; all members of a group arrive alike."""
    sizes = draw(st.lists(st.integers(1, 2), min_size=1, max_size=3))
    of_class = np.sort(draw(st.permutations([0] + [1] * (len(sizes) - 1))))
    chance = st.floats(0.0, 1.0)
    by_group = np.array([[draw(chance) for _ in range(int(of_class.max()) + 1)] for _ in range(2)])
    rates = np.ones(len(sizes))
    of_client = np.repeat(np.arange(len(sizes)), sizes)
    return Groups(of_client, of_class, np.array(sizes), rates, rates, by_group[:, of_class])


def enumerated(groups: Groups, age: int, alpha: float) -> tuple[FloatArray, FloatArray]:
    """E[weight] by client, E[weight weight'] by pair of clients: a sum over who arrives."""
    q = groups.arriving[age, groups.of_client]
    first, product_of_two = np.zeros(q.size), np.zeros((q.size, q.size))
    for arrived in product([False, True], repeat=q.size):
        here = np.array(arrived)
        chance = np.where(here, q, 1 - q).prod()
        weights = alpha * here / max(here.sum(), 1)
        first += chance * weights
        product_of_two += chance * np.outer(weights, weights)
    return first, product_of_two


@settings(max_examples=effort(everyday=25, thorough=300), deadline=None)
@given(some_groups(), st.floats(0.1, 1.0))
def test_weights_are_those_of_all_that_may_arrive(groups: Groups, alpha: float) -> None:
    shares = Shares.of(groups, np.full(2, alpha))
    member, clients = groups.of_client, np.arange(groups.of_client.size)
    for age in range(2):
        first, both = enumerated(groups, age, alpha)
        np.testing.assert_allclose(shares.first[age, member], first, rtol=0, atol=1e-12)
        np.testing.assert_allclose(shares.square[age, member], np.diag(both), rtol=0, atol=1e-12)
        apart = clients[:, None] != clients
        of_two = shares.product[age][member[:, None], member]
        np.testing.assert_allclose(of_two[apart], both[apart], rtol=0, atol=1e-12)
        np.testing.assert_allclose(shares.pairs[age].sum(), both[apart].sum(), rtol=0, atol=1e-12)
        moved = alpha * (1 - np.prod(1 - groups.arriving[age, member]))
        np.testing.assert_allclose(shares.moved[age], moved, rtol=0, atol=1e-12)


@settings(max_examples=effort(everyday=15, thorough=200), deadline=None)
@given(some_groups(), st.integers(0, 2**32 - 1))
def test_who_is_there_matters_as_much_as_its_covariance_says(groups: Groups, seed: int) -> None:
    pulls = np.random.default_rng(seed).normal(size=(groups.of_client.size, 3))
    shares = Shares.of(groups, np.ones(2))
    first, both = enumerated(groups, 0, 1.0)
    expected = pulls.T @ (both - np.outer(first, first)) @ pulls
    found = of_presence(groups, pulls, shares.first[0], shares.square[0], shares.product[0])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


def test_who_does_not_hold_a_coordinate_is_no_companion() -> None:
    """Two clients that always arrive, and hold a coordinate half of the time: 1 or 1/2 is left."""
    always = np.ones((1, 1))
    groups = Groups(np.zeros(2, int), np.zeros(1, int), np.array([2]), always[0], always[0], always)
    shares = Shares.of(groups, np.ones(1), counted=0.5)
    np.testing.assert_allclose(shares.first[0], 0.5 * 1 + 0.5 * 0.5)
    np.testing.assert_allclose(shares.square[0], 0.5 * 1 + 0.5 * 0.25)
