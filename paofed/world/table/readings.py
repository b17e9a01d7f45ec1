"""A fleet's readings on a grid of ticks and devices, gaps left as gaps.

Every reading is put into its cell, so the order of the rows does not matter. The transforms are
fitted on the calibration period, which ends before tick 0: what comes later changes nothing before.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.features import median_distance
from paofed.errors import FileError, InputError
from paofed.memory import require_memory
from paofed.words import counted, listed
from paofed.world.table.columns import Column, Inputs, column, expand, seconds
from paofed.world.table.source import TOO_LARGE, Source
from paofed.world.table.spec import Table
from paofed.world.table.timeline import (
    Steps,
    Timeline,
    longer,
    positive,
    separating,
    steps_of,
    timeline,
)
from paofed.world.table.times import times_of


@dataclass(frozen=True, eq=False, kw_only=True)
class Readings:
    """N ticks of K devices with d inputs, and C complete readings from before them."""

    devices: tuple[str, ...]
    labels: tuple[str, ...]  # of the inputs
    recipes: tuple[str, ...]  # what a device computes for its inputs and, last, its target
    timeline: Timeline
    x: FloatArray  # (N, K, d); 0 where there is no complete reading
    y: FloatArray  # (N, K); NaN where the target is unknown; it may be known without inputs
    has_data: BoolArray  # (N, K): there is a complete reading
    x_past: FloatArray  # (C, d): the calibration period's, in order of time
    y_past: FloatArray  # (C,)
    y_before: FloatArray  # (K,): the last target known before tick 0; NaN where there is none
    scored: int  # the first tick whose errors count
    scale: str  # what 1 of the target stands for
    doubts: tuple[str, ...]  # what looks wrong, though it is none of our business

    @property
    def kernel_width(self) -> float:
        """The median distance between two inputs of the calibration period."""
        return median_distance(self.x_past)

    def facts(self) -> list[str]:
        """What was found, for people."""
        line, there = self.timeline, self.has_data
        ticks, devices = there.shape
        fleet = counted(devices, "device")
        length = f"{counted(ticks, 'tick')} of {line.length_text()}"
        span = f"from {line.text(line.origin)} to {line.text(line.last)}"
        found = [
            f"{fleet}, {length} {span}, {there.mean():.0%} with a complete reading",
            f"calibrated on {len(self.y_past):,} complete readings before that",
            f"0 dB is an error of {self.scale}",
        ]
        if self.scored:
            since = line.text(line.origin + self.scored * line.tick)
            found.append(f"errors count from {since} on")
        silent = [self.devices[k] for k in np.flatnonzero(~there.any(axis=0)).tolist()]
        if silent:
            found.append(f"no complete reading after calibration from {listed(silent)}")
        return [*found, *self.doubts]


class _Rows(NamedTuple):
    """Where the M rows of a table belong."""

    device: IntArray
    tick: IntArray  # negative in the calibration period
    time: FloatArray

    def some(self, which: IntArray) -> "_Rows":
        """Those of some rows, in their order."""
        return _Rows(self.device[which], self.tick[which], self.time[which])


def read(table: Table) -> Readings:
    """Read a table; it is read again only after its file has changed."""
    try:
        stat = Path(table.file).stat()
    except OSError as error:
        raise FileError(f"{table.file} cannot be read: {error.strerror}") from None
    except ValueError as error:  # a name that no file can have
        raise FileError(f"{table.file!r} cannot be read: {error}") from None
    return _read(table, stat.st_mtime_ns)


def forget() -> None:
    """Keep no table: the next one is read from its file."""
    _read.cache_clear()


@lru_cache(maxsize=2)
def _read(table: Table, _changed: int) -> Readings:
    columns = [column(text) for text in (*table.inputs, table.target)]
    source = Source(
        Path(table.file),
        [table.device, *table.time, *(col.name for col in columns)],
        separator=table.separator,
        missing=table.missing,
    )
    times = times_of(source, table.time, table.time_format)
    devices, device = _devices(source, table.device)
    steps = steps_of(times.values, device)
    line = _after_calibration(source, timeline(times, steps, table.tick), table.calibration)
    rows = _Rows(device, line.ticks_of(times.values), times.values)
    kept = _one_per_cell(source, rows, devices, line, steps, table.duplicates)
    rows = rows.some(kept)
    calendar = times.calendar
    parts = [_expanded(source, col, table, rows, kept, calendar=calendar) for col in columns]
    values = np.concatenate([part.values for part in parts], axis=1)
    shape = int(rows.tick.max()) + 1, len(devices)
    _require_grid(source, shape, values.shape[1], line)
    complete = np.isfinite(values).all(axis=1)
    past, now = complete & (rows.tick < 0), complete & (rows.tick >= 0)
    for when, some in (("in", past), ("after", now)):
        if not some.any():
            raise FileError(f"{source.path}: no reading {when} the calibration period is complete")
    has_data = _on_grid(shape, rows, now, now, empty=False)
    return Readings(
        devices=devices,
        labels=tuple(label for part in parts[:-1] for label in part.labels),
        recipes=tuple(part.recipe for part in parts),
        timeline=line,
        x=_on_grid(shape, rows, now, values[:, :-1], empty=0.0),
        y=_on_grid(shape, rows, rows.tick >= 0, values[:, -1], empty=math.nan),
        has_data=has_data,
        x_past=values[past, :-1],
        y_past=values[past, -1],
        y_before=_latest(rows, values[:, -1], len(devices)),
        scored=_scored(source, line, table.score_from, has_data),
        scale=f"{parts[-1].scale:.3g} of {parts[-1].labels[0]}",
        doubts=(*source.doubts, *_doubts(line, rows, len(device))),
    )


def _devices(source: Source, name: str) -> tuple[tuple[str, ...], IntArray]:
    """The names of the devices, numbers in them in their order, and whose each row is."""
    texts = source.texts(name)
    source.refuse_where(texts == "", f"there is no {name}: expected the name of a device")
    found, device = np.unique(texts, return_inverse=True)

    def natural(index: int) -> list[tuple[int, str]]:
        parts: list[str] = re.findall(r"\d+|\D+", str(found[index]))
        return [(int(part) if part.isdecimal() else -1, part) for part in parts]

    order = sorted(range(found.size), key=natural)
    return tuple(str(found[i]) for i in order), np.argsort(order)[device]


def _doubts(line: Timeline, kept: _Rows, readings: int) -> Iterator[str]:
    """What the rows as a whole make one wonder about."""
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
    """Advise ticks of the usual step, and what else can be done where readings meet in these."""
    advice, apart = f"take ticks of {usual} (`tick`)", longer(line, steps)
    if apart == usual:
        return advice
    other = f", or ticks of {apart}, which keep all apart" if apart else ""
    return f"{advice} and the first or last of the readings in one (`duplicates`){other}"


def _after_calibration(source: Source, line: Timeline, until: str) -> Timeline:
    """The same ticks, counted from the first one after the calibration period."""
    end = line.moment(until, "calibration")
    if not line.first < end <= line.last:
        raise FileError(
            f"{source.path}: calibration until {line.text(end)} leaves no reading before it or "
            f"none after: the table goes from {line.text(line.first)} to {line.text(line.last)}"
        )
    return line._replace(origin=line.origin + line.from_on(end) * line.tick)


def _one_per_cell(
    source: Source,
    rows: _Rows,
    devices: Sequence[str],
    line: Timeline,
    steps: Steps,
    choice: str,
) -> IntArray:
    """The rows that stay, in order of time: one per device and tick."""
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
    """Which ticks would keep all readings apart, as far as any can."""
    if steps.repeated:
        return "; no ticks keep apart what has the same time"
    return f", or ticks of {separating(line, steps).length_text()} (`tick`)"


def _expanded(
    source: Source, col: Column, table: Table, rows: _Rows, kept: IntArray, *, calendar: bool
) -> Inputs:
    """One column as inputs; its values, where it is the time of a calendar, are seconds."""
    past = rows.tick < 0
    if col.is_text:
        return expand(col, source.texts(col.name)[kept], past)
    if col.transform == "cyclic" and calendar and table.time == (col.name,):
        period, expected = seconds(col.period), "a length such as 1d"
        values = rows.time
    else:
        period, expected = positive(col.period), "a number"
        is_input = any(column(text) == col for text in table.inputs)
        words = f" (missing? words? see `missing`, {col.name}:one-hot, {col.name}:compass)"
        values = source.numbers(col.name, words if is_input else "")[kept]
    if col.transform == "cyclic" and not period:
        raise InputError(f"{col.name}:cyclic={col.period}: expected {expected} as its period")
    return expand(col, values, past, period or math.nan)


def _require_grid(source: Source, shape: tuple[int, int], columns: int, line: Timeline) -> None:
    what = (
        f"{source.path}: {shape[0]:,} ticks of {line.length_text()} up to {line.text(line.last)}, "
        f"for {shape[1]:,} devices,"
    )
    advice = f"take longer ticks (`tick`, perhaps with `duplicates`), or {TOO_LARGE}"
    require_memory(8 * math.prod(shape) * (columns + 6), what, advice)


def _on_grid(
    shape: tuple[int, int], rows: _Rows, where: BoolArray, values: NDArray[Any], *, empty: float
) -> NDArray[Any]:
    """Put the values of some rows into their cells."""
    grid = np.full((*shape, *values.shape[1:]), empty, dtype=values.dtype)
    grid[rows.tick[where], rows.device[where]] = values[where]
    return grid


def _latest(rows: _Rows, y: FloatArray, devices: int) -> FloatArray:
    """The last known value of every device before tick 0; rows are in order of time."""
    latest = np.full(devices, math.nan)
    known = (rows.tick < 0) & np.isfinite(y)
    latest[rows.device[known]] = y[known]
    return latest


def _scored(source: Source, line: Timeline, since: str | None, has_data: BoolArray) -> int:
    if since is None:
        return 0
    moment = line.moment(since, "score_from")
    tick = max(0, line.from_on(moment))
    if not has_data[tick:].any():
        raise FileError(f"{source.path}: no complete reading from {line.text(moment)} on")
    return tick
