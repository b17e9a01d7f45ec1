"""Sums over samples against the samples themselves, and which numbers can be sums of samples."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.arrays import FloatArray
from paofed.core.sums import (
    COUNT,
    FIRST,
    SQUARES,
    add,
    add_all,
    add_sums,
    features_of,
    fitted,
    is_possible,
    leave_first_out,
    missed,
    size_of,
)


class Samples(NamedTuple):
    u: FloatArray  # (C, F)
    y: FloatArray  # (C,)

    @property
    def sums(self) -> FloatArray:
        sums = np.zeros(size_of(self.u.shape[1]))
        for u, y in zip(self.u, self.y, strict=True):
            add(sums, u, y)
        return sums


@st.composite
def samples(draw: st.DrawFn, least: int = 1, most: int = 40, features: int = 7) -> Samples:
    """A prediction in some unit, then features as maps make them: small, alike, some never there.

    The target is in the unit of the prediction.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count, size = draw(st.integers(least, most)), draw(st.integers(1, features))
    unit = draw(st.sampled_from([1e-6, 1.0, 1e4]))
    u = rng.normal(size=(count, size))
    u[:, 1:] = np.cos(u[:, 1:]) * np.sqrt(2.0 / size)
    kind = draw(st.sampled_from(["as drawn", "one is another", "one nearly is", "one is zero"]))
    if kind != "as drawn" and size > 2:
        u[:, 2] = {"one is zero": 0.0}.get(kind, u[:, 1])
        u[:, 2] += 1e-4 * rng.normal(size=count) * (kind == "one nearly is")
    u[:, 0] *= unit
    y = u[:, 0] + unit * rng.normal(size=count) * draw(st.sampled_from([0.0, 0.01, 1.0]))
    return Samples(u, y)


def as_sent(sums: FloatArray) -> FloatArray:
    """The sums after they have travelled: n, and means as float32."""
    sent = sums.copy()
    sent[SQUARES:] = (sums[SQUARES:] / sums[COUNT]).astype(np.float32) * sums[COUNT]
    return sent


def matrix_of(sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The matrix of sums of u u', and the sums of y u."""
    features = features_of(sums.size)
    matrix, moments, place = np.zeros((features, features)), np.zeros(features), FIRST
    for f in range(features):
        moments[f] = sums[place]
        matrix[f, : f + 1] = matrix[: f + 1, f] = sums[place + 1 : place + 2 + f]
        place += f + 2
    return matrix, moments


@given(st.integers(0, 200))
def test_the_size_tells_the_features(features: int) -> None:
    assert features_of(size_of(features)) == features
    assert features_of(size_of(features + 1) - 1) == features


@given(samples())
def test_sums_are_where_they_are_said_to_be(drawn: Samples) -> None:
    sums = drawn.sums
    matrix, moments = matrix_of(sums)
    assert sums[COUNT] == len(drawn.y)
    np.testing.assert_allclose(sums[SQUARES], drawn.y @ drawn.y, rtol=1e-12)
    np.testing.assert_allclose(matrix, drawn.u.T @ drawn.u, rtol=1e-9, atol=1e-12 * matrix.max())
    np.testing.assert_allclose(
        moments, drawn.u.T @ drawn.y, rtol=1e-9, atol=1e-12 * abs(moments).max()
    )


@given(samples(least=2), st.data())
def test_sums_of_devices_add_up_to_those_of_all_their_samples(
    drawn: Samples, data: st.DataObject
) -> None:
    cut, expected = data.draw(st.integers(1, len(drawn.y) - 1)), drawn.sums
    parts = [Samples(drawn.u[part], drawn.y[part]).sums for part in (slice(cut), slice(cut, None))]
    total, at_once = np.zeros(expected.size), np.zeros(expected.size)
    for part in parts:
        add_sums(total, 1.0, part)
    add_all(at_once, *drawn)
    for found in (total, at_once):
        close(found, expected)
    add_sums(total, -0.5, expected)
    close(total, 0.5 * expected)


def close(found: FloatArray, expected: FloatArray) -> None:
    """Sums of squares to 12 digits; products, which may cancel out, to as much of the squares."""
    squares, _ = matrix_of(expected)
    sizes = np.sqrt(np.append(np.diag(squares), expected[SQUARES]))
    np.testing.assert_allclose(
        _bordered(found), _bordered(expected), rtol=0, atol=1e-12 * np.outer(sizes, sizes).max()
    )
    relative = np.outer(sizes, sizes) + (np.outer(sizes, sizes) == 0)
    assert np.abs((_bordered(found) - _bordered(expected)) / relative).max() < 1e-12
    assert found[COUNT] == expected[COUNT]


def _bordered(sums: FloatArray) -> FloatArray:
    matrix, moments = matrix_of(sums)
    return np.block([[matrix, moments[:, None]], [moments[None], sums[SQUARES, None, None]]])


@given(samples(), st.data())
def test_the_first_numbers_are_the_sums_of_fewer_features(
    drawn: Samples, data: st.DataObject
) -> None:
    fewer = data.draw(st.integers(0, drawn.u.shape[1]))
    expected = Samples(drawn.u[:, :fewer], drawn.y).sums
    np.testing.assert_array_equal(drawn.sums[: size_of(fewer)], expected)


@given(samples(), st.integers(0, 2**32 - 1))
def test_what_a_model_misses_is_known_without_the_samples(drawn: Samples, seed: int) -> None:
    model = np.random.default_rng(seed).normal(size=(drawn.u.shape[1],))
    expected = float(((drawn.y - drawn.u @ model) ** 2).sum())
    sizes = (drawn.y**2).sum() + ((drawn.u @ np.diag(model)) ** 2).sum()
    assert missed(drawn.sums, model) == pytest.approx(expected, rel=1e-9, abs=1e-12 * sizes)
    fewer = model[:1]  # of a model of fewer features, from the same sums
    expected = float(((drawn.y - drawn.u[:, 0] * fewer[0]) ** 2).sum())
    assert missed(drawn.sums, fewer) == pytest.approx(expected, rel=1e-9, abs=1e-12 * sizes)


@given(samples(), st.sampled_from([0.01, 3.0, 1000.0]), st.integers(0, 2**32 - 1))
def test_a_fit_is_the_dense_one(drawn: Samples, ridge: float, seed: int) -> None:
    """The ridge is worth so many samples of each feature's mean square, and holds to the prior."""
    sums, size = drawn.sums, drawn.u.shape[1]
    prior = np.random.default_rng(seed).normal(size=(size,))
    matrix, moments = drawn.u.T @ drawn.u, drawn.u.T @ drawn.y
    there = np.diag(matrix) > 0
    held = matrix + ridge / len(drawn.y) * np.diag(np.diag(matrix))
    # In units in which every feature's square is one, so that numpy loses nothing either.
    sizes = np.sqrt(np.diag(matrix))[there]
    solved = np.linalg.solve(
        held[np.ix_(there, there)] / np.outer(sizes, sizes),
        (moments - matrix @ prior)[there] / sizes,
    )
    expected = prior.copy()
    expected[there] += solved / sizes
    np.testing.assert_allclose(
        (fitted(sums, ridge, prior) - expected)[there] * sizes, 0.0, atol=1e-6 * abs(solved).max()
    )
    np.testing.assert_array_equal(fitted(sums, ridge, prior)[~there], prior[~there])


def test_without_samples_a_fit_is_the_prior() -> None:
    prior = np.array([1.0, -2.0, 0.5])
    np.testing.assert_array_equal(fitted(np.zeros(size_of(3)), 3.0, prior), prior)


@pytest.mark.parametrize("explained", [0.0, 1.0])
def test_products_of_a_feature_without_anything_of_its_own(explained: float) -> None:
    """A feature of zeros, or one that repeats another, has no products but those that follow."""
    rng = np.random.default_rng(0)
    u = np.cos(rng.normal(size=(30, 5))) / 2
    u[:, 2] = explained * u[:, 1]
    sums = Samples(u, rng.normal(size=30)).sums
    assert is_possible(sums, 5, 30.0)
    for f in (3, 4):
        wrong = sums.copy()
        wrong[FIRST + f * (f + 3) // 2 + 1 + 2] += 0.5
        assert not is_possible(wrong, 5, 30.0)
    wrong = sums.copy()
    wrong[FIRST + 2 * 5 // 2] += 1e6  # the product with the target
    assert not is_possible(wrong, 5, 30.0)


def test_a_feature_that_others_explain_has_no_coefficient() -> None:
    """Without a ridge the matrix cannot be inverted; the errors are the least there are."""
    rng = np.random.default_rng(0)
    u = rng.normal(size=(30, 4))
    u[:, 2] = 2.0 * u[:, 0] - u[:, 1]
    drawn = Samples(u, rng.normal(size=30))
    model = fitted(drawn.sums, 0.0, np.zeros(4))
    assert model[2] == 0.0
    least = np.linalg.lstsq(*drawn, rcond=None)[1]
    least = ((drawn.y - u @ np.linalg.lstsq(u, drawn.y, rcond=None)[0]) ** 2).sum()
    assert ((drawn.y - u @ model) ** 2).sum() == pytest.approx(least, rel=1e-9)


@given(samples(), st.sampled_from([3.0, 100.0]))
def test_a_fit_may_leave_the_first_feature_out(drawn: Samples, ridge: float) -> None:
    sums, without = drawn.sums, Samples(drawn.u[:, 1:], drawn.y).sums
    leave_first_out(sums)
    zeros = np.zeros(drawn.u.shape[1])
    model = fitted(sums, ridge, zeros)
    assert model[0] == 0.0
    np.testing.assert_allclose(model[1:], fitted(without, ridge, zeros[1:]), rtol=1e-9)
    assert missed(sums, model) == pytest.approx(missed(without, model[1:]), rel=1e-9)
    close(sums[: SQUARES + 1], without[: SQUARES + 1])


@given(samples(most=100), st.booleans())
def test_sums_of_samples_are_possible(drawn: Samples, sent: bool) -> None:
    """Also after they have travelled, with features that others explain, and few samples."""
    sums = as_sent(drawn.sums) if sent else drawn.sums
    size, n = drawn.u.shape[1], float(len(drawn.y))
    for fewer in range(1, size + 1):
        assert is_possible(sums, fewer, n)
    assert not is_possible(sums, size, n - 1.0)  # there are more than there can be


@given(samples(least=3), st.data(), st.sampled_from([np.nan, np.inf, -np.inf, 1e38, -1e38]))
def test_one_wild_number_is_not_possible(drawn: Samples, data: st.DataObject, wild: float) -> None:
    """But for a larger square, of the target or of the prediction, alone: units are free."""
    sums, size = drawn.sums, drawn.u.shape[1]
    place = data.draw(st.integers(COUNT, sums.size - 1))
    sums[place] = wild
    larger = wild == 1e38 and place in (SQUARES, FIRST + 1)
    assert is_possible(sums, size, 1e3) == larger


@given(samples(least=8), st.data())
def test_products_beyond_their_squares_are_not_possible(
    drawn: Samples, data: st.DataObject
) -> None:
    """No product is larger than the root of its squares' product: not even of a feature of zeros,
    or of one that others explain.
    """
    sums, size = drawn.sums, drawn.u.shape[1]
    f = data.draw(st.integers(0, size - 1))
    g = data.draw(st.integers(0, f))
    bordered = _bordered(sums)
    sizes = np.sqrt(np.diag(bordered))
    place = FIRST + f * (f + 3) // 2
    beyond = 1.1 * max(sizes[f], 1e-3) * max(sizes[-1], 1e-3)
    if g < f:
        place, beyond = place + 1 + g, 1.1 * max(sizes[f], 1e-3) * max(sizes[g], 1e-3)
    sums[place] = beyond * data.draw(st.sampled_from([-1.0, 1.0]))
    assert not is_possible(sums, size, 1e3)


@pytest.mark.parametrize("n", [-5.0, 0.0, 0.5, 101.0, np.nan, np.inf])
def test_a_count_that_cannot_be(n: float) -> None:
    sums = np.array([0.0, n, 1.0, 0.5, 1.0])
    assert not is_possible(sums, 1, 100.0)
    sums[COUNT] = 100.0
    assert is_possible(sums, 1, 100.0)


def test_features_of_a_map_are_small() -> None:
    """Their mean squares add up to 2 at most; the prediction's square is free."""
    for square, possible in ((2.0, True), (2.1, False)):
        sums = np.zeros(size_of(3))
        add(sums, np.array([1e6, 0.0, np.sqrt(square)]), 1e6)
        assert is_possible(sums, 3, 1.0) == possible
        add(sums, np.array([1e6, 1.0, 0.5]), 1e6)  # the mean of the squares, not the largest
        assert is_possible(sums, 3, 2.0)
