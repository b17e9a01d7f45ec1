"""The columns of a CSV or Parquet file, as they were written; every error names its line."""

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple, NoReturn

import numpy as np
import polars as pl
import polars.selectors as cs

from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.errors import FileError, InputError, cut, shown, unknown
from paofed.memory import require_memory
from paofed.world.table.columns import TRANSFORMS, Texts
from paofed.world.table.panics import without_backtraces

_CSV, _PARQUET = (".csv", ".csv.gz", ".tsv", ".tsv.gz"), (".parquet",)
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"  # the first bytes of such files, whatever their name is
# The first bytes of what else polars would unpack: zlib (of three strengths) and Zstandard.
_OTHERS = b"\x78\x01", b"\x78\x9c", b"\x78\xda", b"\x28\xb5\x2f\xfd"
_PACKED = 8  # how many times larger a compressed file is in memory, roughly
# A table that was packed may be so many times larger, and in any case as large as FREELY bytes. No
# table of readings is packed that tightly, and a forged file of 1 MB unpacks to 1 GB.
_MOST_PACKED, _FREELY = 100, 2**26
_AT_ONCE = 2**20  # bytes that are unpacked at a time
_LONGEST = (
    1000  # bytes in a cell or in a name of a column; those that nobody asked for may be longer
)
_SEPARATORS = {".": ",", ",": ";"}  # the separator of columns, by the decimal point of numbers
_SENTINELS = (-99, -999, -9999, -99999, 9999, 99999)
TOO_LARGE = (
    "keep fewer columns, save it as Parquet, or cut it into periods (the order of its rows does "
    "not matter)"
)


DEVICE = "device"  # the name of the column with the device, once each device has its own rows


class Wide(NamedTuple):
    """Which columns are the time, and what all other columns, the devices, measure."""

    time: tuple[str, ...]
    value: str

    @property
    def known(self) -> list[str]:
        """The columns after `long`: the time, the device and its values."""
        return [*self.time, DEVICE, self.value]

    def devices(self, header: Sequence[str]) -> list[str]:
        """Return the columns of a header that are devices."""
        return [name for name in header if name not in self.time]

    def long(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return one row per device and time: all rows of the first device, then of the next."""
        devices = self.devices(frame.columns)
        numeric = all(frame[name].dtype.is_numeric() for name in devices)
        common = pl.Float64 if numeric else pl.String
        frame = frame.with_columns(pl.col(devices).cast(common))
        return frame.unpivot(
            on=devices, index=self.time, variable_name=DEVICE, value_name=self.value
        )


class Source:
    """Some columns of a CSV or Parquet file."""

    def __init__(
        self,
        path: Path,
        names: Sequence[str],
        *,
        separator: str | None,
        missing: Sequence[str],
        decimal: str = ".",
        wide: Wide | None = None,
    ) -> None:
        self.path = path
        self.doubts: list[str] = []
        self._is_csv = path.name.lower().endswith(_CSV)
        if separator is not None and not self._is_csv:
            raise InputError(
                f"separator is {separator!r}, but {path.name} is no CSV: leave it out",
                key="separator",
            )
        self._missing = list(missing)
        self._decimal = decimal
        self._skipped = 0  # how many empty lines are before the header
        if path.exists() and not path.is_file():
            raise FileError(f"{path} is no file: expected one with readings")
        try:
            is_packed = self._is_csv and _is_gzip(path)
            growth = 1 if self._is_csv and not is_packed else _PACKED
            require_memory(2 * growth * path.stat().st_size, f"reading {path}", TOO_LARGE)
            self._content = _unpacked(path) if is_packed else path
            with without_backtraces(pl.exceptions.PanicException):
                frame = self._read(names, separator, wide)
            frame = frame.cast({cs.categorical() | cs.enum(): pl.String})
        except (OSError, EOFError, zlib.error) as error:  # the last two: a damaged archive
            why = getattr(error, "strerror", None) or error
            raise FileError(f"{path} cannot be read: {why}") from None
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            reason = cut(str(error).strip().partition("\n")[0])
            if isinstance(error, pl.exceptions.PanicException):
                reason = "its reader gave up in the middle, so it is damaged; write it again"
            raise FileError(f"{path} cannot be read as a table: {reason}") from None
        if frame.is_empty():
            raise FileError(f"{path} holds no readings")
        self._rows: IntArray = np.arange(frame.height)  # where each row stands in the file
        self._frame = frame
        if wide is not None:
            self._frame = wide.long(frame)
            self._rows = np.tile(self._rows, len(wide.devices(frame.columns)))
        self._wide = wide
        self._refuse_long_cells()

    @property
    def height(self) -> int:
        """Count the rows."""
        return int(self._rows.size)

    def keep(self, these: BoolArray) -> None:
        """Drop all other rows than `these`, as if they were not in the file."""
        self._frame, self._rows = self._frame.filter(these), self._rows[these]

    def _read(self, names: Sequence[str], separator: str | None, wide: Wide | None) -> pl.DataFrame:
        if self._is_csv:
            begin = self._begin()
            _refuse_other_than_text(self.path, begin)
            self._skipped = begin[: len(begin) - len(begin.lstrip())].count(b"\n")
            usual = "\t" if ".tsv" in self.path.name.lower() else _SEPARATORS[self._decimal]
            separator = separator or usual
            lazy = self._scan_csv(separator, has_header=True)
            # The header as it was written: polars renames the second of two equal names.
            first = self._collected(self._scan_csv(separator, has_header=False).head(1), separator)
            written = [name or "" for name in first.row(0)]
        elif self.path.name.lower().endswith(_PARQUET):
            lazy = pl.scan_parquet(self.path, glob=False)
            written = lazy.collect_schema().names()
            rows = lazy.select(pl.len()).collect().item()
            require_memory(8 * rows * len(names), f"reading {self.path}", TOO_LARGE)
        else:
            raise FileError(
                f"{self.path} is no table: expected a name ending in .csv or .tsv, also with .gz, "
                f"or .parquet"
            )
        header = [name.strip() for name in written]
        if wide is not None:
            self._refuse_unknown(names, wide.known)
            names = [*wide.time, *wide.devices(header)]
            if len(names) == len(wide.time):
                raise FileError(f"{self.path} has no column but the time: expected one per device")
        self._refuse_unknown(names, header)
        for name in names:
            if len(name.encode()) > _LONGEST:
                raise FileError(
                    f"{self.path}: a column is called {shown(name)}: expected a name of at most "
                    f"{_LONGEST:,} bytes"
                )
        known = lazy.collect_schema().names()
        chosen = [pl.col(known[header.index(name)]).alias(name) for name in dict.fromkeys(names)]
        return self._collected(lazy.select(chosen), separator)

    def _collected(self, lazy: pl.LazyFrame, separator: str | None) -> pl.DataFrame:
        try:
            return lazy.collect()
        except pl.exceptions.ComputeError:
            if separator is not None:
                self._refuse_longer_line(separator)
            raise

    def _refuse_longer_line(self, separator: str) -> None:
        """Refuse the first line with more cells than the header, of which polars names no line."""
        with io.TextIOWrapper(self._opened(), encoding="utf-8-sig", errors="replace") as file:
            lines = csv.reader(file, delimiter=separator)
            try:
                header = next((cells for cells in lines if "".join(cells).strip()), [])
                if len(header) == 1:
                    raise FileError(f"{self.path}: {_one_column(header[0])}")
                longer = next((cells for cells in lines if len(cells) > len(header)), None)
            except csv.Error as error:
                raise FileError(
                    f"{self.path}, line {lines.line_num}: {error}: is a quote not closed?"
                ) from None
            if longer is not None:
                raise FileError(
                    f"{self.path}, line {lines.line_num}: {len(longer)} cells under {len(header)} "
                    f"columns: put a cell with {separator!r} in it into quotes, or give the file's "
                    f"`separator` and `decimal`"
                )

    def _opened(self) -> IO[bytes]:
        """Open the text of a CSV."""
        content = self._content
        return io.BytesIO(content) if isinstance(content, bytes) else content.open("rb")

    def _begin(self) -> bytes:
        """Return the first bytes of a CSV."""
        with self._opened() as file:
            return file.read(1024).removeprefix(codecs.BOM_UTF8)

    def _scan_csv(self, separator: str, *, has_header: bool) -> pl.LazyFrame:
        # All columns are read as text: what is a number is decided column by column, so that an
        # error can name a line.
        return pl.scan_csv(self._content, separator=separator, infer_schema=False, glob=False,
                           has_header=has_header, skip_lines=self._skipped)  # fmt: skip

    def _refuse_unknown(self, names: Sequence[str], header: Sequence[str]) -> None:
        for name in names:
            if (times := header.count(name)) > 1:
                raise FileError(
                    f"{self.path}: {times} columns are called {name!r}: expected one; rename the "
                    f"others"
                )
            if times:
                continue
            stem, _, transform = name.rpartition(":")
            if stem in header:
                problem = unknown(f"transform of {stem}", transform, TRANSFORMS)
            elif len(header) == 1:
                problem = _one_column(header[0])
            else:
                problem = unknown("column", name, header)
            raise FileError(f"{self.path}: {problem}")

    def refuse(self, row: int, problem: str) -> NoReturn:
        """Refuse the file: say what is wrong with a row."""
        found = int(self._rows[row])
        place = f"line {self._skipped + found + 2}" if self._is_csv else f"row {found + 1}"
        if self._wide is not None:
            place += f", column {self._frame[DEVICE][row]}"
        raise FileError(f"{self.path}, {place}: {problem}")

    def _refuse_long_cells(self) -> None:
        """Refuse a text that cannot be a name, a time or a number; some are a quote left open."""
        for column in self._frame.select(cs.string()):
            lengths = column.str.len_bytes()
            row = lengths.arg_max()
            if row is not None and lengths[row] > _LONGEST:
                self.refuse(
                    row,
                    f"{column.name} has {lengths[row]:,} bytes: expected at most {_LONGEST:,}; is "
                    f"a quote not closed?",
                )

    def refuse_where(self, bad: BoolArray, problem: str) -> None:
        """Refuse the file if any row is `bad`: say what is wrong with the first of them."""
        if bad.any():
            self.refuse(int(np.argmax(bad)), problem)

    def texts(self, *names: str) -> Texts:
        """Return a column as text, empty where a value is missing; of several, joined by blanks."""
        columns = [self._known(name).fill_null("").alias(name) for name in names]
        texts = pl.select(pl.concat_str(columns, separator=" ")).to_series()
        which = texts.rank("dense").to_numpy().astype(np.int64) - 1
        return Texts(texts.unique().sort().to_numpy(), which)

    def _known(self, name: str) -> pl.Series:
        """Return a column as text, null where a value is missing."""
        column = self._frame[name]
        if column.dtype.is_nested() or column.dtype.is_temporal() or column.dtype == pl.Binary:
            raise FileError(f"{self.path}: {name} holds {column.dtype}: expected words or numbers")
        column = column.cast(pl.String).str.strip_chars()
        return column.set(column.is_in([*self._missing, ""]), None)

    def numbers(self, name: str, advice: str = "") -> FloatArray:
        """Return a column as finite numbers, NaN where missing.

        `advice` ends the error for a word.
        """
        column = self._frame[name]
        if column.dtype == pl.String:
            known = self._known(name)
            column = self._parsed(known)
            is_text = known.is_not_null() & column.is_null()
            if is_text.any():
                row = is_text.arg_max() or 0
                hint = self._other_comma(known[row]) or advice
                self.refuse(row, f"{name} is {shown(known[row])}: expected a number{hint}")
        elif not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
            raise FileError(f"{self.path}: {name} holds {column.dtype}: expected numbers")
        values: FloatArray = column.cast(pl.Float64).fill_null(np.nan).to_numpy().copy()
        self.refuse_where(
            np.isinf(values),
            f"{name} is infinite: expected a number, or nothing where it is missing",
        )
        marks = self._parsed(pl.Series(self._missing, dtype=pl.String))
        values[np.isin(values, marks.drop_nulls().to_numpy())] = np.nan
        self._doubt(name, values)
        return values

    def _parsed(self, texts: pl.Series) -> pl.Series:
        """Return texts as numbers, null where a text is no number."""
        if self._decimal == ",":
            texts = texts.set(texts.str.contains(".", literal=True), None)
            texts = texts.str.replace(",", ".", literal=True)
        return texts.cast(pl.Float64, strict=False)

    def _other_comma(self, text: str) -> str:
        """Advise on a number with another decimal point than expected; empty for any other text."""
        if self._decimal == "," and re.fullmatch(r"[-+]?\d*\.\d+", text):
            return " with a decimal comma, as `decimal` says"
        if self._decimal == "." and re.fullmatch(r"[-+]?\d*,\d+", text):
            return " with a decimal point (a decimal comma? give , as `decimal`)"
        if self._wide is not None:
            return ", since every column but the time is a device in a wide table"
        return ""

    def _doubt(self, name: str, values: FloatArray) -> None:
        """Note numbers such as -999, which programs write where a value is missing."""
        for mark in _SENTINELS:
            count = int((values == mark).sum())
            doubt = f"{name} is {mark} {count:,} times: if that means nothing, say so (`missing`)"
            if count > 1 and mark in (np.nanmin(values), np.nanmax(values)):
                self.doubts += [doubt] if doubt not in self.doubts else []

    def is_number(self, name: str) -> bool:
        """Whether a column holds numbers alone."""
        column = self._frame[name]
        if column.dtype == pl.String:
            return not self._parsed(column.str.strip_chars()).is_null().any()
        return column.dtype.is_numeric()

    def has_zone(self, name: str) -> bool:
        """Whether a column that the file itself stores as times has a zone."""
        return getattr(self._frame[name].dtype, "time_zone", None) is not None

    def instants(self, name: str) -> FloatArray | None:
        """Return a column that the file itself stores as times in seconds since 1970; else None.

        Times without a zone are taken as UTC.
        """
        column = self._frame[name]
        if not column.dtype.is_temporal() or isinstance(column.dtype, pl.Time | pl.Duration):
            return None
        micros = column.cast(pl.Datetime("us")).to_physical().cast(pl.Float64)
        return micros.fill_null(np.nan).to_numpy() / 1e6


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_GZIP)) == _GZIP


def _one_column(name: str) -> str:
    return (
        f"it has one column, {shown(name)}: give its `separator`, such as ;, or `decimal` , where "
        f"numbers have a decimal comma"
    )


def _unpacked(path: Path) -> bytes:
    """Unpack a CSV, by its content and not by its name, as polars would; refuse a forged one."""
    most = max(_FREELY, _MOST_PACKED * path.stat().st_size)
    content = io.BytesIO()
    with gzip.open(path) as file:
        while part := file.read(_AT_ONCE):
            content.write(part)
            if content.tell() > most:
                raise FileError(
                    f"{path} is more than {most // 10**6:,} MB once it is unpacked, from "
                    f"{path.stat().st_size:,} bytes: no table is packed that tightly; if this one "
                    f"is, unpack it first (gunzip)"
                )
    return content.getvalue()


def _refuse_other_than_text(path: Path, begin: bytes) -> None:
    """Refuse files that people save as CSV by mistake: polars would read odd letters, or unpack."""
    if begin.startswith(_ZIP):
        raise FileError(
            f"{path} is a zip archive: expected text; unpack it (a workbook: save it as CSV)"
        )
    if begin.startswith((_GZIP, *_OTHERS)):
        raise FileError(f"{path} is packed, but not as gzip packs a CSV once: unpack it")
    if b"\r" in begin[:-1] and b"\n" not in begin:
        raise FileError(
            f"{path} has lines that end in CR alone: expected LF, or CR and LF; convert it as in "
            f"tr '\\r' '\\n' < old.csv > new.csv"
        )
    # In UTF-16 every second byte of plain letters is 0.
    halves = begin[:64:2], begin[1:64:2]
    if begin.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or any(
        half and not any(half) for half in halves
    ):
        raise FileError(
            f"{path} is text in UTF-16: expected UTF-8; save it as that, or convert it as in "
            f"iconv -f UTF-16 -t UTF-8 old.csv > new.csv"
        )
