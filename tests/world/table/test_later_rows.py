"""Rows to come are seen as those of the table were."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed.core.arrays import FloatArray
from paofed.errors import FileError
from paofed.world.table.door import read, seen_in
from paofed.world.table.spec import Records, Table
from tests.world.table.tables import hourly, table, with_gaps, write


def records_of(spec: Table) -> Records:
    readings = read(spec)
    line = readings.timeline
    return Records(readings.columns[:-1], line.calendar, line.origin, line.tick)


def of_the_table(spec: Table, seen: FloatArray) -> None:
    """Every complete reading of a table is among what is seen of its rows, and as it was."""
    readings = read(spec)
    complete = seen[np.isfinite(seen).all(axis=1)]
    for x in (*readings.x, *readings.x_past):
        assert (complete == x).all(axis=1).any()


@pytest.mark.parametrize(
    "inputs",
    [
        ["a", "b:raw", "device:one-hot"],
        ["a", "time:hour"],
        ["a:lag=1", "b:diff=2", "y:lag=3", "time:weekday"],
    ],
    ids=["of the row", "of its time", "of those before"],
)
def test_the_rows_of_the_table_itself(inputs: list[str], tmp_path: Path) -> None:
    spec = table(write(tmp_path / "t.csv", with_gaps(hourly(3, 50))), inputs=inputs)
    seen = seen_in(spec, records_of(spec))
    assert len(seen) == len(Path(spec.file).read_text().splitlines()) - 1
    of_the_table(spec, seen)


def test_the_order_of_the_rows_is_theirs(tmp_path: Path) -> None:
    lines = with_gaps(hourly(3, 50))
    spec = table(write(tmp_path / "t.csv", lines), inputs=["a", "y:lag=1"])
    records = records_of(spec)
    seen = seen_in(spec, records)
    order = np.random.default_rng(0).permutation(len(lines))
    other = table(write(tmp_path / "u.csv", [lines[i] for i in order]), inputs=["a", "y:lag=1"])
    np.testing.assert_array_equal(seen_in(other, records), seen[order])


@pytest.mark.parametrize(
    ("inputs", "header"), [(["a", "b"], "a,b"), (["a", "time:hour"], "time,a")]
)
def test_columns_that_do_not_matter_need_not_be_there(
    inputs: list[str], header: str, tmp_path: Path
) -> None:
    records = records_of(table(write(tmp_path / "t.csv", hourly()), inputs=inputs))
    row = "2024-07-01 13:00,1.5" if "time" in header else "1.5,2.5"
    other = table(write(tmp_path / "u.csv", [row], header), inputs=inputs)
    assert np.isfinite(seen_in(other, records)).all()


@pytest.mark.parametrize(("duplicates", "there"), [("first", [1, 0]), ("last", [0, 1])])
def test_of_several_rows_in_one_tick_one_counts(
    duplicates: Any, there: list[int], tmp_path: Path
) -> None:
    spec = table(write(tmp_path / "t.csv", hourly()), inputs=["a", "y:lag=1"])
    lines = [f"d0,2024-07-01 {time},1,2,3" for time in ("12:00", "13:00", "13:10")]
    changes = {"inputs": ["a", "y:lag=1"], "duplicates": duplicates}
    other = table(write(tmp_path / "u.csv", lines), **changes)
    seen = np.isfinite(seen_in(other, records_of(spec))).all(axis=1)
    assert seen.tolist() == [False, *map(bool, there)]


def test_a_wide_table_column_by_column(tmp_path: Path) -> None:
    hours = [f"2024-05-{1 + n // 24:02d} {n % 24:02d}:00,{n % 7},{n % 5}" for n in range(40)]
    path = write(tmp_path / "t.csv", hours, "time,north,south")
    wide = {"device": None, "wide": "load", "target": "load", "inputs": ["load:lag=1"]}
    spec = table(path, **wide)
    seen = seen_in(spec, records_of(spec))
    assert len(seen) == 80
    assert np.flatnonzero(np.isnan(seen[:, 0])).tolist() == [0, 40]
    of_the_table(spec, seen)


@pytest.mark.parametrize(
    ("form", "says"),
    [(None, "are plain numbers, and those of the run were those of a calendar"),
     ("unix", "are those of a calendar, and those of the run were plain numbers")],
)  # fmt: skip
def test_times_of_another_kind(form: str | None, says: str, tmp_path: Path) -> None:
    inputs = ["a", "y:lag=1"]
    spec = table(write(tmp_path / "t.csv", hourly()), inputs=inputs)
    records = records_of(spec)._replace(calendar=form is None)
    lines = [f"d0,{time},1,2,3" for time in (1000, 4600)]
    other = table(write(tmp_path / "u.csv", lines), inputs=inputs, time_format=form)
    with pytest.raises(FileError, match=says):
        seen_in(other, records)
