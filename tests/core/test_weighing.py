"""Weights of forecasters: the regret that AdaHedge promises, and errors that blow up."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.arrays import FloatArray
from paofed.core.weighing import begin, scored, weights_of
from tests.effort import effort

LENGTH = effort(everyday=150, thorough=400)
Errors = Callable[[FloatArray, int], FloatArray]  # weights and place -> squared errors


class Told(NamedTuple):
    """A sequence of forecasts: the record after them, and what it made of each."""

    record: FloatArray
    weights: FloatArray  # (T, M), before each
    losses: FloatArray  # (T, M)

    @property
    def regret(self) -> float:
        """How much more the weighted losses are than those of the best forecaster."""
        return float((self.weights * self.losses).sum() - self.losses.sum(axis=0).min())

    @property
    def bound(self) -> float:
        """The regret of AdaHedge, at most: Theorem 6 of de Rooij and others (2014)."""
        mean = (self.weights * self.losses).sum(axis=1, keepdims=True)
        variance = (self.weights * (self.losses - mean) ** 2).sum()
        several = np.log(self.weights.shape[1])
        largest = np.ptp(self.losses, axis=1).max()
        return float(2 * np.sqrt(variance * several) + largest * (4 / 3 * several + 2))


def told(forecasters: int, errors: Errors, length: int = LENGTH) -> Told:
    record, weights, losses = begin(forecasters), [], []
    for n in range(length):
        weights.append(weights_of(record))
        after = scored(record, errors(weights[-1], n))
        losses.append((after - record)[-forecasters:])
        record = after
    return Told(record, np.array(weights), np.array(losses))


def adversarial(rng: np.random.Generator) -> Errors:
    """Whoever is believed most is wrong."""
    return lambda weights, _: np.where(weights == weights.max(), 4.0 + rng.random(), 1.0)


def in_turn(rng: np.random.Generator) -> Errors:
    """First one is best for long, then another."""
    return lambda weights, n: (
        np.roll(np.arange(1.0, 1.0 + weights.size), n // (LENGTH // 3))
        * rng.exponential(size=weights.size)
    )


def wild(rng: np.random.Generator) -> Errors:
    """Sizes over many powers of ten, some that are none."""

    def errors(weights: FloatArray, _: int) -> FloatArray:
        sizes = 10.0 ** rng.uniform(-12, 12, size=weights.size)
        unknown = rng.choice([1.0, np.nan, np.inf], size=weights.size, p=[0.9, 0.05, 0.05])
        return np.asarray(sizes * unknown)

    return errors


@pytest.mark.parametrize("sequence", [adversarial, in_turn, wild])
@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_the_regret_is_within_its_bound(
    sequence: Callable[[np.random.Generator], Errors], seed: int, forecasters: int
) -> None:
    found = told(forecasters, sequence(np.random.default_rng(seed)))
    np.testing.assert_allclose(found.weights.sum(axis=1), 1.0, rtol=1e-12)
    assert (found.weights >= 0.0).all()
    assert np.isfinite(found.record).all()
    assert found.regret <= found.bound + 1e-9 * found.losses.sum()


@given(st.integers(0, 2**32 - 1), st.floats(1.5, 9.0))
def test_who_is_always_better_has_all_the_weight(seed: int, factor: float) -> None:
    rng = np.random.default_rng(seed)
    found = told(3, lambda *_: np.array([factor, 1.0, factor]) * rng.uniform(0.8, 1.2))
    assert found.weights[0].tolist() == [1 / 3] * 3
    assert found.weights[-1, 1] > 0.99


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-9, 1e6]))
def test_the_unit_of_errors_is_no_matter(seed: int, unit: float) -> None:
    drawn = np.random.default_rng(seed).exponential(size=(LENGTH, 3))
    usual, other = told(3, lambda _, n: drawn[n]), told(3, lambda _, n: unit * drawn[n])
    np.testing.assert_allclose(other.weights, usual.weights, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("blown", [np.nan, np.inf, 1e300])
def test_who_blows_up_loses_its_weight_and_does_no_other_harm(blown: float) -> None:
    rng = np.random.default_rng(0)
    errors = rng.exponential(size=(LENGTH, 3))
    errors[:, 0] *= 0.1  # it was the best until then
    errors[LENGTH // 2 :, 0] = blown
    found = told(3, lambda _, n: errors[n])
    assert found.weights[LENGTH // 2 - 1, 0] > 0.9
    assert found.weights[-1, 0] < 1e-3
    assert found.losses[-1, 0] == pytest.approx(found.losses.max())  # as large as losses ever are
    assert found.regret <= found.bound


def test_who_has_no_weight_left_can_come_back() -> None:
    """Each time much worse than before, one soon has less weight than any number but 0."""

    def errors(_: FloatArray, n: int) -> FloatArray:
        return np.array([1.0, 1.0 + 1e-9 * 4.0**n]) if n < 14 else np.array([2.0, 1.0])

    found = told(2, errors)
    assert found.weights[14].tolist() == [1.0, 0.0]
    assert found.weights[-1, 1] > 0.99
    assert found.regret <= found.bound


@pytest.mark.parametrize("unknown", [np.nan, np.inf])
def test_where_nobody_foretold_anything_nothing_is_learned(unknown: float) -> None:
    record = scored(begin(3), np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(scored(record, np.full(3, unknown)), record)


def test_without_errors_there_are_no_preferences() -> None:
    found = told(3, lambda *_: np.zeros(3), length=5)
    assert weights_of(found.record).tolist() == [1 / 3] * 3
    later = told(3, lambda *_: np.array([0.0, 1e-3, 1e-3]))
    assert later.weights[-1, 0] > 0.99  # of a perfect forecaster and two that are not


def test_a_record_is_left_alone() -> None:
    record = scored(begin(2), np.array([1.0, 2.0]))
    before = record.copy()
    scored(record, np.array([2.0, 1.0]))
    np.testing.assert_array_equal(record, before)
