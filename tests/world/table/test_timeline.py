from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.errors import FileError, InputError
from paofed.world.table.source import Source
from paofed.world.table.spec import MISSING
from paofed.world.table.timeline import Times, timeline, times_of
from tests.world.table.tables import write

ONE = datetime(2024, 5, 1, 13, tzinfo=UTC).timestamp()


def times(path: Path, *names: str, form: str | None = None) -> Times:
    return times_of(Source(path, names, separator=None, missing=MISSING), names, form)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("2024-05-01 13:00", None),
        ("2024-05-01T13:00:00Z", None),
        ("2024-05-01T15:00+02:00", None),
        ("20240501T130000", None),
        ("01.05.2024 13h", "%d.%m.%Y %Hh"),
        (str(int(ONE)), "unix"),
        (str(int(ONE * 1000)), "unix-ms"),
    ],
)
def test_one_column(tmp_path: Path, text: str, form: str | None) -> None:
    found = times(write(tmp_path / "t.csv", [text], "t"), "t", form=form)
    assert found.values.tolist() == [ONE]
    assert found.calendar


def test_calendar_columns_in_any_order(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ["13,2024,5,1.0"], "Hour,year,month,DAY")
    assert times(path, "Hour", "DAY", "month", "year").values.tolist() == [ONE]


def test_a_date_and_a_time_of_day(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ["2024-05-01,13:00"], "date,clock")
    assert times(path, "date", "clock").values.tolist() == [ONE]


def test_numbers_are_taken_as_they_are(tmp_path: Path) -> None:
    found = times(write(tmp_path / "t.csv", ["7", "9.5"], "t"), "t")
    assert found.values.tolist() == [7, 9.5]
    assert not found.calendar


def test_a_column_of_times(tmp_path: Path) -> None:
    zone = timezone(timedelta(hours=2))
    moments = pl.Series([datetime(2024, 5, 1, 15, tzinfo=zone)]).cast(pl.Datetime("us", "UTC"))
    pl.DataFrame({"t": moments}).write_parquet(tmp_path / "t.parquet")
    found = times(tmp_path / "t.parquet", "t")
    assert found.values.tolist() == [ONE]
    assert found.calendar


@pytest.mark.parametrize(
    ("header", "line", "problem"),
    [
        ("t", "yesterday", "line 3: 'yesterday' is no time: expected one like 2014"),
        ("year,month,day", "2024,13,1", "line 3: month is 13: expected 1 to 12"),
        ("year,month,day", "2024,101,1", "line 3: month is 101: expected 1 to 12"),
        ("year,month,day", "2024,1.5,1", "line 3: month is 1.5: expected 1 to 12"),
        ("year,month,day", "1e300,1,1", "line 3: year is 1e.300: expected 1 to 9999"),
        ("year,month,day", "2024,2,30", "line 3: year 2024, month 2, day 30: day"),
        ("year,month,day", "2024,,1", "line 3: there is no month"),
        ("year,month,day", "2024,may,1", "line 3: month is 'may': expected a number"),
    ],
)
def test_what_is_no_time(tmp_path: Path, header: str, line: str, problem: str) -> None:
    good = "2024-05-01" if header == "t" else "2024,5,1"
    path = write(tmp_path / "t.csv", [good, line], header)
    with pytest.raises(FileError, match=problem):
        times(path, *header.split(","))


def test_a_missing_time(tmp_path: Path) -> None:
    pl.DataFrame({"t": [datetime(2024, 5, 1), None], "n": [1.0, None]}).write_parquet(  # noqa: DTZ001
        tmp_path / "t.parquet"
    )
    for name in ("t", "n"):
        with pytest.raises(FileError, match="row 2: there is no time"):
            times(tmp_path / "t.parquet", name)


def test_a_time_of_another_form(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ["2024-05-01"], "t")
    with pytest.raises(FileError, match=r"expected one like '%d.%m.%Y'"):
        times(path, "t", form="%d.%m.%Y")


def test_calendar_columns_need_a_date(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ["2024,5"], "year,hour")
    with pytest.raises(InputError, match="the time lacks month, day"):
        times(path, "year", "hour")


DEVICES = np.array([0, 0, 0, 1])


def test_a_tick_is_the_usual_time_between_readings() -> None:
    hours = Times(ONE + 3600.0 * np.array([0, 1, 2, 0]), calendar=True)
    assert timeline(hours, DEVICES, None).length_text() == "1h"


def test_a_tick_can_be_given() -> None:
    hours = Times(ONE + 3600.0 * np.array([0, 1, 2, 0]), calendar=True)
    assert timeline(hours, DEVICES, "30min").tick == 1800
    numbers = Times(np.array([0.0, 1, 2, 0]), calendar=False)
    assert timeline(numbers, DEVICES, "0.5").length_text(3) == "1.5"


@pytest.mark.parametrize(
    ("tick", "calendar"),
    [("soon", True), ("1h", False), ("0", False), ("-1", False), ("nan", False)],
)
def test_what_is_no_tick(tick: str, calendar: bool) -> None:
    with pytest.raises(InputError, match=f"tick is '{tick}': expected a"):
        timeline(Times(np.array([0.0, 1, 2, 0]), calendar), DEVICES, tick)


def test_without_two_times_a_tick_must_be_given() -> None:
    with pytest.raises(FileError, match="no device has readings at two times"):
        timeline(Times(np.array([0.0, 0, 0, 5]), calendar=False), DEVICES, None)


def test_readings_half_a_tick_off_keep_their_distance() -> None:
    line = timeline(Times(np.array([0.0, 100, 200, 0]), calendar=False), DEVICES, None)
    assert line.ticks_of(np.linspace(50, 550, 6)).tolist() == [1, 2, 3, 4, 5, 6]
    assert line.ticks_of(np.linspace(-50, 450, 6)).tolist() == [0, 1, 2, 3, 4, 5]


def test_milliseconds_taken_for_seconds_are_told(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", [str(int(ONE)), str(int(ONE * 1000))], "t")
    with pytest.raises(FileError, match=r"line 3: its time is beyond the year 9999: are these mil"):
        times(path, "t", form="unix")


def test_a_form_that_nobody_asks_for_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ["2024,5,1"], "year,month,day")
    with pytest.raises(
        InputError, match="time_format is '%Y', but columns of a calendar need none"
    ):
        times(path, "year", "month", "day", form="%Y")
    pl.DataFrame({"t": [datetime(2024, 5, 1)]}).write_parquet(tmp_path / "t.parquet")  # noqa: DTZ001
    with pytest.raises(InputError, match="time_format is 'unix', but a column of times"):
        times(tmp_path / "t.parquet", "t", form="unix")


def test_a_moment_beyond_all_years_can_be_told() -> None:
    line = timeline(Times(ONE + 3600.0 * np.array([0, 1, 2, 0]), calendar=True), DEVICES, None)
    assert line.text(1e15) == "1e+15"


def test_clocks_may_be_a_little_off() -> None:
    line = timeline(Times(np.array([0.0, 100, 200, 0]), calendar=False), DEVICES, None)
    assert line.ticks_of(np.array([-40.0, 49, 51, 140, 160])).tolist() == [0, 0, 1, 1, 2]


@given(st.integers(0, 10_000), st.floats(0.1, 1e6))
def test_from_on_is_the_first_tick_not_before(tick: int, length: float) -> None:
    line = timeline(Times(np.array([0.0, 1, 2, 0]), calendar=False), DEVICES, str(length))
    assert line.from_on(line.origin + tick * line.tick) == tick
    assert line.from_on(line.origin + (tick + 0.5) * line.tick) == tick + 1


@pytest.mark.parametrize(
    ("text", "hours"), [("50%", 1.0), ("90min", 1.5), ("2024-05-01T14:00", 1.0), ("1d", 24.0)]
)
def test_moments(text: str, hours: float) -> None:
    line = timeline(Times(ONE + 3600.0 * np.array([0, 1, 2, 0]), calendar=True), DEVICES, None)
    assert line.moment(text, "calibration") == ONE + 3600 * hours


def test_moments_of_plain_numbers() -> None:
    line = timeline(Times(np.array([5.0, 10, 15, 5]), calendar=False), DEVICES, None)
    assert line.moment("7", "calibration") == 7
    assert line.moment("10%", "calibration") == 6
    assert line.text(7.5) == "7.5"


@pytest.mark.parametrize(
    ("text", "calendar"),
    [("soon", True), ("x%", True), ("nan%", True), ("1e400%", True), ("1h", False), ("inf", False)],
)
def test_what_is_no_moment(text: str, calendar: bool) -> None:
    line = timeline(Times(np.array([0.0, 1, 2, 0]), calendar), DEVICES, None)
    with pytest.raises(InputError, match=f"calibration is '{text}': expected a"):
        line.moment(text, "calibration")


@pytest.mark.parametrize(("seconds", "text"), [(0, "2024-05-01 13:00"), (7, "2024-05-01 13:00:07")])
def test_a_moment_as_people_write_it(seconds: int, text: str) -> None:
    line = timeline(Times(ONE + 3600.0 * np.array([0, 1, 2, 0]), calendar=True), DEVICES, None)
    assert line.text(ONE + seconds) == text
