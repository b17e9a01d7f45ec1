from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from paofed.errors import FileError, InputError
from paofed.world.names import MISSING
from paofed.world.table import timeline as module
from paofed.world.table.source import Source
from paofed.world.table.timeline import Timeline, steps_of
from paofed.world.table.times import Times, times_of
from tests.world.table.tables import write

ONE = datetime(2024, 5, 1, 13, tzinfo=UTC).timestamp()


def timeline(times: Times, devices: NDArray[np.int64], tick: str | None) -> Timeline:
    return module.timeline(times, steps_of(times.values, devices), tick)


def times(path: Path, *names: str, form: str | None = None) -> Times:
    return times_of(Source(path, names, separator=None, missing=MISSING), names, form)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("2024-05-01 13:00", None),
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
        ("year,month,day", "2024,1.5,1", "line 3: month is 1.5: expected 1 to 12"),
        ("year,month,day", "2024,2,30", "line 3: year 2024, month 2, day 30: the month has"),
        ("year,month,day", "2024,,1", "line 3: there is no month"),
    ],
)
def test_what_is_no_time(tmp_path: Path, header: str, line: str, problem: str) -> None:
    good = "2024-05-01" if header == "t" else "2024,5,1"
    path = write(tmp_path / "t.csv", [good, line], header)
    with pytest.raises(FileError, match=problem):
        times(path, *header.split(","))


@pytest.mark.parametrize(
    ("lines", "header", "problem"),
    [
        (["x", "b", "2024-05-01", "a"], "t", "line 2: 'x' is no time"),
        (["2024,5,1", "2024,2,30", "2024,1,32"], "year,month,day", "line 3: year 2024, month 2"),
        (["2024,5,1", "2024,5,32", "2023,13,1"], "year,month,day", "line 3: day is 32"),
        (["20240501", "20240532", "20240230", "20240501", "20240502"], "t", "line 3: t is 2024053"),
    ],
)
def test_the_first_line_that_is_wrong_is_named(
    tmp_path: Path, lines: list[str], header: str, problem: str
) -> None:
    path = write(tmp_path / "t.csv", lines, header)
    with pytest.raises(FileError, match=problem):
        times(path, *header.split(","))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("20240501", "2024-05-01"),
        ("20240501133015", "2024-05-01T13:30:15"),
        ("20240229", "2024-02-29"),
        ("20240501.0", "2024-05-01"),
    ],
)
def test_compact_dates(tmp_path: Path, text: str, expected: str) -> None:
    path = write(tmp_path / "t.csv", [text, text], "t")
    source = Source(path, "t", separator=None, missing=MISSING)
    found = times_of(source, ["t"], None)
    assert found.calendar
    assert found.values.tolist() == 2 * [datetime.fromisoformat(f"{expected}+00:00").timestamp()]
    said = str(np.datetime64(expected, "m")).replace("T", " ")
    (doubt,) = source.doubts
    assert doubt.startswith(f"t is read as dates, {text.partition('.')[0]} as {said}; if these are")
    plain = times(path, "t", form="number")
    assert (plain.values[0], plain.calendar) == (float(text), False)


@pytest.mark.parametrize(
    "lines",
    [
        ["20230000", "20230100", "20239999"],  # a count
        ["1682121600", "1682125200"],  # seconds since 1970: 10 digits, but of the year 1682
        ["20230422.5", "20230423.5"],
        ["20230430", "20230431", "20230432", "20230433"],  # few are dates
        ["2023", "2024"],
    ],
)
def test_plain_numbers_are_no_dates(tmp_path: Path, lines: list[str]) -> None:
    found = times(write(tmp_path / "t.csv", lines, "t"), "t")
    assert not found.calendar
    assert found.values.tolist() == [float(line) for line in lines]


@pytest.mark.parametrize("odd", ["20230431", "20230428.5", "0"])
def test_one_that_is_no_date_among_dates_is_told(tmp_path: Path, odd: str) -> None:
    path = write(tmp_path / "t.csv", ["20230429", "20230430", odd, "20230501"], "t")
    says = rf"line 4: t is {odd}: expected a date of 8 digits, as most are; if these are plain"
    with pytest.raises(FileError, match=says):
        times(path, "t")
    assert times(path, "t", form="number").values[2] == float(odd)


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


def test_a_tick_can_be_given() -> None:
    numbers = Times(np.array([0.0, 1, 2, 0]), calendar=False)
    assert timeline(numbers, DEVICES, "0.5").length_text(3) == "1.5"


@pytest.mark.parametrize(
    ("tick", "calendar"),
    [("soon", True), ("1h", False), ("0", False), ("nan", False)],
)
def test_what_is_no_tick(tick: str, calendar: bool) -> None:
    with pytest.raises(InputError, match=f"tick is '{tick}': expected a"):
        timeline(Times(np.array([0.0, 1, 2, 0]), calendar), DEVICES, tick)


@pytest.mark.parametrize("tick", ["9" * 400 + "d", "0.0h"])
def test_a_length_that_no_tick_has(tick: str) -> None:
    with pytest.raises(InputError, match=r"tick is '[0.9]+h?.*: expected a length such as 15min"):
        timeline(Times(ONE + np.array([0.0, 1, 2, 0]), calendar=True), DEVICES, tick)


@pytest.mark.parametrize(
    ("numbers", "tick"),
    [([0.0, 1, 2, 0], "5e-324"), ([0.0, 1e-300, 1e300, 0], None), ([-1e308, 0, 1e308, 0], "1")],
)
def test_ticks_that_nobody_can_count(numbers: list[float], tick: str | None) -> None:
    with pytest.raises(InputError, match=r"are too many to count: take longer ticks \(`tick`\)"):
        timeline(Times(np.array(numbers), calendar=False), DEVICES, tick)


def test_a_tick_is_the_usual_time_of_one_device_not_of_all() -> None:
    """Devices that take turns, and one that was silent before the other began."""
    turns = Times(ONE + 1800.0 * np.array([0, 2, 4, 1, 3, 5]), calendar=True)
    assert timeline(turns, np.array([0, 0, 0, 1, 1, 1]), None).length_text() == "1h"
    after = Times(np.array([0.0, 1, 50, 53]), calendar=False)
    assert steps_of(after.values, np.array([0, 0, 1, 1])).usual == 2.0


@pytest.mark.parametrize(
    ("minutes", "tick"),
    [
        ([0, 60, 120, 180, 240], "1h"),
        ([0, 60, 120, 130, 180, 240], "20min"),  # of 2:00 and 2:10 the second is nearer to 2:20
        ([0, 60, 120, 120, 180, 240], "1h"),  # no tick keeps these apart
    ],
)
def test_a_usual_tick_keeps_readings_apart(minutes: list[float], tick: str) -> None:
    when = Times(ONE + 60.0 * np.array(minutes), calendar=True)
    line = timeline(when, np.zeros(len(minutes), dtype=np.int64), None)
    assert line.length_text() == tick
    assert np.unique(line.ticks_of(when.values)).size == np.unique(when.values).size


@given(st.lists(st.integers(0, 10_000), min_size=2, max_size=30), st.data())
def test_a_usual_tick_keeps_any_readings_apart(numbers: list[int], data: st.DataObject) -> None:
    devices = np.array([data.draw(st.integers(0, 2)) for _ in numbers])
    when, steps = np.array(numbers, dtype=np.float64), steps_of(np.array(numbers) + 0.0, devices)
    if steps.later.any():
        line = module.timeline(Times(when, calendar=False), steps, None)
        cells = set(zip(devices.tolist(), line.ticks_of(when).tolist(), strict=True))
        assert len(cells) == len(set(zip(devices.tolist(), numbers, strict=True)))


@given(st.floats(1e-6, 1e12), st.booleans())
def test_a_length_in_words_is_that_length(length: float, calendar: bool) -> None:
    line = Timeline(calendar, 0.0, length, 0.0, 1.0)
    assert line.with_ticks(line.length_text()).tick == pytest.approx(length, rel=1e-15)


@pytest.mark.parametrize(
    ("tick", "begin", "expected"),
    [
        (21600.0, 0.0, [0, 1, 2, 3, 0, 1, 2, 3, 0]),
        (21600.0, 1e9, [0, 1, 2, 3, 0, 1, 2, 3, 0]),  # at 01:46:40 in the night
        (21600.0, -3600.0, [3, 0, 1, 2, 3, 0, 1, 2, 3]),  # before 1970, an hour before midnight
        (36000.0, 0.0, [0, 1, 2, 0, 1, 0, 1, 2, 0]),  # 0:00, 10:00, 20:00, then 6:00, 16:00, 2:00
        (86400.0, 5.0, [0] * 9),
        (7 * 86400.0, 5.0, [0] * 9),
    ],
)
def test_ticks_at_one_time_of_day_have_one_number(
    tick: float, begin: float, expected: list[int]
) -> None:
    line = Timeline(True, begin, tick, begin, begin)
    assert line.of_day(np.arange(9)).tolist() == expected


@given(st.integers(1, 1440), st.integers(-(10**6), 10**6), st.floats(-1e-7, 1e-7))
def test_a_clock_a_little_off_is_at_the_same_time_of_day(
    parts: int, midnight: int, off: float
) -> None:
    """A tick begins at midnight, or as little off as numbers of seconds are rounded."""
    tick = 86400.0 / parts
    line = Timeline(True, 86400.0 * midnight + off, tick, 0.0, 0.0)
    np.testing.assert_array_equal(line.of_day(np.arange(3 * parts)), np.tile(np.arange(parts), 3))


def test_without_two_times_a_tick_must_be_given() -> None:
    with pytest.raises(FileError, match="no device has readings at two times"):
        timeline(Times(np.array([0.0, 0, 0, 5]), calendar=False), DEVICES, None)


def test_readings_half_a_tick_off_keep_their_distance() -> None:
    line = timeline(Times(np.array([0.0, 100, 200, 0]), calendar=False), DEVICES, None)
    assert line.ticks_of(np.linspace(50, 550, 6)).tolist() == [1, 2, 3, 4, 5, 6]
    assert line.ticks_of(np.linspace(-50, 450, 6)).tolist() == [0, 1, 2, 3, 4, 5]


def test_milliseconds_taken_for_seconds_are_told(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", [str(int(ONE)), str(int(ONE * 1000))], "t")
    with pytest.raises(FileError, match=r"line 3: its time is not in the years 1 to 9999: are t"):
        times(path, "t", form="unix")


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
@pytest.mark.parametrize("end", ["", "Z"])
def test_no_clock_shows_the_ends_of_the_calendar(tmp_path: Path, zone: str, end: str) -> None:
    """A day further, clocks east or west of here would be in the year 0 or 10000."""
    for text, right in (
        ("9999-12-31 23:59:59", False),
        ("0001-01-01 00:00:00", False),
        ("9999-12-28 23:59:59", True),
        ("0001-01-04 00:00:00", True),
    ):
        path = write(tmp_path / "t.csv", [f"{text}{end}"], "t")
        source = Source(path, ["t"], separator=None, missing=MISSING)
        if right:
            line = module.covered(times_of(source, ["t"], None, zone), zone)
            assert line.text(line.first).startswith(text[:5])
            assert line.text(line.moment(text, "until"))
        else:
            with pytest.raises(FileError, match="line 2: its time is not in the years 1 to 9999"):
                times_of(source, ["t"], None, zone)


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
    [("soon", True), ("x%", True), ("1e400%", True), ("1h", False)],
)
def test_what_is_no_moment(text: str, calendar: bool) -> None:
    line = timeline(Times(np.array([0.0, 1, 2, 0]), calendar), DEVICES, None)
    with pytest.raises(InputError, match=f"calibration is '{text}': expected a"):
        line.moment(text, "calibration")


@pytest.mark.parametrize(("seconds", "text"), [(0, "2024-05-01 13:00"), (7, "2024-05-01 13:00:07")])
def test_a_moment_as_people_write_it(seconds: int, text: str) -> None:
    line = timeline(Times(ONE + 3600.0 * np.array([0, 1, 2, 0]), calendar=True), DEVICES, None)
    assert line.text(ONE + seconds) == text
