import gc
import io
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from paofed.errors import FileError
from paofed.world.recorded import Recorded
from tests.forgery import claiming


def refusal(path: Path, ticks: int = 2, clients: int = 3) -> str:
    with pytest.raises(FileError) as refused:
        Recorded(file=str(path)).table(ticks, clients)
    says = str(refused.value)
    assert says.startswith(f"{path} ")
    assert "\n" not in says
    return says


def bytes_of(array: NDArray[np.generic]) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("0,1,2\n3,4,5\n", [[0, 1, 2], [3, 4, 5]]),
        ("0, 1, 2\r\n3.0, 4e0, 5", [[0, 1, 2], [3, 4, 5]]),
        ("7\n", [[7]]),
    ],
)
def test_a_csv_is_read_as_given(text: str, table: list[list[int]], tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(text, encoding="utf-8")
    read = Recorded(file=str(tmp_path / "table.csv")).table(len(table), len(table[0]))
    assert read.dtype == np.int64
    assert read.tolist() == table


@pytest.mark.parametrize("dtype", ["bool", "uint64", "float32", ">i4"])
def test_an_npy_is_read_as_given(dtype: str, tmp_path: Path) -> None:
    np.save(tmp_path / "table.npy", np.array([[0, 1, 1], [1, 0, 1]], dtype=dtype))
    read = Recorded(file=str(tmp_path / "table.npy")).table(2, 3)
    assert read.dtype == np.int64
    assert read.tolist() == [[0, 1, 1], [1, 0, 1]]


@pytest.mark.parametrize("text", ["", "0,1,2\n", "0,1\n2,3\n", "0,1\n2,3\n4,5\n"])
def test_the_size_must_be_that_of_the_scenario(text: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    assert refusal(path).endswith("one row per tick and one column per client, (2, 3)")


@pytest.mark.parametrize("entry", ["-1", "0.5", "nan", "inf"])
def test_entries_are_whole_numbers_from_0_on(entry: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"0,1,2\n3,{entry},5\n", encoding="utf-8")
    assert refusal(path).endswith(" holds something else than whole numbers from 0 on")


@pytest.mark.parametrize("entry", ["2147483648", "1e300"])
def test_no_entry_is_longer_than_any_run(entry: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"0,1,2\n3,{entry},5\n", encoding="utf-8")
    assert refusal(path).endswith(": expected at most 2147483647")


def test_no_entry_wraps_round(tmp_path: Path) -> None:
    path = tmp_path / "table.npy"
    np.save(path, np.full((2, 3), 2**63, dtype=np.uint64))
    assert refusal(path).endswith(": expected at most 2147483647")


@pytest.mark.parametrize(
    "table",
    [
        np.array([["0", "1", "2"]] * 2),
        np.zeros((2, 3), dtype=complex),
        np.full((2, 3), np.nan, dtype=np.float16),
        np.full((2, 3), -1, dtype=np.int8),
    ],
    ids=["text", "complex", "nan", "negative"],
)
def test_arrays_of_something_else(table: NDArray[np.generic], tmp_path: Path) -> None:
    path = tmp_path / "table.npy"
    np.save(path, table)
    assert refusal(path).endswith(" holds something else than whole numbers from 0 on")


@pytest.mark.parametrize(
    "content",
    [
        b"a,b,c\n0,1,2\n3,4,5\n",
        b"0,1,2\n3,4\n",
        b"0,x,2\n3,4,5\n",
        b"\xff\xfe\n",
    ],
    ids=["header", "ragged", "word", "not text"],
)
def test_csv_files_that_are_no_table(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    assert " cannot be read as a table of numbers: " in refusal(path)


def archive() -> bytes:
    file = io.BytesIO()
    np.savez(file, table=np.zeros((2, 3)))
    return file.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"0,1,2\n3,4,5\n",
        bytes_of(np.zeros((2, 3)))[:-1],
        bytes_of(np.zeros((2, 3)))[:20],
        bytes_of(np.zeros((2, 3))) + b"more",
        bytes_of(np.array([[0, 1, None]] * 2)),
        bytes_of(np.zeros((2, 3), dtype="M8[s]")),
        claiming("(1000000000000, 3)"),
        claiming("(2, 3)", "|b1", b"\0\1\2\0\0\0"),
        archive(),
    ],
    ids=[
        "empty",
        "text",
        "truncated",
        "no header",
        "longer",
        "objects",
        "dates",
        "absurd",
        "truth",
        "archive",
    ],
)
def test_npy_files_that_are_no_array(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "table.npy"
    path.write_bytes(content)
    assert " cannot be read" in refusal(path)
    gc.collect()  # a file left open is told now, as a warning


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    for name in ("table.csv", "table.npy"):
        assert refusal(tmp_path / name) == f"{tmp_path / name} does not exist"
    assert " cannot be read as a table of numbers: " in refusal(tmp_path)
