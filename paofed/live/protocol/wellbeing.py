"""How a fleet is doing, as its updates say: how well each device predicts and how often it comes.

All of this is a function of the journal. It changes when a tick closes, by all updates of the tick
at once, so that a replay reproduces it bit for bit and the order of arrival changes nothing.

Time is told by the fleet's own clock: it goes with the ticks, and stands still in a pause in which
nobody is heard for longer than is usual for the fleet. So when a server or a broker was away, no
device counts as silent.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray
from paofed.live.protocol.level import IMPLAUSIBLE, UNKNOWN, in_decibels
from paofed.live.protocol.shifts import Shifts
from paofed.live.protocol.trend import NEVER, Trend

Said = tuple[int, int, int]  # device, tick at which the update was sent, level
Indices = NDArray[np.int64]

_RECENT = 1 / 16  # weight of the newest gap
_SILENT = 16.0  # times the usual gap: a device is silent after that
_PAUSE = 8.0  # times the usual ticks between two in which somebody is heard: a pause after that
_TWICE = 2.0  # and times the longest gap of late: a device is silent after that
_FORGET = 1 / 8  # a long gap is forgotten after eight times its length
_KNOWN_AFTER = 8  # contacts before which nothing is usual for a device
_REMEMBERED = 16  # contacts for which an update with implausible samples is remembered
FAR_WORSE = 6.0  # dB above the fleet's median
_SPREADS = 5.0  # and so many times as far from the median as the median device
FAR_FOR = 32  # contacts in a row: at least as many samples as a level remembers

_DEVICE = np.dtype(
    [
        ("level", np.uint8),  # the newest level
        ("said", np.int64),  # the tick of the update that told this level
        ("contacts", np.uint32),
        ("contact", np.int64),  # the last contact, by the fleet's clock
        ("gap", np.float64),  # the usual gap between contacts: a running mean
        ("longest", np.float64),  # the longest gap of late
        ("far", np.uint32),  # contacts in a row with a level far above the fleet's
        ("far_since", np.int64),  # ticks, in this column and those below
        ("odd", np.uint8),  # contacts for which implausible samples are still remembered
        ("implausible", np.uint32),  # updates that told of such samples
        ("implausible_since", np.int64),
        ("left_out", np.uint32),  # updates that did not count: the device was set aside
        ("aside_since", np.int64),
    ]
)
_NEW = np.zeros((), dtype=_DEVICE)
for _name in ("said", "far_since", "implausible_since", "aside_since"):
    _NEW[_name] = NEVER
_PREFIX = "well_"


class Wellbeing:
    """A row for each device, up to the highest index that was heard, and numbers of the fleet."""

    def __init__(self, begin: int = 0) -> None:
        """`begin` is the tick from which on updates are noted: 0 for all fleets of today."""
        self.begin = begin
        self.devices: NDArray[Any] = np.zeros(0, dtype=_DEVICE)
        self.clock = 0
        self.last = NEVER  # the last tick in which anybody was heard
        self.heard = 0  # ticks in which somebody was heard
        self.pace = 0.0  # usual ticks between two such ticks
        self.error = Trend()  # the median of the devices' errors, in dB
        self.shifts = Shifts(begin)

    def note(self, tick: int, updates: Iterable[Said], aside: NDArray[np.bool_]) -> None:
        """Note the updates of a tick that closes; `aside` says whom the rule has set aside."""
        if tick < self.begin:
            return
        updates = sorted(updates)
        newest = {device: (sent, level) for device, sent, level in updates}
        devices = np.array(list(newest))
        sent, level = np.array(list(newest.values())).T
        self._make_room(int(devices[-1]) + 1)
        self._go_on(tick)
        self._count(updates)
        self._contacted(devices)
        self._said(devices, sent, level)
        out = self._fitted(aside)
        _since(self.devices["aside_since"], out, tick)
        _since(self.devices["implausible_since"], self.devices["odd"] > 0, tick)
        self._compare(tick, devices, out)

    def _make_room(self, size: int) -> None:
        more = size - self.devices.size
        if more > 0:
            self.devices = np.append(self.devices, np.repeat(_NEW, more))

    def _go_on(self, tick: int) -> None:
        """Set the fleet's clock forward to a tick."""
        if self.heard:
            step = self._passed(tick)
            self.pace += (step - self.pace) * max(1 / self.heard, _RECENT)
            self.clock += step
        self.heard += 1
        self.last = tick

    def _passed(self, tick: int) -> int:
        """Return how far the fleet's clock has gone by a tick since anybody was heard."""
        passed = tick - self.last
        return min(passed, math.ceil(_PAUSE * self.pace)) if self.pace else passed

    def _count(self, updates: list[Said]) -> None:
        """Count updates that did not count or told of implausible samples.

        A device that was set aside before the tick counts as set aside throughout the tick.
        """
        rows = self.devices
        for device, _, level in updates:
            rows["left_out"][device] += rows["aside_since"][device] != NEVER
            rows["implausible"][device] += level == IMPLAUSIBLE

    def _contacted(self, devices: Indices) -> None:
        rows = self.devices[devices]
        before = rows["contacts"].astype(np.float64)
        gap = np.where(before > 0, self.clock - rows["contact"], 0.0)
        weight = np.maximum(1 / np.maximum(before, 1.0), _RECENT)
        rows["gap"] += (gap - rows["gap"]) * weight
        rows["longest"] = np.maximum(gap, rows["longest"] - gap * _FORGET)
        rows["contact"] = self.clock
        rows["contacts"] += 1
        self.devices[devices] = rows

    def _said(self, devices: Indices, sent: Indices, level: Indices) -> None:
        """Keep the level of the newest update; an update that comes late tells an older level."""
        newer = sent > self.devices["said"][devices]
        self.devices["said"][devices[newer]] = sent[newer]
        self.devices["level"][devices[newer]] = level[newer]
        odd = self.devices["odd"][devices]
        still = odd - (odd > 0)
        self.devices["odd"][devices] = np.where(level == IMPLAUSIBLE, _REMEMBERED, still)

    def _compare(self, tick: int, devices: Indices, aside: NDArray[np.bool_]) -> None:
        """Compare each device with the median of those that are there and tell an error."""
        says, error = self._says(), in_decibels(self.devices["level"])
        there = self.telling(aside)
        judged = error[there]
        far = np.zeros(says.size, dtype=bool)  # stays so where there is nobody to compare with
        if judged.size:
            median = float(np.median(judged))
            spread = float(np.median(np.abs(judged - median)))
            self.error.follow(tick, median)
            far = says & (error > median + max(FAR_WORSE, _SPREADS * spread))
        told = devices[says[devices]]
        self.shifts.follow(tick, told, error[told], there)
        rows = self.devices[devices]
        rows["far"] = np.where(far[devices], rows["far"] + 1, 0)
        self.devices[devices] = rows
        _since(self.devices["far_since"], self.devices["far"] > 0, tick)

    def _fitted(self, aside: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return whom the rule has set aside, one entry for each row."""
        out = np.zeros(self.devices.size, dtype=bool)
        out[: aside.size] = aside[: out.size]
        return out

    def _says(self) -> NDArray[np.bool_]:
        """Return whose newest update tells an error."""
        level = self.devices["level"]
        says: NDArray[np.bool_] = (level != UNKNOWN) & (level != IMPLAUSIBLE)
        return says

    def telling(self, aside: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return who tells an error, is there, and is not set aside."""
        return self._says() & ~self._fitted(aside) & ~self._away(self.clock)

    def _away(self, clock: int) -> NDArray[np.bool_]:
        """Return whose last contact is longer ago than is usual."""
        away: NDArray[np.bool_] = clock - self.devices["contact"] > self._usual()
        return away

    def _usual(self) -> FloatArray:
        """Return the longest usual time between contacts of each device, by the fleet's clock."""
        rows = self.devices
        gap: FloatArray = np.maximum(rows["gap"], self.pace)
        return np.maximum(_SILENT * gap, _TWICE * rows["longest"])

    def with_ticks(self, shorter: float) -> "Wellbeing":
        """Return the same for ticks so many times shorter: usual gaps take as much time."""
        same = Wellbeing.of(self.arrays(), self.begin)
        rows = same.devices
        for name in ("gap", "longest"):
            rows[name] *= shorter
        rows["contact"] = self.clock - np.round((self.clock - rows["contact"]) * shorter)
        same.pace *= shorter
        return same

    # Conclusions

    def silent(self, now: int) -> NDArray[np.bool_]:
        """Return who has not been heard for longer than is usual for it, at a tick."""
        clock = self.clock + self._passed(now) if self.heard else 0
        known: NDArray[np.bool_] = self.devices["contacts"] >= _KNOWN_AFTER
        return known & self._away(clock)

    def silent_after(self) -> FloatArray:
        """Return the ticks without a contact after which a device is silent; NaN if not known."""
        return np.where(self.devices["contacts"] >= _KNOWN_AFTER, self._usual(), np.nan)

    @property
    def longest_quiet(self) -> float:
        """Return the ticks in which usually at least one device is heard."""
        return _SILENT * self.pace

    def is_quiet(self, now: int) -> bool:
        """Whether no device at all has been heard for longer than is usual, at a tick."""
        return self.heard >= _KNOWN_AFTER and now - self.last > self.longest_quiet

    def far_worse(self) -> NDArray[np.bool_]:
        """Return who predicts far worse than the fleet."""
        worse: NDArray[np.bool_] = self.devices["far"] >= FAR_FOR
        return worse

    # Snapshots

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the whole state as arrays."""
        numbers = [self.begin, self.clock, self.last, self.heard, self.pace]
        fleet = np.array(numbers, dtype=np.float64)
        arrays = {"devices": self.devices.copy(), "fleet": fleet}
        arrays |= {**self.error.arrays(), **self.shifts.arrays()}
        return {_PREFIX + name: array for name, array in arrays.items()}

    @classmethod
    def of(cls, saved: Mapping[str, NDArray[Any]], tick: int) -> "Wellbeing":
        """Read a snapshot of some tick; if it has no such state, begin at that tick."""
        if _PREFIX + "fleet" not in saved:
            return cls(tick)
        arrays = {name.removeprefix(_PREFIX): saved[name] for name in saved}
        *whole, pace = arrays["fleet"].tolist()
        wellbeing = cls()
        wellbeing.begin, wellbeing.clock, wellbeing.last, wellbeing.heard = map(int, whole)
        wellbeing.pace = pace
        wellbeing.devices = arrays["devices"].copy()
        wellbeing.error.restore(arrays)
        wellbeing.shifts = Shifts.of_arrays(arrays, tick)
        return wellbeing


def _since(column: NDArray[np.int64], now: NDArray[np.bool_], tick: int) -> None:
    """Note the tick since which something is so, and NEVER where it is not."""
    column[now & (column == NEVER)] = tick
    column[~now] = NEVER
