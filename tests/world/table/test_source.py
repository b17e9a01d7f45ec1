import gzip
import os
import zipfile
from pathlib import Path
from typing import NoReturn

import numpy as np
import polars as pl
import pytest

from paofed.errors import FileError, InputError
from paofed.world.names import MISSING
from paofed.world.table import source as module
from paofed.world.table.source import Source
from tests.world.table.tables import write


def source(
    path: Path, *names: str, separator: str | None = None, missing: tuple[str, ...] = MISSING
) -> Source:
    return Source(path, names, separator=separator, missing=missing)


def told(path: Path, *names: str) -> list[str]:
    """The texts of all rows."""
    texts = source(path, *names).texts(*names)
    return [str(text) for text in texts.rows(texts.different)]


def test_numbers_with_gaps(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ["1.5", "NA", "", " 2 ", "nan"], "a")
    np.testing.assert_array_equal(source(path, "a").numbers("a"), [1.5, np.nan, np.nan, 2, np.nan])


def test_texts_with_gaps(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ["N,1", ",2", " NE ,3", "NA,4"], "a,b")
    assert told(path, "a") == ["N", "", "NE", ""]
    assert told(path, "a", "b") == ["N 1", " 2", "NE 3", " 4"]


def test_what_else_means_missing(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ["-999", "-999.0", "1"], "a")
    found = source(path, "a", missing=("-999",)).numbers("a")
    np.testing.assert_array_equal(found, [np.nan, np.nan, 1])


def test_another_separator(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ["1;2"], "a;b")
    np.testing.assert_array_equal(source(path, "b", separator=";").numbers("b"), [2])
    with pytest.raises(
        FileError, match="it has one column, 'a;b': give its `separator`, such as ;"
    ):
        source(path, "b")


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_a_line_with_more_cells_than_the_header(tmp_path: Path, name: str) -> None:
    text = b'\na,b\n1,"2,5"\n1,2,5\n'
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    with pytest.raises(FileError, match=r", line 4: 3 cells under 2 columns: put a cell with ','"):
        source(tmp_path / name, "b")


def test_text_in_latin_1(tmp_path: Path) -> None:
    """The lines are all as long as the header, so polars' own words are told."""
    (tmp_path / "t.csv").write_bytes("a,b\n1,groß\n".encode("latin-1"))
    with pytest.raises(FileError, match="cannot be read as a table: invalid utf-8 sequence"):
        source(tmp_path / "t.csv", "b")


def test_a_longer_line_far_from_the_header(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", [*["1,2"] * 100_000, "1,2,5", *["1,2"] * 100_000], "a,b")
    with pytest.raises(FileError, match=r", line 100002: 3 cells under 2 columns"):
        source(path, "a", "b")


@pytest.mark.parametrize(
    ("name", "text"),
    [("t.csv", "a, b\n1, 2\n"), ("t.tsv", "a\tb\n1\t2\n"), ("T.CSV", "a,b\n1,2\n"),
     ("data[1].csv", "a,b\n1,2\n")],
)  # fmt: skip
def test_blanks_around_a_name_tabs_and_odd_names_of_files(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    np.testing.assert_array_equal(source(tmp_path / name, "b").numbers("b"), [2])
    (tmp_path / "t.tsv.gz").write_bytes(gzip.compress(b"a\tb\n1\t2\n"))
    np.testing.assert_array_equal(source(tmp_path / "t.tsv.gz", "b").numbers("b"), [2])


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame = pl.DataFrame(
        {
            "n": [1, None],
            "s": ["x", None],
            "t": pl.Series(["2024-05-01", "2024-05-02"]).str.to_date(),
            "gone": pl.Series([None, None], dtype=pl.Datetime("ms")),
        }
    )
    frame.write_parquet(path)
    found = source(path, "n", "s", "t", "gone")
    np.testing.assert_array_equal(found.numbers("n"), [1, np.nan])
    assert told(path, "s") == ["x", ""]
    instants = found.instants("t")
    assert instants is not None
    assert np.diff(instants).tolist() == [86400]
    gone = found.instants("gone")
    assert gone is not None
    assert np.isnan(gone).all()
    assert found.instants("n") is None
    assert found.is_number("n")
    assert not found.is_number("s")
    with pytest.raises(FileError, match="row 2: oh"):
        found.refuse(1, "oh")


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["1", "NNW"], "line 3: a is 'NNW': expected a number"),
        (["1", "2", "inf"], "line 4: a is infinite: expected a number, or nothing"),
    ],
)
def test_what_is_no_number(tmp_path: Path, lines: list[str], problem: str) -> None:
    path = write(tmp_path / "t.csv", lines, "a")
    with pytest.raises(FileError, match=problem):
        source(path, "a").numbers("a")


def test_an_unknown_column_suggests_the_nearest(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ["1,2"], "TEMP,PRES")
    with pytest.raises(FileError, match="unknown column 'TMP': did you mean 'TEMP'"):
        source(path, "TMP")


def test_an_unknown_transform_suggests_the_nearest(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ["1,2"], "TEMP,PRES")
    with pytest.raises(FileError, match="unknown transform of TEMP 'log1': did you mean 'log1p'"):
        source(path, "TEMP:log1")


def test_a_file_without_readings(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="holds no readings"):
        source(write(tmp_path / "t.csv", [], "a"), "a")


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"gone.csv cannot be read: No such file"):
        source(tmp_path / "gone.csv", "a")


def test_something_else(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    path.write_bytes(b"PK")
    with pytest.raises(FileError, match="is no table: expected a name ending in"):
        source(path, "a")


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(FileError, match="is no file: expected one with readings"):
        source(tmp_path / "t.csv", "a")


def test_categories_of_numbers_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"c": pl.Series(["10", "20"], dtype=pl.Categorical)}).write_parquet(path)
    np.testing.assert_array_equal(source(path, "c").numbers("c"), [10, 20])
    assert told(path, "c") == ["10", "20"]


@pytest.mark.parametrize(
    "values",
    [
        pl.Series("a", [[1], [2]]),
        pl.Series("a", [{"b": 1}, {"b": 2}]),
    ],
)
def test_what_is_neither_words_nor_numbers(tmp_path: Path, values: pl.Series) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"a": values}).write_parquet(path)
    found = source(path, "a")
    with pytest.raises(FileError, match=r"a holds .*: expected numbers"):
        found.numbers("a")
    with pytest.raises(FileError, match=r"a holds .*: expected words or numbers"):
        found.texts("a")


def test_parquet_has_no_separator(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"separator is ';', but t\.parquet is no CSV"):
        source(tmp_path / "t.parquet", "a", separator=";")


def test_a_column_that_is_there_twice(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ["1,2,3,4"], "a,b, a,a")
    with pytest.raises(FileError, match=r"t.csv: 3 columns are called 'a': expected one; rename"):
        source(path, "a")
    with pytest.raises(FileError, match=r"unknown column 'a_duplicated_0'"):
        source(path, "a_duplicated_0")
    np.testing.assert_array_equal(
        source(path, "b").numbers("b"), [2]
    )  # nobody asked for the others


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_text_in_utf_16(tmp_path: Path, encoding: str, name: str) -> None:
    text = "a,b\n1,2\n".encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    with pytest.raises(FileError, match=r"is text in UTF-16: expected UTF-8; .* iconv -f UTF-16"):
        source(tmp_path / name, "a")


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_packed_is_seen_whatever_its_name(tmp_path: Path, name: str, packed: bool) -> None:
    """The header of an archive has zeros, as text in UTF-16 has."""
    text = b"a,b\n1,2\n3,4\n"
    (tmp_path / name).write_bytes(gzip.compress(text) if packed else text)
    np.testing.assert_array_equal(source(tmp_path / name, "b").numbers("b"), [2, 4])


def test_a_zip_archive_is_named(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "t.csv", "w") as archive:
        archive.writestr("inner.csv", "a,b\n1,2\n")
    with pytest.raises(FileError, match=r"t\.csv is a zip archive: expected text; unpack it"):
        source(tmp_path / "t.csv", "a")


@pytest.mark.parametrize("before", ["\n", "\r\n\r\n", " \n\t\n", "\ufeff\n"])
def test_empty_lines_before_the_header(tmp_path: Path, before: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(f"{before}a,b\n1,2\n3,x\n".encode())
    found = source(path, "a", "b")
    np.testing.assert_array_equal(found.numbers("a"), [1, 3])
    with pytest.raises(FileError, match=rf"line {3 + before.count(chr(10))}: b is 'x'"):
        found.numbers("b")


@pytest.mark.parametrize("text", ["\n", "\n\n", "x", ""])
def test_a_file_of_hardly_anything(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(FileError, match=r"t\.csv(: it has one| cannot be read as a table: )"):
        source(tmp_path / "t.csv", "a")


def test_a_damaged_archive(tmp_path: Path) -> None:
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n")[:15])
    with pytest.raises(FileError, match=r"t\.csv\.gz cannot be read"):
        source(tmp_path / "t.csv.gz", "a")


@pytest.mark.parametrize("packed", [False, True])
def test_a_cell_longer_than_a_line_can_be_read_by(tmp_path: Path, packed: bool) -> None:
    """Polars counts more cells than columns, and Python's own reader gives up at the long one."""
    text = f'a,b\n1,2\n1,"{"x" * 200_000}"\n1,2,3\n1,2\n'.encode()
    (tmp_path / "t.csv").write_bytes(gzip.compress(text) if packed else text)
    with pytest.raises(FileError, match=r"line 3: field larger than field limit .* a quote not c"):
        source(tmp_path / "t.csv", "a", "b")


def test_a_cell_that_is_no_name_time_or_number(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ["a,1", f"{'x' * 1001},1", f"{'é' * 500},1"], "a,b")
    with pytest.raises(FileError, match=r"line 3: a has 1,001 bytes: expected at most 1,000"):
        source(path, "a")
    np.testing.assert_array_equal(source(path, "b").numbers("b"), [1, 1, 1])  # nobody asked for a
    write(path, ["a,1", f"{'é' * 500},1"], "a,b")
    assert told(path, "a") == ["a", "é" * 500]


def test_a_column_whose_name_is_long(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ["1,2"], f"a,{'x' * 300_000}")
    with pytest.raises(FileError, match=r"a column is called 'x{199}\.\.\. \(300,002 characters\)"):
        source(path, "x" * 300_000)
    with pytest.raises(FileError) as refusal:
        source(path, "y" * 300_000)
    assert len(str(refusal.value)) < 5000


def test_one_long_text_is_not_paid_for_in_every_row(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", [*["a"] * 20_000, "x" * 1000], "a")
    found = source(path, "a").texts("a")
    assert found.different.tolist() == ["a", "x" * 1000]
    assert sum(array.nbytes for array in found) < 10 * 20_001


@pytest.mark.parametrize("line", ["a,b\r1,2\r3,4\r", "a,b\r"])
def test_lines_that_end_in_cr_alone(tmp_path: Path, line: str) -> None:
    (tmp_path / "t.csv").write_bytes(line.encode() * 200)
    with pytest.raises(FileError, match=r"lines that end in CR alone: expected LF.* convert") as no:
        source(tmp_path / "t.csv", "a")
    assert len(str(no.value)) < 300


def test_a_header_as_long_as_the_look_at_it(tmp_path: Path) -> None:
    """The look ends between CR and LF."""
    (tmp_path / "t.csv").write_bytes(b"a," + b"x" * 1021 + b"\r\n1,2\r\n")
    np.testing.assert_array_equal(source(tmp_path / "t.csv", "a").numbers("a"), [1])


def test_an_archive_that_unpacks_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 400_000))
    np.testing.assert_array_equal(source(path, "a").numbers("a")[:1], [1])  # small as it is
    monkeypatch.setattr(module, "_FREELY", 2**20)
    monkeypatch.setattr(module, "_AT_ONCE", 2**16)
    with pytest.raises(FileError, match=r"more than 1 MB once .* no table is packed that tightly"):
        source(path, "a")
    monkeypatch.setattr(module, "_MOST_PACKED", 2000)
    assert source(path, "a").height == 400_000


@pytest.mark.parametrize("begin", [b"\x1f\x8b", b"x\x9c", b"x\x01", b"x\xda", b"\x28\xb5\x2f\xfd"])
def test_what_is_packed_otherwise_is_not_unpacked(tmp_path: Path, begin: bytes) -> None:
    """Polars would unpack all of these, and nothing bounds how far."""
    (tmp_path / "t.csv").write_bytes(gzip.compress(begin + b"a,b\n1,2\n"))
    with pytest.raises(FileError, match=r"is packed, but not as gzip packs a CSV once: unpack it"):
        source(tmp_path / "t.csv", "a")


def test_a_parquet_of_more_rows_than_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few bytes of Parquet may say that one number comes a billion times."""
    path = tmp_path / "t.parquet"
    pl.DataFrame({"a": np.zeros(1_000_000)}).write_parquet(path)
    monkeypatch.setattr(os, "sysconf", lambda _: 2000)  # a machine with 4 MB
    with pytest.raises(InputError, match="needs 0 GB of memory"):
        source(path, "a")
    assert path.stat().st_size * 16 < 4_000_000


def test_a_panic_of_the_reader_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def panic(*_: object, **__: object) -> NoReturn:
        os.write(2, b"stack backtrace:")
        raise pl.exceptions.PanicException("assertion failed")

    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(pl, "scan_parquet", panic)
    with pytest.raises(FileError, match=r"cannot be read as a table: its reader gave up in the"):
        source(tmp_path / "t.parquet", "a")
    os.write(2, b"back again")
    assert capfd.readouterr().err == "back again"


def test_damaged_parquet_files_are_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Bytes set to zero, in files that are not compressed: the reader panics at some of these."""
    path = tmp_path / "t.parquet"
    names = [f"d{i % 4}" for i in range(200)]
    frame = pl.DataFrame({"n": names, "a": range(200), "b": [i / 7 for i in range(200)]})
    frame.write_parquet(path, compression="uncompressed")
    whole, told = path.read_bytes(), []
    for place in range(0, len(whole), 25):
        path.write_bytes(whole[:place] + bytes(30) + whole[place + 30 :])
        try:
            source(path, "n", "a", "b")
        except FileError as error:
            told.append(str(error))
    assert len(told) > 20
    assert not any("\n" in problem for problem in told)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_a_file_larger_than_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(module, "_PACKED", 1 << 60)
    (tmp_path / name).write_bytes(gzip.compress(b"a\n1\n"))
    with pytest.raises(InputError, match="or cut it into periods"):
        source(tmp_path / name, "a")


def test_decimal_commas_that_nobody_told_of(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ["1,5;2,5", "1,5;2,5"], "a;b")
    with pytest.raises(FileError, match=r"it has one column, 'a;b': .* or `decimal` , where"):
        source(path, "b")
