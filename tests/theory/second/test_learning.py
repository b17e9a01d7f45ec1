"""What samples do to covariances, against the fourth moments of the same finite laws."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from paofed.core.arrays import FloatArray
from paofed.theory.second.covariances import Covariances
from paofed.theory.second.groups import FINEST, Groups
from paofed.theory.second.learning import Learning
from tests.effort import effort
from tests.theory.second.laws import TwoTheories, contacts_of, theories

D, MU = 4, 0.3
FLEET = theories(contacts_of(3, data=(0.9, 0.6, 0.3), there=0.5), D)


def learning_of(fleet: TwoTheories, *, stride: int = 1, away: bool = True) -> Learning:
    groups = Groups.of(fleet.large, 1.0, np.array([True]), FINEST)
    detail = FINEST._replace(stride=stride)
    return Learning(fleet.large, groups, MU, detail, away=away)


def covariance_from(rng: np.random.Generator) -> FloatArray:
    roots = rng.normal(size=(3, D, D))
    squares: FloatArray = roots @ roots.swapaxes(1, 2)
    return squares


@settings(max_examples=effort(everyday=5, thorough=50), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), away=st.booleans())
def test_the_noise_of_samples_is_that_of_fourth_moments(seed: int, *, away: bool) -> None:
    rng = np.random.default_rng(seed)
    means, own = rng.normal(size=(3, D)), covariance_from(rng)
    found = learning_of(FLEET, away=away).of_samples(0, means, own)
    samples, contacts = FLEET.exact.samples, FLEET.exact.contacts
    for k in range(3):
        # With v = (1, -w) a step is mu z u.v, and E[v v^T] is known.
        squares = np.zeros((D + 1, D + 1))
        squares[0, 0], squares[1:, 1:] = 1.0, own[k] + np.outer(means[k], means[k])
        squares[0, 1:] = squares[1:, 0] = -means[k]
        square = np.einsum("abij,ij->ab", samples.fourth[k], squares)
        R = samples.second[k, :, 1:]  # noqa: N806 (the paper's symbol)
        square += samples.noise[k] * R
        gradient = samples.second[k, :, 0] - R @ means[k]
        mean = np.outer(gradient, gradient) + R @ own[k] @ R
        rate = contacts.data[k] if away else contacts.available[k]
        of_tick = MU**2 * (rate * square - rate**2 * mean)
        np.testing.assert_allclose(found.of_tick[k], of_tick, rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.of_sample[k], MU**2 * (square - mean), rtol=0, atol=1e-10)


def test_a_stride_is_about_as_many_ticks_as_it_stands_for() -> None:
    """Contractions are the same; the noise of a stride is contracted by half of it for all."""
    rng = np.random.default_rng(0)
    single, stride = learning_of(FLEET), learning_of(FLEET, stride=3)
    one = Covariances(np.eye(D), rng.normal(size=(3, D, D)), covariance_from(rng), np.zeros(0))
    one.pairs = np.einsum("gij,hkj->ghik", one.cross, one.cross)
    many = Covariances(*(values.copy() for values in vars(one).values()))
    none = np.zeros_like(one.own)
    for _ in range(3):
        single.advance(one, none)
    stride.advance(many, none)
    for name in ("server", "cross", "own", "pairs"):
        np.testing.assert_allclose(getattr(many, name), getattr(one, name), rtol=0, atol=1e-12)
    noise, zero = 1e-3 * covariance_from(rng), np.zeros_like(none)
    one.own, many.own = zero.copy(), zero.copy()
    for _ in range(3):
        single.advance(one, noise)
    stride.advance(many, noise)
    traces = [np.trace(state.own, axis1=1, axis2=2) for state in (one, many)]
    np.testing.assert_allclose(traces[1], traces[0], rtol=0.02)
