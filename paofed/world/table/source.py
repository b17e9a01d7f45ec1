"""The columns of a CSV or Parquet file, as they were written; every error names its line."""

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
import polars as pl
import polars.selectors as cs

from paofed.core.arrays import BoolArray, FloatArray
from paofed.errors import FileError, InputError, unknown
from paofed.memory import require_memory
from paofed.world.table.columns import TRANSFORMS, TextArray

_CSV, _PARQUET = (".csv", ".csv.gz", ".tsv", ".tsv.gz"), (".parquet",)
_PACKED = 8  # how many times larger a compressed file is in memory, roughly
_SENTINELS = (-99, -999, -9999, -99999, 9999, 99999)
TOO_LARGE = (
    "keep fewer columns, save it as Parquet, or cut it into periods (the order of its rows does "
    "not matter)"
)


class Source:
    """Some columns of a file."""

    def __init__(
        self, path: Path, names: Sequence[str], *, separator: str | None, missing: Sequence[str]
    ) -> None:
        self.path = path
        self.doubts: list[str] = []
        self._is_csv = path.name.lower().endswith(_CSV)
        if separator is not None and not self._is_csv:
            raise InputError(f"separator is {separator!r}, but {path.name} is no CSV: leave it out")
        self._missing = list(missing)
        if path.exists() and not path.is_file():
            raise FileError(f"{path} is no file: expected one with readings")
        try:
            size = path.stat().st_size * (1 if path.suffix in (".csv", ".tsv") else _PACKED)
            require_memory(2 * size, f"reading {path}", TOO_LARGE)
            lazy = self._scan(separator).rename(str.strip)
            self._refuse_unknown(names, lazy.collect_schema().names())
            frame = lazy.select(list(dict.fromkeys(names))).collect()
            self._frame = frame.cast({cs.categorical() | cs.enum(): pl.String})
        except OSError as error:
            raise FileError(f"{path} cannot be read: {error.strerror or error}") from None
        except pl.exceptions.PolarsError as error:
            reason = str(error).strip().partition("\n")[0]
            raise FileError(f"{path} cannot be read as a table: {reason}") from None
        if self._frame.is_empty():
            raise FileError(f"{path} holds no readings")

    def _scan(self, separator: str | None) -> pl.LazyFrame:
        if self._is_csv:
            # As text: what is a number is decided column by column, with a line to point at.
            usual = "\t" if ".tsv" in self.path.name.lower() else ","
            return pl.scan_csv(self.path, separator=separator or usual, infer_schema=False,
                               glob=False)  # fmt: skip
        if self.path.name.lower().endswith(_PARQUET):
            return pl.scan_parquet(self.path, glob=False)
        raise FileError(
            f"{self.path} is no table: expected a name ending in .csv or .tsv, also with .gz, or "
            f".parquet"
        )

    def _refuse_unknown(self, names: Sequence[str], header: Sequence[str]) -> None:
        for name in names:
            if name in header:
                continue
            stem, _, transform = name.rpartition(":")
            if stem in header:
                problem = unknown(f"transform of {stem}", transform, TRANSFORMS)
            elif len(header) == 1:
                problem = f"it has one column, {header[0]!r}: give its separator, such as ;"
            else:
                problem = unknown("column", name, header)
            raise FileError(f"{self.path}: {problem}")

    def refuse(self, row: int, problem: str) -> NoReturn:
        """Say what is wrong with a row."""
        place = f"line {row + 2}" if self._is_csv else f"row {row + 1}"
        raise FileError(f"{self.path}, {place}: {problem}")

    def refuse_where(self, bad: BoolArray, problem: str) -> None:
        """Say what is wrong with the first row of many, if there is one."""
        if bad.any():
            self.refuse(int(np.argmax(bad)), problem)

    def texts(self, name: str) -> TextArray:
        """A column as text, empty where it is missing."""
        return self._known(name).fill_null("").to_numpy().astype(np.str_)

    def _known(self, name: str) -> pl.Series:
        """A column as text, null where it is missing."""
        column = self._frame[name]
        if column.dtype.is_nested() or column.dtype.is_temporal() or column.dtype == pl.Binary:
            raise FileError(f"{self.path}: {name} holds {column.dtype}: expected words or numbers")
        column = column.cast(pl.String).str.strip_chars()
        return column.set(column.is_in([*self._missing, ""]), None)

    def numbers(self, name: str, advice: str = "") -> FloatArray:
        """A column as finite numbers, NaN where it is missing; advice is for who has words."""
        column = self._frame[name]
        if column.dtype == pl.String:
            column = self._known(name)
            is_text = column.is_not_null() & column.cast(pl.Float64, strict=False).is_null()
            if is_text.any():
                row = is_text.arg_max() or 0
                self.refuse(row, f"{name} is {column[row]!r}: expected a number{advice}")
        elif not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
            raise FileError(f"{self.path}: {name} holds {column.dtype}: expected numbers")
        values: FloatArray = column.cast(pl.Float64).fill_null(np.nan).to_numpy().copy()
        self.refuse_where(
            np.isinf(values),
            f"{name} is infinite: expected a number, or nothing where it is missing",
        )
        marks = pl.Series(self._missing, dtype=pl.String).cast(pl.Float64, strict=False)
        values[np.isin(values, marks.drop_nulls().to_numpy())] = np.nan
        self._doubt(name, values)
        return values

    def _doubt(self, name: str, values: FloatArray) -> None:
        """Wonder about the numbers that programs write where there is none."""
        for mark in _SENTINELS:
            count = int((values == mark).sum())
            if count > 1 and mark in (np.nanmin(values), np.nanmax(values)):
                self.doubts.append(
                    f"{name} is {mark} {count:,} times: if that means missing, say so"
                )

    def is_number(self, name: str) -> bool:
        """Whether a column holds numbers alone."""
        column = self._frame[name]
        if column.dtype == pl.String:
            column = column.str.strip_chars().cast(pl.Float64, strict=False)
            return not column.is_null().any()
        return column.dtype.is_numeric()

    def instants(self, name: str) -> FloatArray | None:
        """A column that the file itself has as times, in seconds since 1970; else None."""
        column = self._frame[name]
        if not column.dtype.is_temporal() or isinstance(column.dtype, pl.Time | pl.Duration):
            return None
        micros = column.cast(pl.Datetime("us")).to_physical().cast(pl.Float64)
        return micros.fill_null(np.nan).to_numpy() / 1e6
