"""Who of a fleet is there: how often each device comes, and whether its samples are plausible.

A server keeps this twice. Once by the updates alone, which are in the journal, so that a replay
reproduces it bit for bit (paofed.live.protocol.wellbeing). And once by updates and reads together,
which says who is silent: a device that only reads is there.

Time is told by the fleet's own clock: it goes with the ticks, and stands still in a pause in which
nobody is heard for longer than is usual for the fleet. So when a server or a broker was away, no
device counts as silent.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray
from paofed.live.protocol.level import IMPLAUSIBLE
from paofed.live.protocol.trend import NEVER

Said = tuple[int, int, int]  # device, tick of its message, level
Indices = NDArray[np.int64]

_RECENT = 1 / 16  # weight of the newest gap
_SILENT = 16.0  # times the usual gap: a device is silent after that
_PAUSE = 8.0  # times the usual ticks between two in which somebody is heard: a pause after that
_TWICE = 2.0  # and times the longest gap of late: a device is silent after that
_FORGET = 1 / 8  # a long gap is forgotten after eight times its length
_KNOWN_AFTER = 8  # contacts before which nothing is usual for a device
_REMEMBERED = 16  # contacts for which a message about implausible samples is remembered


def blank(kind: np.dtype[Any]) -> NDArray[Any]:
    """Return the row of a device that was never heard."""
    row = np.zeros((), dtype=kind)
    for name in kind.names or ():
        if name == "said" or name.endswith("_since"):
            row[name] = NEVER
    return row


class Presence:
    """A row for each device, up to the highest index that was heard, and the fleet's clock."""

    prefix: ClassVar[str] = "met_"  # stands before the names of the arrays of a snapshot
    row: ClassVar[NDArray[Any]] = blank(
        np.dtype(
            [
                ("contacts", np.uint32),
                ("contact", np.int64),  # the last contact, by the fleet's clock
                ("gap", np.float64),  # the usual gap between contacts: a running mean
                ("longest", np.float64),  # the longest gap of late
                ("odd", np.uint8),  # contacts for which implausible samples are still remembered
                ("implausible", np.uint32),  # messages that told of such samples
                ("implausible_since", np.int64),  # a tick
            ]
        )
    )

    def __init__(self) -> None:
        self.devices: NDArray[Any] = np.repeat(self.row, 0)
        self.clock = 0
        self.last = NEVER  # the last tick in which anybody was heard
        self.heard = 0  # ticks in which somebody was heard
        self.pace = 0.0  # usual ticks between two such ticks

    def meet(self, tick: int, said: Iterable[Said]) -> tuple[Indices, Indices, Indices]:
        """Note the messages of a tick that closes.

        Returns each device heard, and tick and level of its newest message.
        """
        said = sorted(said)
        newest = {device: (sent, level) for device, sent, level in said}
        devices = np.array(list(newest))
        sent, level = np.array(list(newest.values())).T
        self._make_room(int(devices[-1]) + 1)
        self._go_on(tick)
        self._contacted(devices)
        for device, _, its_level in said:
            self.devices["implausible"][device] += its_level == IMPLAUSIBLE
        odd = self.devices["odd"][devices]
        still = odd - (odd > 0)
        self.devices["odd"][devices] = np.where(level == IMPLAUSIBLE, _REMEMBERED, still)
        note_since(self.devices["implausible_since"], self.devices["odd"] > 0, tick)
        return devices, sent, level

    def _make_room(self, size: int) -> None:
        more = size - self.devices.size
        if more > 0:
            self.devices = np.append(self.devices, np.repeat(self.row, more))

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

    def away(self, clock: int) -> NDArray[np.bool_]:
        """Return whose last contact is longer ago than is usual, at a time of the fleet's clock."""
        away: NDArray[np.bool_] = clock - self.devices["contact"] > self._usual()
        return away

    def _usual(self) -> FloatArray:
        """Return the longest usual time between contacts of each device, by the fleet's clock."""
        rows = self.devices
        gap: FloatArray = np.maximum(rows["gap"], self.pace)
        return np.maximum(_SILENT * gap, _TWICE * rows["longest"])

    def excuse(self, which: NDArray[np.bool_]) -> None:
        """Let some devices count as heard just now."""
        rows = self.devices
        rows["contact"] = np.where(which[: rows.size], self.clock, rows["contact"])

    def with_ticks(self, shorter: float) -> Self:
        """Return the same for ticks so many times shorter: usual gaps take as much time."""
        same = self.of(self.arrays())
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
        return known & self.away(clock)

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

    # Snapshots

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as arrays."""
        numbers = [self.clock, self.last, self.heard, self.pace]
        fleet = np.array(numbers, dtype=np.float64)
        return {self.prefix + "devices": self.devices.copy(), self.prefix + "fleet": fleet}

    @classmethod
    def is_in(cls, saved: Mapping[str, NDArray[Any]]) -> bool:
        """Whether a snapshot has such a state."""
        return cls.prefix + "fleet" in saved

    @classmethod
    def of(cls, saved: Mapping[str, NDArray[Any]]) -> Self:
        """Return what the arrays of a snapshot say."""
        found = cls()
        *whole, found.pace = saved[cls.prefix + "fleet"].tolist()
        found.clock, found.last, found.heard = map(int, whole)
        found.devices = saved[cls.prefix + "devices"].copy()
        return found

    @classmethod
    def like(cls, other: "Presence") -> Self:
        """Return what another tells of contacts, as far as rows of this class have columns."""
        found = cls()
        found.clock, found.last = other.clock, other.last
        found.heard, found.pace = other.heard, other.pace
        found.devices = np.repeat(cls.row, other.devices.size)
        for name in cls.row.dtype.names or ():
            found.devices[name] = other.devices[name]
        return found


def note_since(column: NDArray[np.int64], now: NDArray[np.bool_], tick: int) -> None:
    """Note the tick since which something is so, and NEVER where it is not."""
    column[now & (column == NEVER)] = tick
    column[~now] = NEVER
