"""Wide tables, decimal commas, and columns that cost most of the readings."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

from paofed.errors import FileError
from paofed.world.table.door import read
from paofed.world.table.spec import Table
from tests.world.table.tables import hourly, table, write

WIDE: dict[str, Any] = {
    "time": "time",
    "target": "load",
    "wide": "load",
    "inputs": ["load:lag=1", "time:hour"],
    "calibration": "10h",
}


def rows(hours: int = 40) -> list[list[str]]:
    """Time, and the loads of three devices, with gaps."""
    rng = np.random.default_rng(3)
    found = []
    for n in range(hours):
        loads = rng.normal(size=3).round(4).tolist()
        cells = ["" if 0 < n < hours - 1 and rng.random() < 0.1 else f"{v}" for v in loads]
        found.append([f"2024-05-{1 + n // 24:02d} {n % 24:02d}:00", *cells])
    return found


def wide(path: Path, **changes: Any) -> Table:
    return Table.model_validate({"file": str(path), **WIDE, **changes})


def test_a_wide_table_is_the_long_one_of_its_columns(tmp_path: Path) -> None:
    across = write(tmp_path / "w.csv", [",".join(row) for row in rows()], "time,m1,m2,m10")
    along = [
        f"{name},{time},{load}"
        for time, *loads in rows()
        for name, load in zip(("m1", "m2", "m10"), loads, strict=True)
    ]
    path = write(tmp_path / "l.csv", along, "meter,time,load")
    long = Table.model_validate({"file": str(path), **WIDE, "wide": None, "device": "meter"})
    one, two = read(wide(across)), read(long)
    assert one.devices == two.devices == ("m1", "m2", "m10")
    for name in ("tick", "device", "x", "y", "x_past"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    hot = read(wide(across, inputs=["load:lag=1", "device:one-hot"]))
    assert hot.labels[1:] == ("device=m1", "device=m10", "device=m2")


def test_numbers_of_a_wide_parquet_need_not_be_of_one_type(tmp_path: Path) -> None:
    hours = [*range(40)]
    values = {"time": hours, "a": hours, "b": [float(h % 7) for h in hours]}
    pl.DataFrame(values).write_parquet(tmp_path / "t.parquet")
    found = read(wide(tmp_path / "t.parquet", inputs=["load:lag=1"], calibration="10"))
    assert found.devices == ("a", "b")


@pytest.mark.parametrize(
    ("lines", "header", "changes", "problem"),
    [
        (
            ["1,x", "2,3"],
            "time,a",
            {},
            r"line 2, column a: load is 'x': expected a number, since e",
        ),
        (["1", "2"], "time", {}, "has no column but the time: expected one per device"),
        (["1,2"], "time,a", {"inputs": ["temp"]}, r"unknown column 'temp' \(known: time, device"),
    ],
)
def test_what_is_no_wide_table(
    tmp_path: Path, lines: list[str], header: str, changes: dict[str, Any], problem: str
) -> None:
    path = write(tmp_path / "w.csv", lines, header)
    with pytest.raises(FileError, match=problem):
        read(wide(path, **{"inputs": ["load:lag=1"], "calibration": "2", **changes}))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"device": "m"}, "expected `device`, .* or `wide`, .*: one of the two"),
        ({"group": "town"}, "group is town: all columns of a wide table are devices"),
        ({"target": "power"}, "the target is power: expected load, which is all that is measured"),
        ({"wide": "time"}, "time is the time: expected a word for what devices measure"),
    ],
)
def test_a_wide_table_measures_one_thing(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        wide(Path("w.csv"), **changes)


def test_a_decimal_comma(tmp_path: Path) -> None:
    lines = [*hourly(2, 40), "d0,2024-05-02 20:00,-99.5,1,2"]
    plain = write(tmp_path / "p.csv", lines)
    comma = [line.replace(",", ";").replace(".", ",") for line in lines]
    other = write(tmp_path / "c.csv", comma, "device;time;y;a;b")
    marks = {"missing": ["", "-99.5"]}, {"missing": ["", "-99,50"]}
    one = read(table(plain, **marks[0]))
    two = read(table(other, decimal=",", **marks[1]))
    np.testing.assert_array_equal(one.x, two.x)
    np.testing.assert_array_equal(one.y, two.y)


@pytest.mark.parametrize(
    ("decimal", "cell", "advice"),
    [
        (".", "1,5", r"expected a number with a decimal point \(a decimal comma\? give , as `dec"),
        (",", "1.5", "expected a number with a decimal comma, as `decimal` says"),
        (",", "1.234,5", "expected a number$"),
        (".", "high", "expected a number; where the word means that a value is missing"),
    ],
)
def test_numbers_written_another_way(tmp_path: Path, decimal: str, cell: str, advice: str) -> None:
    lines = [f"d0;{i};1;2;{cell}" for i in range(20)]
    path = write(tmp_path / "t.csv", lines, "device;time;y;a;b")
    told = {"separator": ";", "decimal": decimal, "calibration": "5", "inputs": ["b"]}
    if cell == "1.234,5":
        told["target"], told["inputs"] = "b", ["a:raw"]
    with pytest.raises(FileError, match=rf"line 2: b is '{cell}': {advice}"):
        read(table(path, **told))


def test_a_column_that_costs_most_readings_is_named(tmp_path: Path) -> None:
    lines = [
        ",".join([*line.split(",")[:-1], "" if i % 4 else line.split(",")[-1]])
        for i, line in enumerate(hourly(2, 40))
    ]
    path = write(tmp_path / "t.csv", lines)
    doubts = " ".join(read(table(path)).doubts)
    assert "b is missing in 60 readings that have all else, and only 20 are complete" in doubts
    assert "missing in" not in " ".join(read(table(path, inputs=["a"])).doubts)


def test_a_table_without_a_complete_reading_says_what_is_missing(tmp_path: Path) -> None:
    lines = [line.rsplit(",", 1)[0] + "," for line in hourly(2, 40)]
    path = write(tmp_path / "t.csv", lines)
    with pytest.raises(FileError, match=r"is complete: b is missing in 80 of 80$"):
        read(table(path, inputs=["a", "b:raw"]))
