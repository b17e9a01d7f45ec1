"""`until`: rows after a moment are as if they were not in the file."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paofed.errors import FileError, InputError
from paofed.world.table.door import read
from paofed.world.table.readings import Readings
from tests.effort import effort
from tests.world.table.tables import hourly, table, with_gaps, write

LINES = with_gaps(hourly(3, 40), share=0.5)


def time_of(line: str) -> str:
    return line.split(",")[1]


def same(one: Readings, two: Readings) -> None:
    for field in fields(Readings):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(two, field.name))


@settings(
    max_examples=effort(everyday=10, thorough=25),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.integers(15, 39), st.randoms(use_true_random=False))
def test_rows_after_it_are_as_if_they_were_not_there(
    tmp_path: Path, hour: int, random: Any
) -> None:
    """Also those that nobody could read, and a device that comes later; in any order of rows."""
    end = f"2024-05-{1 + hour // 24:02d} {hour % 24:02d}:00"
    spoilt = "d0,2024-05-03 12:00,what,is,this"
    lines = [*LINES, spoilt, "new,2024-05-03 12:00,1,2,3"]
    random.shuffle(lines)
    name = f"{hour}-{abs(hash(tuple(lines)))}"
    whole = write(tmp_path / f"{name}.csv", lines)
    cut = write(tmp_path / f"{name}-cut.csv", [line for line in lines if time_of(line) <= end])
    told = {"calibration": "30%", "score_from": "40%", "tick": "1h"}
    same(read(table(whole, until=end, **told)), read(table(cut, **told)))


@pytest.mark.parametrize(("until", "last"), [("30h", 30), ("50%", 20), ("2w", 40)])
def test_it_is_a_share_or_a_length_of_the_whole_file(tmp_path: Path, until: str, last: int) -> None:
    found = read(table(write(tmp_path / "t.csv", hourly(2, 41)), until=until))
    assert found.ticks - 1 + 10 == last


def test_an_error_names_the_line_of_the_file(tmp_path: Path) -> None:
    """Rows that are left keep their numbers."""
    lines = [*reversed(hourly(2, 39)), "d0,2024-05-01 00:30,words,1,2"]
    path = write(tmp_path / "t.csv", lines)
    with pytest.raises(FileError, match=r"t\.csv, line 80: y is 'words': expected a number"):
        read(table(path, until="20h"))


def test_something_must_be_left(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", hourly(2, 40))
    with pytest.raises(FileError, match="nothing is left until 2023-01-01 00:00: the table goes"):
        read(table(path, until="2023-01-01"))
    with pytest.raises(FileError, match="calibration until 2024-05-01 10:00 leaves no reading"):
        read(table(path, until="5h"))
    with pytest.raises(InputError, match="until is 'soon': expected a time such as 2014-03-01"):
        read(table(path, until="soon"))
