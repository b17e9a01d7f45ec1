"""Lags, differences and the calendar as inputs of a table."""

from pathlib import Path

import numpy as np
import pytest

from paofed.core.columns.numbers import Number
from paofed.errors import InputError
from paofed.world.table.door import read
from paofed.world.table.readings import Readings
from tests.world.table.tables import hourly, table, with_gaps, write

LOST = 7  # hours between two parts of the table


def cells(lines: list[str]) -> dict[tuple[str, int], dict[str, float]]:
    """What the file says, by device and hour since its first day."""
    found = {}
    for line in lines:
        device, _, *values = line.split(",")
        known = {name: value for name, value in zip("yab", values, strict=True) if value}
        found[device, _hour(line)] = {name: float(value) for name, value in known.items()}
    return found


@pytest.fixture
def lines() -> list[str]:
    """Readings with gaps of all kinds, and some hours without any."""
    found = with_gaps(hourly(3, 60), share=0.3)
    return [line for line in found if not 30 <= _hour(line) < 30 + LOST]


def _hour(line: str) -> int:
    time = line.split(",")[1]
    return 24 * (int(time[8:10]) - 1) + int(time[11:13])


def measured(found: Readings, column: int) -> list[float]:
    record = found.columns[column]
    assert isinstance(record, Number)
    plain: list[float] = (found.x[:, column] * record.scale + record.offset).tolist()
    return plain


def test_a_lag_is_what_the_device_measured_exactly_that_tick(
    tmp_path: Path, lines: list[str]
) -> None:
    inputs = ["a", "a:lag=1", "y:lag=2", "b:diff=1"]
    found = read(table(write(tmp_path / "t.csv", lines), inputs=inputs, tick="1h"))
    file, expected = cells(lines), []
    for hour in range(10, 60):
        for device in found.devices:
            here, one, two = (file.get((device, hour - lag), {}) for lag in range(3))
            if here.keys() == {"y", "a", "b"} and {"a", "b"} <= one.keys() and "y" in two:
                values = here["a"], one["a"], two["y"], here["b"] - one["b"]
                expected.append((device, hour, values))
    devices = [found.devices[k] for k in found.device.tolist()]
    assert [*zip(devices, (found.tick + 10).tolist(), strict=True)] == [
        (device, hour) for device, hour, *_ in expected
    ]
    assert 0 < len(expected) < len(lines) / 2
    for column in range(4):
        assert measured(found, column) == pytest.approx([values[column] for *_, values in expected])


def test_constants_of_a_lag_come_from_the_calibration_period(tmp_path: Path) -> None:
    lines = hourly(1, 40)
    found = read(table(write(tmp_path / "t.csv", lines), inputs=["a:lag=1"]))
    past = np.array([float(line.split(",")[3]) for line in lines[:9]])  # 1 to 9 look at 0 to 8
    record = found.columns[0]
    assert record == Number("a", float(past.mean()), float(past.std()), lag=1)
    assert found.labels == ("a[n-1]",)


def test_the_first_tick_looks_into_the_calibration_period(tmp_path: Path) -> None:
    found = read(table(write(tmp_path / "t.csv", hourly(2, 40)), inputs=["a:lag=3"]))
    assert found.tick[0] == 0
    assert len(found.y) == 2 * 30


def test_the_calendar_is_an_input_of_any_table_with_one(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", hourly(1, 60))
    found = read(table(path, inputs=["a", "time:hour", "time:weekday", "time:yearday"]))
    assert found.labels[1:3] == ("sin hour", "cos hour")
    assert found.recipes[2] == "sin and cos of 2 pi weekday / 7, with Monday = 0; UTC"
    assert found.x[2, 1:3] == pytest.approx([0, -1], abs=1e-9)  # noon
    assert found.x[2, 3] == pytest.approx(np.sin(2 * np.pi * 2 / 7))  # 1 May 2024 was a Wednesday
    assert found.x[2, 5] == pytest.approx(np.sin(2 * np.pi * 121 / 366))
    split = [line.replace(" ", ",", 1) for line in hourly(1, 60)]
    path = write(tmp_path / "u.csv", split, "device,date,clock,y,a,b")
    again = read(table(path, time=["date", "clock"], inputs=["a", "time:hour"]))
    np.testing.assert_array_equal(again.x, found.x[:, :3])


def test_plain_numbers_have_no_weekday(tmp_path: Path) -> None:
    lines = [line.replace(line.split(",")[1], str(i)) for i, line in enumerate(hourly(1, 40))]
    path = write(tmp_path / "t.csv", lines)
    with pytest.raises(InputError, match="time:weekday needs a calendar, but the time is a plain"):
        read(table(path, inputs=["a", "time:weekday"], calibration="10"))
