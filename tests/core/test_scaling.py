"""Scalings: taken from samples, and applied to them and back; what is none is refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.scaling import (
    Scaling,
    fitted,
    is_above_zero,
    is_finite,
    offsets_and_scales,
    scaled,
)
from paofed.errors import InputError

X = np.array([[1.0, 7.0, 0.1], [3.0, 7.0, 0.1], [5.0, 7.0, 0.1]])
Y = np.array([10.0, 20.0, 30.0])


def test_samples_have_mean_0_and_spread_1_as_the_model_sees_them() -> None:
    first, *_, target = fitted(X, Y)
    for values in (first.scaled(X[:, 0]), target.scaled(Y)):
        assert values.mean() == pytest.approx(0.0, abs=1e-15)
        assert values.std() == pytest.approx(1.0)
    np.testing.assert_allclose(target.measured(target.scaled(Y)), Y)


def test_a_constant_has_scale_1() -> None:
    assert [number.scale for number in fitted(X, Y)][1:3] == [1.0, 1.0]
    assert fitted(X, np.full(3, 0.1))[-1].scale == 1.0


def test_several_numbers_are_scaled_at_once_as_each_by_itself() -> None:
    inputs = fitted(X, Y)[:-1]
    alone = [number.scaled(column) for number, column in zip(inputs, X.T, strict=True)]
    np.testing.assert_array_equal(scaled(X, *offsets_and_scales(inputs)), np.transpose(alone))


def test_the_identity_leaves_a_number_as_it_is() -> None:
    assert Scaling().is_identity
    assert not Scaling(scale=2.0).is_identity
    np.testing.assert_array_equal(Scaling().scaled(Y), Y)
    np.testing.assert_array_equal(Scaling().measured(Y), Y)


def test_samples_too_large_for_a_spread_are_refused() -> None:
    for x in (1e200 * X, np.full((3, 1), 1e303)):
        with pytest.raises(InputError, match="too large for a standard deviation"):
            fitted(x, Y)


@given(st.floats(-1e290, 1e290), st.floats(1e-300, 1e290))
def test_usual_values_are_up_to_ten_scales_from_the_offset(offset: float, scale: float) -> None:
    number = Scaling(offset, scale)
    assert number.usual == (offset - 10.0 * scale, offset + 10.0 * scale)


def test_offset_and_scale_in_words() -> None:
    assert Scaling(2.5, 1e-7).words == "offset 2.5 and scale 1e-07"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300, "1", None, True])
def test_what_is_no_finite_number_is_no_offset_and_no_scale(value: float) -> None:
    assert not is_finite(value)
    with pytest.raises(InputError, match=r"expected a finite offset$"):
        Scaling(value)
    with pytest.raises(InputError, match=r"expected a finite scale above 0$"):
        Scaling(0.0, value)


@pytest.mark.parametrize("value", [0.0, -1.0, -1e-300])
def test_what_is_not_above_0_is_no_scale(value: float) -> None:
    assert is_finite(value)
    assert not is_above_zero(value)
    with pytest.raises(InputError, match=r"expected a finite scale above 0$"):
        Scaling(0.0, value)
