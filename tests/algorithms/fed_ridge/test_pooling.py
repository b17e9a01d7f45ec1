"""Sums of devices in one total, which no device can ruin."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.algorithms.fed_ridge.pooling import (
    GROUPS,
    pooled,
    set_aside,
    total_without,
    usual_error,
)
from paofed.core.arrays import FloatArray
from paofed.core.sums import COUNT, add_all, size_of

FEATURES, CLIENTS = 3, 40
FIRST = np.eye(FEATURES)[0]  # the model with which a fleet begins


def known_of(
    seed: int,
    models: FloatArray,
    samples: int = 20,
    changed: Callable[[FloatArray], FloatArray] = lambda y: y,
    broken: int = 0,
) -> FloatArray:
    """Sums (K, S) of devices with models of their own (K, F); the first ones are broken."""
    rng = np.random.default_rng(seed)
    known = np.zeros((len(models), size_of(FEATURES)))
    for k, model in enumerate(models):
        u = rng.normal(size=(samples, FEATURES)) / 2
        y = u @ model + 0.1 * rng.normal(size=samples)
        add_all(known[k], u, changed(y) if k < broken else y)
    return known


def alike(clients: int = CLIENTS) -> FloatArray:
    return np.tile([0.5, -1.0, 2.0], (clients, 1))


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.data())
def test_a_total_is_that_of_devices_that_are_not_aside(
    seed: int, clients: int, data: st.DataObject
) -> None:
    known = known_of(seed, alike(clients))
    aside = np.array(data.draw(st.lists(st.booleans(), min_size=clients, max_size=clients)))
    totals = pooled(known, aside)
    np.testing.assert_allclose(total_without(-1, totals), known[~aside].sum(axis=0), rtol=1e-9)
    for group in range(GROUPS):
        others = ~aside & (np.arange(clients) % GROUPS != group)
        found = total_without(group, totals)
        np.testing.assert_allclose(found, known[others].sum(axis=0), rtol=1e-9, atol=1e-12)


@given(st.floats(11.0, 1e9), st.integers(0, 11))
def test_a_device_counts_as_ten_usual_ones_at_most(factor: float, talker: int) -> None:
    """Whether it has so many samples, or says so."""
    known = known_of(0, alike(12))
    usual = known.copy()
    known[talker] *= factor
    total = total_without(-1, pooled(known, np.zeros(12, dtype=bool)))
    expected = usual.sum(axis=0) + 9.0 * usual[talker]
    np.testing.assert_allclose(total, expected, rtol=1e-9)


def test_who_was_never_heard_counts_for_nothing() -> None:
    nobody = np.zeros((5, size_of(FEATURES)))
    assert not pooled(nobody, np.zeros(5, dtype=bool)).any()
    assert not set_aside(nobody, FIRST).any()
    some = np.concatenate([nobody, known_of(0, alike(12))])
    some[-1] *= 100.0  # ten usual devices of those who were heard
    total = total_without(-1, pooled(some, np.zeros(17, dtype=bool)))
    assert total[COUNT] == 11 * 20 + 10 * 20


def test_the_usual_error_is_that_of_the_usual_device() -> None:
    rng = np.random.default_rng(0)
    known, expected = np.zeros((6, size_of(FEATURES))), []
    for k, count in enumerate((5, 80, 20, 1, 40)):  # the last one was never heard
        u, y = rng.normal(size=(count, FEATURES)), rng.normal(size=count) * 10.0**k
        add_all(known[k], u, y)
        expected.append(np.mean((y - u[:, 0]) ** 2))
    assert usual_error(known, np.ones(1)) == pytest.approx(np.median(expected))
    assert usual_error(known[5:], np.ones(1)) == 0.0


NONSENSE: dict[str, Callable[[FloatArray], FloatArray]] = {
    "times 1000": lambda y: 1000.0 * y,
    "of the other sign": lambda y: -y,
    "stuck": lambda y: np.full_like(y, 50.0),
    "one spike": lambda y: np.append(y[1:], 1e6),
}


@pytest.mark.parametrize("shared", [FIRST, np.zeros(FEATURES), np.full(FEATURES, 1e6)])
@pytest.mark.parametrize("clients", [7, CLIENTS])
@pytest.mark.parametrize("fault", NONSENSE)
def test_nonsense_of_one_device_is_set_aside(fault: str, clients: int, shared: FloatArray) -> None:
    """From whichever shared model the search begins: it may have been ruined before."""
    known = known_of(1, alike(clients), changed=NONSENSE[fault], broken=1)
    assert set_aside(known, shared).tolist() == [True] + [False] * (clients - 1)


@pytest.mark.parametrize("fault", NONSENSE)
def test_several_do_not_hide_each_other(fault: str) -> None:
    """A fit to all of them is no fit to the usual one."""
    known = known_of(2, alike(), changed=NONSENSE[fault], broken=12)
    assert set_aside(known, FIRST).tolist() == [True] * 12 + [False] * 28


def test_a_device_with_wrong_sums_of_very_many_samples_is_set_aside() -> None:
    known = known_of(3, alike(), changed=NONSENSE["stuck"], broken=1)
    known[0] *= 1e5
    assert set_aside(known, FIRST).tolist() == [True] + [False] * 39


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.05]))
def test_of_devices_that_are_alike_nobody_is_aside(seed: int, apart: float) -> None:
    rng = np.random.default_rng(seed)
    models = alike() + apart * rng.normal(size=(CLIENTS, FEATURES))
    assert not set_aside(known_of(seed, models), FIRST).any()


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 40]))
def test_where_devices_differ_by_nature_nobody_is_aside(seed: int, kinds: int) -> None:
    """Half of them are unlike the others, or each is unlike all others."""
    rng = np.random.default_rng(seed)
    models = rng.normal(size=(kinds, FEATURES))[np.arange(CLIENTS) % kinds]
    assert not set_aside(known_of(seed, 3.0 * models), FIRST).any()


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.5, 3.0, 10.0]))
def test_of_nine_devices_unlike_each_other_nobody_is_aside(seed: int, length: float) -> None:
    """Their models are of one length, each in a direction of its own."""
    models = np.random.default_rng(seed).normal(size=(9, FEATURES))
    models *= length / np.linalg.norm(models, axis=1, keepdims=True)
    assert not set_aside(known_of(seed, models), FIRST).any()


@pytest.mark.parametrize(("broken", "found"), [(13, 13), (14, 0)])
def test_more_than_a_third_are_too_many_to_be_wrong(broken: int, found: int) -> None:
    known = known_of(4, alike(), changed=NONSENSE["times 1000"], broken=broken)
    assert set_aside(known, FIRST).sum() == found


def test_of_two_nobody_knows_who_is_wrong() -> None:
    known = known_of(0, alike(2), changed=NONSENSE["times 1000"], broken=1)
    assert not set_aside(known, FIRST).any()
