import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from paofed.core.features import FourierMap, Ranges, draw_map, median_distance
from paofed.core.random import key_of
from paofed.errors import InputError


@pytest.mark.parametrize("width", [0.5, 1.0, 3.0])
def test_inner_products_approach_the_exact_gaussian_kernel(width: float) -> None:
    """An entry is a mean of D numbers in [-2, 2], so by Hoeffding it errs by more than
    sqrt(8 log(2 / p) / D) with probability p; p = 1e-9 over the 45 pairs gives 0.04 at D = 2^17.
    """
    points = np.random.default_rng(0).normal(size=(10, 4))
    features = 2**17
    z = draw_map(key_of(4), inputs=4, features=features, width=width)(points)
    distance = ((points[:, None] - points[None, :]) ** 2).sum(axis=-1)
    exact = np.exp(-distance / (2 * width**2))
    bound = np.sqrt(8 * np.log(2 * 45 / 1e-9) / features)
    assert bound < 0.04
    assert np.abs(z @ z.T - exact).max() < bound


def test_features_are_bounded_and_shaped() -> None:
    fourier_map = draw_map(key_of(0), inputs=3, features=50, width=1.0)
    z = fourier_map(np.random.default_rng(2).normal(size=(6, 5, 3)))
    assert z.shape == (6, 5, 50)
    assert (z**2).sum(axis=-1).max() <= 2.0
    assert fourier_map.phases.min() >= 0
    assert fourier_map.phases.max() < 2 * np.pi


def test_width_only_scales_the_frequencies() -> None:
    narrow, wide = (draw_map(key_of(1), inputs=2, features=9, width=w) for w in (1.0, 4.0))
    np.testing.assert_allclose(narrow.frequencies, 4 * wide.frequencies)


def test_the_median_distance_between_inputs() -> None:
    x = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])  # distances 5, 1 and the root of 18
    assert median_distance(x) == pytest.approx(np.sqrt(18))


def test_many_inputs_are_thinned_out_for_their_median_distance() -> None:
    x = np.random.default_rng(0).normal(size=(5001, 8))
    # Of normal inputs, |x - x'|^2 is 2 chi^2(8), whose median is close to 8 (1 - 2 / 72)^3.
    assert median_distance(x) == pytest.approx(np.sqrt(2 * 8 * (1 - 2 / 72) ** 3), rel=0.02)


def test_inputs_far_from_zero_keep_their_distance() -> None:
    x = np.random.default_rng(0).normal(size=(500, 2))
    assert median_distance(x + 1e9) == pytest.approx(median_distance(x), rel=1e-6)


def test_a_fleet_of_ten_does_not_show_as_one_device() -> None:
    """Every tenth of many readings would be the same device's."""
    device = np.arange(10_000) % 10
    x = device[:, None] + 0.01 * np.random.default_rng(0).normal(size=(10_000, 1))
    assert median_distance(x) == pytest.approx(3, abs=0.2)


def test_one_input_has_no_distance() -> None:
    assert median_distance(np.ones((1, 3))) == 0.0


def with_linear(*, inputs: int = 3, features: int = 20) -> FourierMap:
    low = np.linspace(-2.0, inputs - 3.0, inputs)
    ranges = Ranges(low, low + 3.0)
    return draw_map(key_of(5), inputs=inputs, features=features, width=1.0, ranges=ranges)


def test_linear_terms_follow_the_fourier_features_and_a_constant_them() -> None:
    """Fourier features of half the square; then inputs from -1 to 1, and 1, by the root of 4."""
    made = with_linear()
    waves = draw_map(key_of(5), inputs=3, features=16, width=1.0)
    x = np.array([[-2.0, 2.0, 1.5], [-0.5, 0.5, 99.0]])
    z = made(x)
    assert (made.features, z.shape) == (20, (2, 20))
    np.testing.assert_allclose(z[:, :16], waves(x) / np.sqrt(2), rtol=1e-15)
    expected = np.array([[-1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]]) / 2
    np.testing.assert_allclose(z[:, 16:], expected, rtol=1e-15, atol=1e-15)


@given(x=arrays(np.float64, (4, 3), elements=st.floats(-1e6, 1e6)))
def test_linear_terms_keep_the_square_below_two(x: np.ndarray) -> None:
    made = with_linear()
    z = made(x)
    assert ((z[:, :16] ** 2).sum(axis=1) <= 1 + 1e-12).all()
    assert ((z[:, 16:] ** 2).sum(axis=1) <= 1 + 1e-12).all()


def test_a_map_has_room_for_two_waves_beside_its_linear_terms() -> None:
    assert with_linear(inputs=3, features=6).phases.size == 2
    with pytest.raises(InputError, match=r"^features is 5: expected at least 6, since the linear"):
        with_linear(inputs=3, features=5)


def test_a_range_leaves_out_one_broken_reading() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(1000, 2))
    whole = Ranges.of(x)
    broken = x.copy()
    broken[17] = 1e9, -1e9
    np.testing.assert_allclose(np.stack(Ranges.of(broken)), np.stack(whole), atol=0.02)
    inside = (x >= whole.low) & (x <= whole.high)
    assert inside.mean(axis=0) == pytest.approx([0.99, 0.99])


def test_the_range_of_an_input_that_hardly_changes() -> None:
    """Seldom, so that both quantiles are 0; never."""
    x = np.zeros((1000, 2))
    x[3, 0] = 1.0
    x[:, 1] = 7.0
    low, high = Ranges.of(x)
    assert (low.tolist(), high.tolist()) == ([0.0, 6.0], [1.0, 8.0])
