"""What was heard of a fleet over time, for people to look at: bounded, however long it lasts.

Time is cut into bins. A young fleet has bins of a few seconds; when there are `BINS` of them, two
become one, until a bin is 6.4 minutes wide; from then on the oldest bin is forgotten with every new
one. So the bins cover the fleet's life, or the last 25 hours and a half. Where a tick is longer
than that, a bin is as long as a tick.

For each of up to `MOST` devices a bin has the worst state that was seen in it, and it counts the
levels that the devices told last. With 5,000 devices that takes 1.2 MB for states and 0.25 MB for
levels. Contacts and bytes are counted by the hour, for the last 31 days: 18 kB.

A history begins with what the journal knows (`remembered`), and goes on by looking now and then
(`Watch`). A look compares the server's state with that of the look before, column by column, so
that it takes the same fraction of a millisecond whatever was heard meanwhile.

The journal knows which updates were accepted, and when, but not what was the matter with a device.
The server's state knows since when something is the matter. So after a restart the past shows who
was heard, but not the troubles that were over by then.
"""

from collections import defaultdict
from collections.abc import Set
from contextlib import suppress
from enum import IntEnum
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray
from paofed.errors import FileError
from paofed.files import read_text, write_text
from paofed.live.device.footprint import footprint
from paofed.live.journal.store import Store
from paofed.live.protocol.coordinator import Coordinator
from paofed.live.protocol.level import IMPLAUSIBLE, UNKNOWN, in_decibels
from paofed.live.server.concerns import judged

BINS = 240
MOST = 5_000  # the most devices with states
_NARROWEST, _WIDEST = 3.0, 384.0  # seconds of a bin; the one becomes the other by doubling
BAND = (0.1, 0.5, 0.9)  # quantiles of the devices' errors

HOUR = 3600.0
HOURS = 31 * 24
STARTS = "starts"  # the file that says when the server was started
_MOST_STARTS = 100  # how many starts are kept
_MOST_LINES = 300_000  # the most lines of the journal that are read for the states of devices


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


class SeenAs(IntEnum):
    """What was seen of a device in a bin, from the least to the worst."""

    NOTHING = 0  # not heard, which may be as usual
    HEARD = 1
    DOUBTFUL = 2  # predicts far worse than the fleet, or measures what is not plausible
    SILENT = 3  # not heard for longer than is usual for it
    ASIDE = 4  # its updates do not count: the rule has set it aside
    REFUSED = 5  # a message of it was refused


OF_TROUBLE = {  # states by the kinds of paofed.live.server.concerns
    "worse": SeenAs.DOUBTFUL,
    "implausible": SeenAs.DOUBTFUL,
    "silent": SeenAs.SILENT,
    "aside": SeenAs.ASIDE,
    "refused": SeenAs.REFUSED,
}

Indices = NDArray[np.int64]
Troubles = Set[tuple[int, str]]  # pairs of a device and a kind of trouble


class History:
    """Bins of time up to the present one; `first` is the oldest, counted from 1970."""

    def __init__(self, now: float, tick_seconds: float) -> None:
        self.width = _NARROWEST
        while self.width < tick_seconds:
            self.width *= 2
        self._widest = max(self.width, _WIDEST)
        self.first = int(now // self.width)
        self.size = 1  # the number of bins so far
        self.states: NDArray[np.uint8] = np.zeros((BINS, 0), dtype=np.uint8)
        self.levels: NDArray[np.uint32] = np.zeros((BINS, 256), dtype=np.uint32)
        self.validation: FloatArray = np.full(BINS, np.nan)  # error of the model, in dB
        self.hours = Hours(now)

    @property
    def devices(self) -> int:
        """How many devices have a place."""
        return int(self.states.shape[1])

    def reach_back(self, seconds: float) -> float:
        """Let an empty history begin so many seconds ago, or as long ago as it can; return when."""
        while self.width < self._widest and seconds > self.width * (BINS - 1):
            self._widen()
        bins = min(int(seconds // self.width), BINS - 1)
        self.first, self.size = self.first - bins, bins + 1
        return self.first * self.width

    def make_room(self, devices: int) -> None:
        """Make places for so many devices, or for the first `MOST` of them."""
        more = min(devices, MOST) - self.devices
        if more > 0:
            fresh = np.zeros((BINS, more), dtype=np.uint8)
            self.states = np.concatenate([self.states, fresh], axis=1)

    def go_on(self, now: float) -> None:
        """Let the last bin be that of the present; a clock that goes back changes nothing."""
        self.hours.go_on(now)
        while int(now // self.width) - self.first >= BINS and self.width < self._widest:
            self._widen()
        bins = int(now // self.width) - self.first + 1
        if bins > BINS:
            self._forget(bins - BINS)
        self.size = min(max(bins, self.size), BINS)

    def saw(self, state: SeenAs, devices: Indices, *, since: float | None = None) -> None:
        """Note that these devices are in a state now, or have been since a time."""
        devices = devices[devices < self.devices]
        now = self.size - 1
        begin = now if since is None else min(max(int(since // self.width) - self.first, 0), now)
        part = self.states[begin : self.size]
        part[:, devices] = np.maximum(part[:, devices], state)

    def say(self, levels: NDArray[np.uint8], place: int | None = None) -> None:
        """Note the levels that devices have told last, now or in the bin at a place."""
        counts = np.bincount(levels, minlength=256).astype(np.uint32)
        self.levels[self.size - 1 if place is None else place] = counts

    def band(self) -> list[tuple[float, ...] | None]:
        """Return the quantiles `BAND` of the errors told in each bin, in dB; None without any."""
        counts = self.levels[: self.size].astype(np.int64)
        counts[:, [UNKNOWN, IMPLAUSIBLE]] = 0
        reached = counts.cumsum(axis=1)
        found: list[tuple[float, ...] | None] = []
        for row, total in zip(reached, reached[:, -1].tolist(), strict=True):
            levels = np.searchsorted(row, [max(share * total, 1) for share in BAND])
            errors = in_decibels(levels.astype(np.uint8)).tolist()
            found.append(tuple(errors) if total else None)
        return found

    def copy(self) -> "History":
        """Return a copy, to be looked at while this history goes on."""
        same: History = object.__new__(History)
        same.__dict__.update(self.__dict__)
        for name in ("states", "levels", "validation"):
            setattr(same, name, getattr(self, name)[: self.size].copy())
        same.hours = self.hours.copy()
        return same

    def _widen(self) -> None:
        """Make one bin of every two."""
        odd = self.first % 2  # the first bin may be the second half of its new bin
        self.size = (self.size + odd + 1) // 2
        self.width, self.first = self.width * 2, self.first // 2
        self.states = _paired(self.states, odd, np.maximum, 0)
        self.levels = _paired(self.levels, odd, np.add, 0)
        self.validation = _paired(self.validation, odd, np.fmax, np.nan)

    def _forget(self, bins: int) -> None:
        """Forget the oldest bins."""
        bins_gone = min(bins, BINS)
        for columns, empty in ((self.states, 0), (self.levels, 0), (self.validation, np.nan)):
            columns[: BINS - bins_gone] = columns[bins_gone:].copy()
            columns[BINS - bins_gone :] = empty
        self.first += bins


def _paired(columns: NDArray[Any], odd: int, join: np.ufunc, empty: float) -> NDArray[Any]:
    """Join every two columns into one; the second half of the places is empty."""
    pad = [(odd, odd), *[(0, 0)] * (columns.ndim - 1)]
    padded = np.pad(columns, pad, constant_values=empty)
    halves = join(padded[::2], padded[1::2])
    widened = np.full_like(columns, empty)
    widened[: len(halves)] = halves[: len(columns)]
    return widened


class Watch:
    """A history, and what the last look saw."""

    def __init__(self, history: History, coordinator: Coordinator) -> None:
        self.history = history
        devices = coordinator.devices
        self._messages, self._refusals = devices.messages.copy(), devices.refusals.copy()
        self._received = self._sent = 0
        self._troubles: Troubles = frozenset()

    def look(self, coordinator: Coordinator, now: float, received: int, sent: int) -> None:
        """Note what has changed; `received` and `sent` are bytes since the server started."""
        history, devices = self.history, coordinator.devices
        history.go_on(now)
        history.make_room(_used(coordinator))
        more = devices.messages.size - self._messages.size
        messages = devices.messages - np.pad(self._messages, (0, more))
        refusals = devices.refusals - np.pad(self._refusals, (0, more))
        heard = np.flatnonzero(messages)
        history.saw(SeenAs.HEARD, heard)
        history.saw(SeenAs.REFUSED, np.flatnonzero(refusals))
        wellbeing = coordinator.wellbeing
        history.say(wellbeing.devices["level"][~wellbeing.silent(coordinator.tick)])
        self._troubles = _see_troubles(history, coordinator, self._troubles)
        history.hours.add(
            Exchanged(int(messages.sum()), received - self._received, sent - self._sent)
        )
        self._messages, self._refusals = devices.messages.copy(), devices.refusals.copy()
        self._received, self._sent = received, sent


def remembered(store: Store, coordinator: Coordinator, fleet: str, now: float) -> History:
    """Return the history of a fleet, by its journal and its server's state."""
    manifest = coordinator.manifest
    history = History(now, manifest.tick_seconds)
    since = history.reach_back(now - store.epochs.time_of(store.past.reaches()))
    history.make_room(_used(coordinator))
    tallies = store.tallies.since(since, history.width, _MOST_LINES)
    tallies = tallies[tallies[:, 1] < history.devices]
    tallies[:, 0] = np.clip(tallies[:, 0] - history.first, 0, history.size - 1)
    place, device, level, _ = tallies.T
    state = np.where(level == IMPLAUSIBLE, SeenAs.DOUBTFUL, SeenAs.HEARD).astype(np.uint8)
    np.maximum.at(history.states, (place, device), state)
    _see_levels(history, coordinator, tallies)
    _see_troubles(history, coordinator)
    _recount(history, store, coordinator, fleet)
    return history


def _see_levels(history: History, coordinator: Coordinator, tallies: NDArray[np.int64]) -> None:
    """Note the last level of each device in each bin, unless it was silent by its present gap."""
    limit = np.full(history.devices, np.inf)
    usual = coordinator.wellbeing.silent_after()[: limit.size]
    limit[: usual.size] = np.nan_to_num(usual, nan=np.inf)
    limit *= coordinator.manifest.tick_seconds / history.width
    said = np.zeros(limit.size, dtype=np.uint8)
    heard = np.full(limit.size, -np.inf)
    ends = np.searchsorted(tallies[:, 0], np.arange(history.size + 1))
    for place, (begin, end) in enumerate(pairwise(ends.tolist())):
        _, device, level, _ = tallies[begin:end].T
        said[device], heard[device] = level, place
        history.say(said[place - heard <= limit], place)


def _recount(history: History, store: Store, coordinator: Coordinator, fleet: str) -> None:
    """Count the contacts of past hours, and estimate their bytes."""
    hours, last = history.hours, coordinator.devices.known.size // 2
    contact = footprint(coordinator.manifest, fleet, last)
    edges = range(hours.first, hours.last + 2)
    updates = store.tallies.between([hour * HOUR for hour in edges])
    for (hour, _), count in zip(pairwise(edges), updates, strict=True):
        hours.add(Exchanged(count, count * contact.up, count * contact.down), hour)


def _see_troubles(
    history: History, coordinator: Coordinator, known: Troubles = frozenset()
) -> Troubles:
    """Note devices in trouble: now, and since when for troubles that are not `known`."""
    found = {
        (device, trouble.kind): trouble
        for device, troubles in judged(coordinator).items()
        for trouble in troubles
    }
    places = defaultdict(list)
    for (device, kind), trouble in found.items():
        since = None
        # A silent device was still heard in the tick since which it is silent.
        if (device, kind) not in known:
            since = coordinator.manifest.begins(trouble.since + (kind == "silent"))
        places[OF_TROUBLE[kind], since].append(device)
    for (state, since), devices in places.items():
        history.saw(state, np.array(devices), since=since)
    return found.keys()


def _used(coordinator: Coordinator) -> int:
    """Return the number of devices up to the last one."""
    return int(np.flatnonzero(coordinator.devices.known).max(initial=-1)) + 1


def starts(folder: Path) -> list[float]:
    """Return the last starts, in seconds since 1970, the oldest first.

    Nothing depends on their file, a few lines of text in the fleet's folder: it shows people in
    their charts why something changed. If it is missing or damaged, nothing is shown, and the next
    start begins another file.
    """
    with suppress(FileError, ValueError):
        return sorted(float(line) for line in read_text(folder / STARTS).splitlines())
    return []


def started(folder: Path, now: float) -> None:
    """Note a start; if the disk is full, say, it is not noted."""
    kept = [*starts(folder), now][-_MOST_STARTS:]
    with suppress(FileError, OSError):
        write_text(folder / STARTS, "".join(f"{time:.1f}\n" for time in kept))
