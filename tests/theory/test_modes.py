"""Models in the modes of R_k are the same models."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.arrays import FloatArray, IntArray
from paofed.theory.modes import Modes


class Case(NamedTuple):
    """Matrices that are symmetric, models, and coordinates of theirs with values for them."""

    R: FloatArray  # (K, D, D)
    models: FloatArray  # (K, D)
    coordinates: IntArray  # (K, m), rising
    values: FloatArray  # (K, m)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    clients, features = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    size = draw(st.integers(1, features))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    root = rng.normal(size=(clients, features, features))
    if draw(st.booleans()):
        root[:, :, 0] = 0.0  # one mode of rate zero
    order = np.argsort(rng.random((clients, features)), axis=1)
    return Case(
        root @ np.swapaxes(root, 1, 2),
        rng.normal(size=(clients, features)),
        np.sort(order[:, :size], axis=1),
        rng.normal(size=(clients, size)),
    )


def in_coordinates(v: FloatArray, modes: Modes) -> FloatArray:
    models: FloatArray = np.einsum("kji,ki->kj", modes.Q, v)
    return models


def assert_close(found: FloatArray, expected: FloatArray) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@given(cases())
def test_a_product_with_the_matrix_is_one_by_the_rates(case: Case) -> None:
    modes = Modes.of(case.R)
    v = modes.of_models(case.models)
    assert_close(in_coordinates(v, modes), case.models)
    product = np.einsum("kij,kj->ki", case.R, case.models)
    assert_close(in_coordinates(modes.rates * v, modes), product)
    assert_close(np.linalg.norm(v, axis=1), np.linalg.norm(case.models, axis=1))
    assert (np.diff(modes.rates, axis=1) >= 0).all()


@given(cases(), st.sampled_from([1, 10, 2**18]))
def test_windows_are_seen_and_overwritten_in_blocks_of_any_size(case: Case, block: int) -> None:
    modes = Modes.of(case.R)
    v = modes.of_models(case.models)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("paofed.theory.modes._BLOCK", block)
        seen = modes.seen(v, case.coordinates)
        changed = modes.overwritten(v, case.coordinates, case.values)
    assert_close(seen, np.take_along_axis(case.models, case.coordinates, axis=1))
    expected = case.models.copy()
    np.put_along_axis(expected, case.coordinates, case.values, axis=1)
    assert_close(in_coordinates(changed, modes), expected)
    assert_close(in_coordinates(v, modes), case.models)
