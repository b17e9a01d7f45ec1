"""What a model sees of every row: columns of a file, fitted on the past, with lags where asked.

A lag is what the same device measured so many ticks before, in whatever row of the file. Where the
device has no row for that tick, nothing is filled in.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.columns.transform import Transform
from paofed.errors import InputError
from paofed.world.table.columns import Column, column, fit, of_time, unfitted
from paofed.world.table.source import Source
from paofed.world.table.spec import Table


class Rows(NamedTuple):
    """To which device and tick each of M rows of a table belongs."""

    device: IntArray
    tick: IntArray  # negative in the calibration period
    time: FloatArray

    def some(self, which: IntArray) -> "Rows":
        """Return the entries of some rows, in their order."""
        return Rows(self.device[which], self.tick[which], self.time[which])

    def before(self, values: FloatArray, lag: int) -> FloatArray:
        """Return the value of each row's device `lag` ticks before; NaN where there is no such row.

        The rows are in order of ticks and, within a tick, of devices; a device has at most one row
        in a tick.
        """
        devices = int(self.device.max()) + 1
        cell = self.tick * devices + self.device
        wanted = cell - lag * devices
        at = np.searchsorted(cell, wanted)
        found: FloatArray = np.where(cell[at] == wanted, values[at], math.nan)
        return found


class Expanded(NamedTuple):
    """One column as inputs of a model."""

    record: Transform
    numbers: FloatArray  # (M, labels); NaN where the reading is missing

    @property
    def missing(self) -> BoolArray:
        """Which of the M readings lack this column."""
        return np.asarray(np.isnan(self.numbers).any(axis=1))

    @property
    def words(self) -> str:
        """The name of the column, for people."""
        return self.record.labels[0] if len(self.record.labels) == 1 else self.record.name


def expanded(
    source: Source, table: Table, col: Column, rows: Rows, kept: IntArray, *, calendar: bool
) -> Expanded:
    """Expand one column of the kept rows."""
    if table.is_time(col, calendar=calendar):
        if not calendar:
            raise InputError(
                f"{col.name}:{col.transform} needs a calendar, but the time is a plain number: "
                f"give its `time_format`, or take another input"
            )
        record = of_time(col, table.zone or "UTC")
        return Expanded(record, record.numbers(rows.time))
    if col.is_text:
        texts = source.texts(col.name).some(kept)
        record = fit(col, texts.occur(rows.tick < 0), texts.different)
        return Expanded(record, texts.rows(record.numbers(texts.different)))
    values = _values(source, table, col, rows, kept)
    record = fit(col, rows.tick < 0, *values)
    return Expanded(record, record.numbers(*values))


def _values(
    source: Source, table: Table, col: Column, rows: Rows, kept: IntArray
) -> list[FloatArray]:
    """Return the numbers of a column, one array for each of its lags."""
    is_input = any(column(text) == col for text in table.inputs)
    words = (
        f"; where the word means that a value is missing, name it in `missing`; where all are "
        f"words, take {col.name}:one-hot or {col.name}:compass"
    )
    numbers = source.numbers(col.name, words if is_input else "")[kept]
    return [rows.before(numbers, lag) if lag else numbers for lag in unfitted(col).lags]


def costly(parts: Sequence[Expanded]) -> Iterator[str]:
    """Name each column that alone makes most readings incomplete."""
    missing = np.stack([part.missing for part in parts])
    lacking = missing.sum(axis=0)
    complete = int((lacking == 0).sum())
    for part, gaps in zip(parts, missing, strict=True):
        alone = int((gaps & (lacking == 1)).sum())
        if alone > complete:
            yield (
                f"{part.words} is missing in {alone:,} readings that have all else, and only "
                f"{complete:,} are complete: leave it out (`inputs`), unless it is the target"
            )


def most_missing(parts: Sequence[Expanded]) -> str:
    """Say which column is missing most often."""
    part = max(parts, key=lambda part: int(part.missing.sum()))
    return f"{part.words} is missing in {int(part.missing.sum()):,} of {part.missing.size:,}"
