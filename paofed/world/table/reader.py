"""From the rows of a file to a fleet's readings.

The readings are put in order, so the order of the rows does not matter. The transforms are fitted
on the calibration period, which ends before tick 0: later rows do not change earlier inputs.
Nothing is fitted for the rows of a file that came after a table: what a model sees of them follows
from the records that the table has left.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from paofed.core.arrays import FloatArray, IntArray
from paofed.core.columns.transform import Transform
from paofed.errors import FileError, shown
from paofed.words import natural
from paofed.world.table.columns import column
from paofed.world.table.inputs import Rows, costly, expanded, most_missing
from paofed.world.table.readings import Readings
from paofed.world.table.source import DEVICE, Source, Wide
from paofed.world.table.spec import Records, Table
from paofed.world.table.timeline import (
    Steps,
    Timeline,
    covered,
    longer,
    separating,
    steps_of,
    timeline,
)
from paofed.world.table.times import Times, times_of

_MOST_TICKS = 2**31 - 1  # the most ticks that a scenario may have
_NO_GROUP = "no group"


def readings_of(table: Table) -> Readings:
    """Read a table from its file."""
    columns = [column(text) for text in (*table.inputs, table.target)]
    name = table.device or DEVICE
    source = Source(
        Path(table.file),
        [
            name,
            *table.time,
            *(col.name for col in columns if not col.is_calendar),
            *_named(table.group),
        ],
        separator=table.separator,
        missing=table.missing,
        decimal=table.decimal,
        wide=None if table.wide is None else Wide(table.time, table.wide),
    )
    zone = table.zone or "UTC"
    found = times_of(source, table.time, table.time_format, table.zone, name)
    times = _until(source, found, table.until, zone)
    devices, device = devices_of(source, name)
    steps = steps_of(times.values, device)
    line = _after_calibration(source, timeline(times, steps, table.tick, zone), table.calibration)
    rows = Rows(device, line.ticks_of(times.values), times.values)
    kept = one_per_cell(source, rows, devices, line, steps, table.duplicates)
    rows = rows.some(kept)
    calendar = times.calendar
    parts = [expanded(source, table, col, rows, kept, calendar=calendar) for col in columns]
    values = np.concatenate([part.numbers for part in parts], axis=1)
    complete = np.isfinite(values).all(axis=1)
    past, now = complete & (rows.tick < 0), complete & (rows.tick >= 0)
    for when, some in (("in", past), ("after", now)):
        if not some.any():
            raise FileError(
                f"{source.path}: no reading {when} the calibration period is complete: "
                f"{most_missing(parts)}"
            )
    return Readings(
        devices=devices,
        columns=tuple(part.record for part in parts),
        timeline=line,
        ticks=_ticks(source, rows, line),
        tick=rows.tick[now],
        device=rows.device[now],
        x=values[now, :-1],
        y=values[now, -1],
        previous=_previous(rows.device, values[:, -1])[now],
        x_past=values[past, :-1],
        y_past=values[past, -1],
        last_past=_last(rows, values[:, -1], len(devices)),
        scored=_scored(source, line, table.score_from, rows.tick[now]),
        groups=_groups(source, table.group, devices, device),
        doubts=(*source.doubts, *costly(parts), *_doubts(line, rows, len(device))),
    )


def _until(source: Source, times: Times, until: str | None, zone: str) -> Times:
    """Return the times of the rows up to the moment `until`; later rows are dropped."""
    if until is None:
        return times
    line = covered(times, zone)
    end = line.moment(until, "until")
    left = times.values <= end
    if not left.any():
        raise FileError(
            f"{source.path}: nothing is left until {line.text(end)}: the table goes from "
            f"{line.text(line.first)} to {line.text(line.last)}"
        )
    source.keep(left)
    return times._replace(values=times.values[left])


def devices_of(source: Source, name: str) -> tuple[tuple[str, ...], IntArray]:
    """Return the names of the devices in natural order, and the device of each row by index."""
    texts = source.texts(name)
    source.refuse_where(texts.missing, f"there is no {name}: expected the name of a device")
    names = [str(text) for text in texts.different]
    order = sorted(range(len(names)), key=lambda index: natural(names[index]))
    return tuple(names[i] for i in order), texts.rows(np.argsort(order))


def _named(column: str | None) -> list[str]:
    return [] if column is None else [column]


def _groups(
    source: Source, name: str | None, devices: Sequence[str], device: IntArray
) -> tuple[str, ...]:
    """Return the group of every device; a device must not have two groups."""
    if name is None:
        return ()
    texts = source.texts(name)
    known = np.flatnonzero(~texts.missing)
    found, first = np.unique(device[known], return_index=True)
    of_device = np.full(len(devices), -1)
    of_device[found] = texts.which[known[first]]
    for row in known[texts.which[known] != of_device[device[known]]].tolist()[:1]:
        here, elsewhere = (texts.different[i] for i in (texts.which[row], of_device[device[row]]))
        source.refuse(
            row,
            f"{name} of {devices[device[row]]} is {shown(here)}, and {shown(elsewhere)} "
            f"elsewhere: expected one group per device",
        )
    return tuple(str(texts.different[i]) if i >= 0 else _NO_GROUP for i in of_device.tolist())


def _doubts(line: Timeline, kept: Rows, readings: int) -> Iterator[str]:
    """Yield what looks odd about the rows as a whole."""
    if dropped := readings - kept.time.size:
        yield f"{dropped:,} of {readings:,} readings dropped: not the only one in their tick"
    steps = steps_of(kept.time, kept.device)
    often = round(steps.usual / line.tick) if steps.later.any() else 1
    if often > 1:
        yield (
            f"readings usually come every {often} ticks: windows go by ticks, and such devices may "
            f"never share some parameters; {_better_ticks(line.length_text(often), line, steps)}"
        )


def _better_ticks(usual: str, line: Timeline, steps: Steps) -> str:
    """Advise ticks of the usual step, and what else can be done where readings share a tick."""
    advice, apart = f"take ticks of {usual} (`tick`)", longer(line, steps)
    if apart == usual:
        return advice
    other = f", or ticks of {apart}, which keep all apart" if apart else ""
    return f"{advice} and the first or last of the readings in one (`duplicates`){other}"


def _after_calibration(source: Source, line: Timeline, until: str) -> Timeline:
    """Count the ticks of `line` from the first tick after the calibration period."""
    end = line.moment(until, "calibration")
    if not line.first < end <= line.last:
        raise FileError(
            f"{source.path}: calibration until {line.text(end)} leaves no reading before it or "
            f"none after: the table goes from {line.text(line.first)} to {line.text(line.last)}"
        )
    return line._replace(origin=line.origin + line.from_on(end) * line.tick)


def one_per_cell(
    source: Source,
    rows: Rows,
    devices: Sequence[str],
    line: Timeline,
    steps: Steps,
    choice: str,
) -> IntArray:
    """Return the rows that stay, in order of time: one per device and tick."""
    cell = rows.tick * len(devices) + rows.device
    order = np.lexsort((rows.time, cell))
    again = np.diff(cell[order]) == 0
    if choice == "refuse" and again.any():
        at = int(np.argmax(again))
        one, two = sorted(order[[at, at + 1]].tolist())
        source.refuse(
            two,
            f"a second reading of {devices[rows.device[two]]} in one tick, at "
            f"{line.text(rows.time[two])} after {line.text(rows.time[one])}, with ticks of "
            f"{line.length_text()}: take the first or last of them (`duplicates`)"
            f"{_other_ticks(line, steps)}",
        )
    ends = np.append(~again, True) if choice == "last" else np.append(True, ~again)
    kept: IntArray = order[ends]
    return kept


def _other_ticks(line: Timeline, steps: Steps) -> str:
    """Say which ticks would keep all readings apart, as far as any ticks can."""
    if steps.repeated:
        return "; no ticks keep apart what has the same time"
    return f", or ticks of {separating(line, steps).length_text()} (`tick`)"


def _ticks(source: Source, rows: Rows, line: Timeline) -> int:
    ticks = int(rows.tick.max()) + 1
    if ticks > _MOST_TICKS:
        raise FileError(
            f"{source.path}: {ticks:,} ticks of {line.length_text()} up to {line.text(line.last)}: "
            f"expected fewer than 2^31: take longer ticks (`tick`, perhaps with `duplicates`)"
        )
    return ticks


def _last(rows: Rows, y: FloatArray, devices: int) -> FloatArray:
    """Return the last known target of each device in the calibration period."""
    last, known = np.full(devices, math.nan), np.isfinite(y) & (rows.tick < 0)
    last[rows.device[known]] = y[known]  # of several values of a device, the last one stays
    return last


def _previous(device: IntArray, y: FloatArray) -> FloatArray:
    """Return the last known target of the same device before each reading.

    Readings are in order.
    """
    order = np.argsort(device, kind="stable")
    ordered, place = y[order], np.arange(order.size)
    known = np.maximum.accumulate(np.where(np.isfinite(ordered), place, -1))
    before = np.append(-1, known[:-1])
    same = (before >= 0) & (device[order[before]] == device[order])
    previous = np.empty_like(y)
    previous[order] = np.where(same, ordered[before], math.nan)
    return previous


def _scored(source: Source, line: Timeline, since: str | None, ticks: IntArray) -> int:
    if since is None:
        return 0
    moment = line.moment(since, "score_from")
    first = max(0, line.from_on(moment))
    if not (ticks >= first).any():
        raise FileError(f"{source.path}: no complete reading from {line.text(moment)} on")
    return first


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
