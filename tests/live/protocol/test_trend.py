"""A number over time, and whether it has become worse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.live.protocol.trend import NEVER, WORSE_BY, Trend


def followed(values: list[float], trend: Trend | None = None) -> Trend:
    trend = trend or Trend()
    for tick, value in enumerate(values, trend.values):
        trend.follow(tick, value)
    return trend


def test_a_number_that_stays_is_usual() -> None:
    trend = followed([-12.0] * 500)
    assert (trend.late, trend.usual, trend.away) == (-12.0, -12.0, 0.0)
    assert trend.worse_since == NEVER


def test_a_fleet_that_learns_has_not_become_worse_and_what_is_usual_follows() -> None:
    values = (-20 + 20 * np.exp(-np.arange(2000) / 150)).tolist()
    trend = followed(values)
    assert trend.worse_since == NEVER
    assert trend.usual == pytest.approx(-20, abs=0.1)


@pytest.mark.parametrize(("jump", "within"), [(4.0, 40), (6.0, 16), (20.0, 4)])
def test_a_jump_is_told_soon_and_what_is_smaller_is_not(jump: float, within: int) -> None:
    trend = followed([-15.0] * 1000)
    followed([-15.0 + jump] * within, trend)
    assert 1000 <= trend.worse_since < 1000 + within
    calm = followed([-15.0 + 0.9 * WORSE_BY] * 3000, followed([-15.0] * 1000))
    assert calm.worse_since == NEVER


def test_it_is_over_when_the_number_has_come_back_near() -> None:
    trend = followed([-9.0] * 50, followed([-15.0] * 1000))
    since = trend.worse_since
    followed([-11.5] * 60, trend)  # still more than half of it above: no to and fro
    assert trend.worse_since == since != NEVER
    followed([-14.0] * 60, trend)
    assert trend.worse_since == NEVER


def test_a_bad_state_does_not_soon_become_usual() -> None:
    trend = followed([-9.0] * 5000, followed([-15.0] * 20_000))
    assert trend.worse_since != NEVER


def test_what_goes_up_and_down_by_itself_is_usual() -> None:
    """As by day and by night."""
    values = (-15 + 6 * np.sin(np.arange(6000) * 2 * np.pi / 500)).tolist()
    trend, told = Trend(), 0
    for tick, value in enumerate(values):
        trend.follow(tick, value)
        told += tick > 1500 and trend.worse_since != NEVER
    assert told == 0


def test_noise_is_no_news() -> None:
    """Of one device alone: some 0.8 dB, over 16 contacts. None of 20,000 values is near 3 dB."""
    random = np.random.default_rng(1)
    squares, trend = 1.0, Trend()
    for tick in range(20_000):
        squares += (random.normal() ** 2 - squares) / 32
        trend.follow(tick, 10 * np.log10(squares))
        assert trend.worse_since == NEVER


@given(st.integers(0, 3000))
def test_the_history_is_bounded_and_finer_the_nearer(values: int) -> None:
    trend = followed([float(n) for n in range(values)])
    history = trend.history()
    ticks = [tick for tick, _ in history]
    assert ticks == sorted(set(ticks))
    assert len(ticks) <= 8 * 24
    assert ticks[-1:] == ([values - 1] if values else [])
    for age in (1, 10, 100, 1000):
        if age < values:
            then = values - 1 - age
            assert min(abs(tick - then) for tick in ticks) <= max(age / 8, 1)


@given(st.lists(st.floats(-90, 90), max_size=200), st.integers(0, 200))
def test_it_comes_back_from_arrays(values: list[float], cut: int) -> None:
    whole, part = followed(values), followed(values[:cut])
    back = Trend()
    back.restore(part.arrays())
    followed(values[cut:], back)
    for name, array in whole.arrays().items():
        assert back.arrays()[name].tobytes() == array.tobytes()
