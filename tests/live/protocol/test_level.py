import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.live.protocol.level import IMPLAUSIBLE, UNKNOWN, Recent, decibels

STEP = 0.75


def after(*errors: float) -> Recent:
    recent = Recent()
    for error in errors:
        recent.learned(error)
    return recent


def test_a_device_that_has_learned_nothing_says_so() -> None:
    assert Recent().level == UNKNOWN
    assert decibels(UNKNOWN) is None
    assert decibels(IMPLAUSIBLE) is None


@pytest.mark.parametrize(
    ("error", "level"), [(1.0, 128), (-1.0, 128), (0.1, 101), (10.0, 155), (0.0, 1), (1e200, 254)]
)
def test_the_level_of_one_error(error: float, level: int) -> None:
    assert after(error).level == level


@given(st.floats(-90, 90))
def test_a_level_says_the_error_to_half_a_step(said: float) -> None:
    back = decibels(after(10 ** (said / 20)).level)
    assert back is not None
    assert abs(back - said) <= STEP / 2 + 1e-9


def test_the_first_samples_count_alike_and_later_ones_are_forgotten() -> None:
    errors = np.random.default_rng(0).standard_normal(32)
    assert after(*errors).square == pytest.approx(np.mean(errors**2))
    long = after(*[100.0] * 50, *[1.0] * 600)
    assert long.square == pytest.approx(1.0, rel=1e-3)


def test_implausible_samples_are_said_when_they_come_again_and_forgotten() -> None:
    recent = after(0.5)
    heard = recent.level
    for said in (False, True, True):
        recent.passed_over()
        assert (recent.level == IMPLAUSIBLE) is said
    for _ in range(30):
        recent.learned(0.5)
    assert recent.level == heard


@pytest.mark.parametrize(("between", "said"), [(0, True), (20, True), (33, True), (40, False)])
def test_two_implausible_samples_with_so_many_between(between: int, said: bool) -> None:
    recent = after(*[0.5] * 40)
    recent.passed_over()
    for _ in range(between):
        recent.learned(0.5)
    recent.passed_over()
    assert (recent.level == IMPLAUSIBLE) is said
