"""Clients that are alike come together, and sums over them are sums over clients."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from paofed.theory.fleet import Contacts, FleetInTheory
from paofed.theory.second.groups import FINEST, Detail, Groups
from tests.theory.fleets import fleet_of

ALL = np.array([True])


def sixteen() -> FleetInTheory:
    """Two rates of data, four of contacts, two laws: every combination once."""
    wide, narrow = np.eye(2) / 2, np.diag([0.9, 0.1])
    k = np.arange(16)
    data = np.where(k % 2, 1.0, 0.5)
    there = np.array([0.5, 0.2, 0.1, 0.05])[k // 2 % 4]
    correlations = np.where((k >= 8)[:, None, None], wide, narrow)
    return fleet_of(correlations, data=data, available=data * there)


def test_groups_go_by_presence_and_classes_by_data_and_law() -> None:
    fleet = sixteen()
    groups = Groups.of(fleet, 0.5, ALL, Detail(groups=4, classes=4))
    assert groups.group_size.tolist() == [4, 4, 4, 4]
    assert groups.size.tolist() == [1] * 16
    merged = Groups.of(fleet, 0.5, ALL, Detail(groups=2, classes=2))
    assert merged.group_size.tolist() == [8, 8]
    there = fleet.contacts.available / fleet.contacts.data
    in_first = merged.of_class[merged.of_client] == 0
    assert there[in_first].max() < there[~in_first].min()
    for f in range(4):  # classes of four: one rate of data each
        members = merged.of_client == f
        assert np.unique(fleet.contacts.data[members]).size == 1
        np.testing.assert_allclose(
            merged.contact[f], 0.5 * fleet.contacts.available[members].mean()
        )


def test_each_client_may_be_a_group_of_its_own() -> None:
    groups = Groups.of(sixteen(), 1.0, ALL, FINEST)
    assert groups.of_client.tolist() == groups.of_class.tolist() == list(range(16))


def test_a_client_that_never_has_data_has_a_place() -> None:
    fleet = sixteen()
    data = fleet.contacts.data * (np.arange(16) > 0)
    never = Contacts(data, np.minimum(fleet.contacts.available, data), *fleet.contacts[2:])
    groups = Groups.of(fleet._replace(contacts=never), 1.0, ALL, Detail())
    assert groups.size.sum() == 16
    assert groups.data[groups.of_client[0]] < 1.0


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 6))
def test_sums_and_means_are_those_over_members(seed: int, number: int, classes: int) -> None:
    groups = Groups.of(sixteen(), 1.0, ALL, Detail(groups=number, classes=classes))
    values = np.random.default_rng(seed).normal(size=(16, 3))
    np.testing.assert_allclose(groups.totals(values).sum(axis=0), values.sum(axis=0), atol=1e-12)
    by_group = groups.by_group(groups.means(values))
    np.testing.assert_allclose(groups.group_size @ by_group, values.sum(axis=0), atol=1e-12)
    by_class = groups.sum_by_group(groups.totals(values).T).T
    np.testing.assert_allclose(by_class, by_group * groups.group_size[:, None], atol=1e-12)
    np.testing.assert_allclose(groups.squares(values).sum(axis=0), values.T @ values, atol=1e-12)
