"""All that a page about a fleet shows, collected where it is known, in little time.

The server's loop collects it: it copies arrays, and does not read again what has not changed.
Another thread makes the page of it.

The fleet's history begins with what the journal knows, and goes on by looking now and then. A look
compares the server's state with that of the look before, column by column, so that it takes the
same fraction of a millisecond whatever was heard meanwhile.

The journal knows which updates were accepted, and when, but not what was the matter with a device.
The server's state knows since when something is the matter. So after a restart the past shows who
was heard, but not the troubles that were over by then.
"""

from collections import defaultdict
from collections.abc import Set
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.errors import FileError
from paofed.files import read_text, write_text
from paofed.live.device.footprint import footprint
from paofed.live.fleet.folder import Fleet
from paofed.live.journal.members import Member
from paofed.live.journal.store import Store
from paofed.live.protocol.coordinator import Coordinator
from paofed.live.protocol.level import IMPLAUSIBLE
from paofed.live.server.history import HOUR, OF_TROUBLE, Exchanged, History, SeenAs
from paofed.live.server.judgement import judged
from paofed.live.server.status import ServiceStatus, Status
from paofed.live.server.validation import Validation

Troubles = Set[tuple[int, str]]  # pairs of a device and a kind of trouble

STARTS = "starts"  # the file that says when the server was started
_MOST_STARTS = 100  # how many starts are kept
_MOST_LINES = 300_000  # the most lines of the journal that are read for the states of devices


class Mark(NamedTuple):
    """Something that was done to a fleet, which may explain a change in the charts at that time."""

    time: float  # seconds since 1970
    words: str


class Sight(NamedTuple):
    """A fleet at a moment, with its past."""

    now: float  # seconds since 1970
    fleet: str
    coordinator: Coordinator
    members: list[Member]
    service: ServiceStatus | None
    history: History
    marks: tuple[Mark, ...]
    budget: int  # bytes for a device and a day; 0: there is no budget
    validation: Validation | None

    def status(self) -> Status:
        """How the fleet is doing."""
        return Status.of(self.fleet, self.coordinator, self.members, self.service)


class Lookout:
    """Follows a fleet in its server's loop."""

    def __init__(self, fleet: Fleet, store: Store, coordinator: Coordinator, now: float) -> None:
        self._fleet, self._store = fleet, store
        name = fleet.settings.name
        self._watch = Watch(remembered(store, coordinator, name, now), coordinator)
        self._marks = marks(store, fleet.folder)
        self._validation: Validation | None = None
        self._members: list[Member] = []
        self._changes = -1

    def look(self, coordinator: Coordinator, now: float, received: int, sent: int) -> None:
        """Note what has changed; `received` and `sent` are bytes since the server started."""
        self._watch.look(coordinator, now, received, sent)

    def validated(self, found: Validation) -> None:
        """Note how wrong the model is on the file of samples."""
        self._validation = found
        if found.decibels is not None:
            self._watch.history.validation[self._watch.history.size - 1] = found.decibels

    def sight(
        self, coordinator: Coordinator, now: float, service: ServiceStatus | None = None
    ) -> Sight:
        """Return what there is to be seen."""
        changes = self._store.changes()
        if changes != self._changes:
            self._members, self._changes = self._store.devices(), changes
        return Sight(
            now,
            self._fleet.settings.name,
            coordinator.glimpse(),
            self._members,
            service,
            self._watch.history.copy(),
            self._marks,
            self._fleet.settings.budget,
            self._validation,
        )


def marks(store: Store, folder: Path) -> tuple[Mark, ...]:
    """Return new epochs, with rollbacks, and starts of the server, the oldest first."""
    epochs = [Mark(epoch.time, f"the fleet: {epoch.why}") for epoch in store.epochs()]
    begun = [Mark(time, "the server was started") for time in starts(folder)]
    return tuple(sorted([*epochs, *begun]))


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
    since = history.reach_back(now - store.time_of(store.reaches()))
    history.make_room(_used(coordinator))
    tallies = store.tallies(since, history.width, _MOST_LINES)
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
    updates = store.lines_between([hour * HOUR for hour in edges])
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
