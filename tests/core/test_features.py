import numpy as np
import pytest

from paofed.core.features import draw_map, median_distance
from paofed.core.random import key_of


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


def test_error_shrinks_like_one_over_the_root_of_the_features() -> None:
    points = np.random.default_rng(1).normal(size=(8, 2))
    distance = ((points[:, None] - points[None, :]) ** 2).sum(axis=-1)
    exact = np.exp(-distance / 2)

    def rms(features: int) -> float:
        errors = [
            draw_map(key_of(seed), inputs=2, features=features, width=1.0) for seed in range(40)
        ]
        return float(
            np.sqrt(np.mean([(z @ z.T - exact) ** 2 for z in (m(points) for m in errors)]))
        )

    # 40 maps of 36 pairs: the ratio's standard error is about 7 %, so 25 % is 3.5 of them.
    assert rms(100) / rms(1600) == pytest.approx(4.0, rel=0.25)


def test_features_are_bounded_and_shaped() -> None:
    fourier_map = draw_map(key_of(0), inputs=3, features=50, width=1.0)
    z = fourier_map(np.random.default_rng(2).normal(size=(6, 5, 3)))
    assert z.shape == (6, 5, 50)
    assert (z**2).sum(axis=-1).max() <= 2.0
    assert fourier_map.phases.min() >= 0
    assert fourier_map.phases.max() < 2 * np.pi


def test_the_map_is_a_function_of_its_key() -> None:
    first, again, other = (draw_map(key_of(s), inputs=2, features=9, width=1.0) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.frequencies, again.frequencies)
    np.testing.assert_array_equal(first.phases, again.phases)
    assert not np.array_equal(first.phases, other.phases)


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
