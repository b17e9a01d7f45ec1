"""Contacts and bytes by the hour, for the last 31 days: 18 kB, however long a fleet lasts."""

from typing import NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray

HOUR = 3600.0
HOURS = 31 * 24


class Exchanged(NamedTuple):
    """What devices and server sent each other."""

    contacts: float
    received: float  # bytes of MQTT messages
    sent: float


class Hours:
    """The hours up to the present one; `last` is its number, counted from 1970."""

    def __init__(self, now: float) -> None:
        self.last = int(now // HOUR)
        # One row per hour, the present hour last.
        self.counts: FloatArray = np.zeros((HOURS, len(Exchanged._fields)))
        # Before this time, bytes are estimated from the updates in the journal.
        self.counted_from = now

    @property
    def first(self) -> int:
        """The number of the oldest hour."""
        return self.last - HOURS + 1

    def go_on(self, now: float) -> None:
        """Let the last hour be the present one."""
        gone = min(int(now // HOUR) - self.last, HOURS)
        if gone > 0:
            self.counts[: HOURS - gone] = self.counts[gone:].copy()
            self.counts[HOURS - gone :] = 0
            self.last = int(now // HOUR)

    def add(self, traffic: Exchanged, hour: int | None = None) -> None:
        """Add traffic to the present hour or another; an hour older than all is not counted."""
        place = HOURS - 1 if hour is None else hour - self.first
        if place >= 0:
            self.counts[place] += traffic

    def latest(self, hours: int) -> Exchanged:
        """Return the traffic of the last hours together, including the present hour so far."""
        return Exchanged(*self.counts[HOURS - hours :].sum(axis=0).tolist())

    def copy(self) -> "Hours":
        """Return a copy, to be looked at while this one goes on."""
        same = Hours(self.last * HOUR)
        same.counts, same.counted_from = self.counts.copy(), self.counted_from
        return same
