"""Rows that came after a table: what a model sees of them, by the records that the table has left.

Nothing is fitted here. A row needs the columns of the inputs. The device and time of a row matter
only where inputs look back, and its time where inputs go by the calendar.
"""

from pathlib import Path

import numpy as np

from paofed.core.arrays import FloatArray, IntArray
from paofed.core.columns.transform import Transform
from paofed.errors import FileError
from paofed.world.table.inputs import Rows
from paofed.world.table.reader import devices_of, one_per_cell
from paofed.world.table.source import Source
from paofed.world.table.spec import Records, Table
from paofed.world.table.timeline import Timeline, covered, steps_of
from paofed.world.table.times import Times, times_of
from paofed.world.table.wide import DEVICE, Wide


def numbers_of(table: Table, records: Records) -> FloatArray:
    """Return what a model sees of every row of a file, (rows, d), in the order of the rows.

    A number is NaN where a value is missing in the row, or in an earlier row that it looks back at.
    Of several rows of a device in one tick, all but the one that `duplicates` picks give NaN.
    """
    source = Source(
        Path(table.file),
        _names(table, records),
        separator=table.separator,
        missing=table.missing,
        decimal=table.decimal,
        wide=None if table.wide is None else Wide(table.time, table.wide),
    )
    rows, kept = _rows(source, table, records)
    parts = [_numbers(source, record, rows, kept) for record in records.inputs]
    found = np.full((source.height, sum(part.shape[1] for part in parts)), np.nan)
    found[kept] = np.concatenate(parts, axis=1)
    return found


def _names(table: Table, records: Records) -> list[str]:
    measured = [record.name for record in records.inputs if record.measures != "time"]
    device = [table.device or DEVICE] if records.look_back else []
    return [*device, *(table.time if records.need_time else ()), *measured]


def _rows(source: Source, table: Table, records: Records) -> tuple[Rows, IntArray]:
    """Return device and tick of the rows that can be predicted, and their places in the file."""
    every = np.arange(source.height)
    if not records.need_time:
        return Rows(every, every, np.zeros(every.size)), every
    device = table.device or DEVICE
    named = device if records.look_back else None
    times = times_of(source, table.time, table.time_format, table.zone, named)
    line = _line(source, table, records, times)
    if not records.look_back:
        return Rows(every, line.ticks_of(times.values), times.values), every
    devices, whose = devices_of(source, device)
    rows = Rows(whose, line.ticks_of(times.values), times.values)
    steps = steps_of(times.values, whose)
    kept = one_per_cell(source, rows, devices, line, steps, table.duplicates)
    return rows.some(kept), kept


def _line(source: Source, table: Table, records: Records, times: Times) -> Timeline:
    """Return a timeline with the ticks of the earlier table over the times of these rows."""
    if times.calendar != records.calendar:
        kinds = "those of a calendar", "plain numbers"
        here, there = kinds if times.calendar else kinds[::-1]
        raise FileError(f"{source.path}: its times are {here}, and those of the run were {there}")
    line = covered(times, table.zone or "UTC")
    return line._replace(tick=records.tick, origin=records.origin)


def _numbers(source: Source, record: Transform, rows: Rows, kept: IntArray) -> FloatArray:
    if record.measures == "time":
        return record.numbers(rows.time)
    if record.measures == "text":
        texts = source.texts(record.name).some(kept)
        return texts.rows(record.numbers(texts.different))
    values = source.numbers(record.name)[kept]
    return record.numbers(*(rows.before(values, lag) if lag else values for lag in record.lags))
