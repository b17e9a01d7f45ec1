"""Times by the clocks of a zone."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

from paofed.errors import FileError, InputError
from paofed.world.table.door import read
from tests.world.table.tables import table, write

OSLO = ZoneInfo("Europe/Oslo")
AUTUMN = datetime(2024, 10, 26, tzinfo=UTC)
SPRING = datetime(2024, 3, 30, tzinfo=UTC)
HEADER = "device,time,y,a"


def readings(begin: datetime, form: str, hours: int = 60) -> list[str]:
    """Two devices, hour by hour, with times as the clocks in Oslo show them."""
    rng = np.random.default_rng(1)
    found = []
    for n in range(hours):
        wall = (begin + timedelta(hours=n)).astimezone(OSLO)
        for k in range(2):
            y, a = rng.normal(size=2).round(5).tolist()
            found.append(f"d{k},{wall:{form}},{y},{a}")
    return found


@pytest.mark.parametrize("begin", [AUTUMN, SPRING])
def test_local_times_are_those_with_their_offset(tmp_path: Path, begin: datetime) -> None:
    told = {"inputs": ["a", "time:hour"], "zone": "Europe/Oslo"}
    path = write(tmp_path / "l.csv", readings(begin, "%Y-%m-%d %H:%M"), HEADER)
    local = read(table(path, **told))
    path = write(tmp_path / "o.csv", readings(begin, "%Y-%m-%dT%H:%M:%S%z"), HEADER)
    exact = read(table(path, **told))
    assert local.timeline == exact.timeline
    np.testing.assert_array_equal(local.tick, exact.tick)
    np.testing.assert_array_equal(local.x, exact.x)
    twice = [doubt for doubt in local.doubts if "showed twice" in doubt]
    assert len(twice) == (begin is AUTUMN)
    assert not any("showed twice" in doubt for doubt in exact.doubts)


def test_columns_of_a_calendar_and_parquet_are_local_too(tmp_path: Path) -> None:
    lines = readings(AUTUMN, "%Y,%m,%d,%H")
    path = write(tmp_path / "c.csv", lines, "device,year,month,day,hour,y,a")
    told = {"inputs": ["a"], "zone": "Europe/Oslo"}
    parts = read(table(path, time=["year", "month", "day", "hour"], **told))
    cells = [line.split(",") for line in readings(AUTUMN, "%Y-%m-%dT%H:%M")]
    naive = [datetime.fromisoformat(cell[1]) for cell in cells]
    frame = pl.DataFrame({"device": [c[0] for c in cells], "time": naive})
    frame = frame.with_columns(
        y=pl.Series([float(c[2]) for c in cells]), a=pl.Series([float(c[3]) for c in cells])
    )
    frame.write_parquet(tmp_path / "t.parquet")
    shown = read(table(tmp_path / "t.parquet", **told))
    np.testing.assert_array_equal(parts.x, shown.x)
    assert parts.timeline == shown.timeline
    zoned = [(AUTUMN + timedelta(hours=n // 2)) for n in range(len(cells))]
    frame.with_columns(time=pl.Series(zoned)).write_parquet(tmp_path / "z.parquet")
    assert read(table(tmp_path / "z.parquet", **told)).timeline == shown.timeline


def test_moments_are_told_by_the_same_clocks(tmp_path: Path) -> None:
    path = write(tmp_path / "l.csv", readings(SPRING, "%Y-%m-%d %H:%M"), HEADER)
    told = {"inputs": ["a"], "zone": "Europe/Oslo", "calibration": "2024-03-30 11:00"}
    found = read(table(path, **told))
    assert found.timeline.origin == SPRING.timestamp() + 10 * 3600
    assert "from 2024-03-30 11:00 to 2024-04-01 13:00" in found.facts()[0]


def test_a_time_that_no_clock_showed(tmp_path: Path) -> None:
    lines = ["d0,2024-03-31 01:30,1,2", "d0,2024-03-31 02:30,1,2", "d0,2024-03-31 03:30,2,3"]
    path = write(tmp_path / "t.csv", lines, HEADER)
    with pytest.raises(
        FileError, match=r"line 3: clocks of Europe/Oslo never showed 2024-03-31 02"
    ):
        read(table(path, inputs=["a"], zone="Europe/Oslo"))


def test_plain_numbers_have_no_zone(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", [f"d0,{n},1,2" for n in range(9)], HEADER)
    with pytest.raises(InputError, match="zone is 'Europe/Oslo', but times are plain numbers"):
        read(table(path, inputs=["a"], zone="Europe/Oslo"))


def test_a_zone_must_be_known() -> None:
    with pytest.raises(ValidationError, match="'Oslo' is no zone that is known here"):
        table(Path("t.csv"), zone="Oslo")
