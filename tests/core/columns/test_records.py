"""Each record against the mathematics that it stands for, written another way."""

import cmath
import math
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.columns.calendar import Calendar, Cycle, ahead_of_utc
from paofed.core.columns.categories import COMPASS, Compass, OneHot
from paofed.core.columns.numbers import Cyclic, Number
from paofed.core.columns.transform import Transform
from paofed.errors import InputError

amounts = st.floats(0, 1e6)
numbers = st.floats(-1e6, 1e6)
scales = st.floats(1e-3, 1e3)
# Until 2037, where the rules of zones are written out one by one.
times = st.datetimes(datetime(1971, 1, 1), datetime(2037, 1, 1)).map(  # noqa: DTZ001
    lambda moment: moment.replace(microsecond=0, tzinfo=UTC).timestamp()
)


@given(amounts, numbers, scales, st.booleans())
def test_a_number_comes_back_from_what_the_model_sees(
    value: float, offset: float, scale: float, logarithm: bool
) -> None:
    number = Number("a", offset if not logarithm else offset / 1e5, scale, logarithm)
    seen = number.numbers(np.array([value]))
    assert seen.shape == (1, 1)
    assert number.measured(seen[:, 0]) == pytest.approx(value, rel=1e-6, abs=1e-3)


@given(amounts, amounts, st.booleans())
def test_a_difference_is_that_of_two_lags(now: float, before: float, logarithm: bool) -> None:
    one, two = np.array([now]), np.array([before])
    difference = Number("a", logarithm=logarithm, diff=3)
    assert difference.lags == (0, 3)
    assert Number("a", lag=3).lags == (3,)
    plain = Number("a", logarithm=logarithm)
    expected = plain.numbers(one) - Number("a", logarithm=logarithm, lag=3).numbers(two)
    np.testing.assert_array_equal(difference.numbers(one, two), expected)


@pytest.mark.parametrize(
    ("number", "recipe"),
    [
        (Number("a", lag=2), "a[n-2]"),
        (Number("a", 3.0, 2.0, diff=1), "(a - a[n-1] - 3) / 2"),
        (Number("a", -3.0, 2.0, logarithm=True, lag=1), "(log1p(a[n-1]) + 3) / 2"),
    ],
)
def test_a_recipe_says_what_a_device_computes(number: Number, recipe: str) -> None:
    assert number.recipe == recipe


def test_what_has_no_logarithm_is_missing() -> None:
    found = Number("a", logarithm=True).numbers(np.array([-1.0, -7.0, math.nan, 0.0]))
    np.testing.assert_array_equal(found[:, 0], [math.nan] * 3 + [0.0])


@given(numbers, scales)
def test_what_comes_round_is_a_point_on_the_circle(value: float, period: float) -> None:
    sine, cosine = Cyclic("hour", period).numbers(np.array([value]))[0]
    expected = cmath.exp(2j * math.pi * math.fmod(value, period) / period)
    assert complex(cosine, sine) == pytest.approx(expected, abs=1e-5)


def test_a_turn_through_all_directions_has_sixteen_equal_steps() -> None:
    found = Compass("wd").numbers(np.array([*COMPASS, "n", ""]))
    steps = found[1:17] - found[:16]
    assert np.hypot(*steps.T) == pytest.approx(2 * math.sin(math.pi / 16))
    assert np.isnan(found[17]).all()


@given(times, st.sampled_from(["UTC", "Europe/Oslo", "Australia/Lord_Howe", "Asia/Kathmandu"]))
def test_the_calendar_is_that_of_the_clocks_on_the_wall(time: float, zone: str) -> None:
    wall = datetime.fromtimestamp(time, ZoneInfo(zone))
    midnight = wall.replace(hour=0, minute=0, second=0)
    year = timedelta(days=366 if wall.year % 4 == 0 else 365)  # 2000 was one, too
    turns: dict[Cycle, float] = {
        "hour": (wall.replace(tzinfo=None) - midnight.replace(tzinfo=None)) / timedelta(days=1),
        "weekday": wall.weekday() / 7,
        "yearday": timedelta(days=wall.timetuple().tm_yday - 1) / year,
    }
    for cycle, turn in turns.items():
        sine, cosine = Calendar("time", cycle, zone).numbers(np.array([time]))[0]
        assert complex(cosine, sine) == pytest.approx(cmath.exp(2j * math.pi * turn), abs=1e-9)


def test_clocks_go_forward_in_spring() -> None:
    spring = datetime(2024, 3, 31, 1, tzinfo=UTC).timestamp()
    ahead = ahead_of_utc("Europe/Oslo", np.array([spring - 0.25, spring, spring - 0.25]))
    assert ahead.tolist() == [3600, 7200, 3600]


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (lambda: Number("a", math.nan), "a finite offset"),
        (lambda: Number("a", scale=0.0), "a finite scale above 0"),
        (lambda: Number("a", lag=1, diff=1), "either a lag or a difference"),
        (lambda: Number("a", diff=1001), "of 1 to 1000 ticks"),
        (lambda: Cyclic("a", -1.0), "a finite period above 0"),
        (lambda: OneHot("a", ("x", "x")), "categories, each one once"),
        (lambda: Calendar("time", "month"), "a cycle of hour, weekday, yearday"),  # type: ignore[arg-type]
        (lambda: Calendar("time", "hour", "Mars/Base"), "is no zone that is known here"),
    ],
)
def test_a_record_that_makes_no_sense_is_refused(record: type[Transform], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        record()  # type: ignore[call-arg]
