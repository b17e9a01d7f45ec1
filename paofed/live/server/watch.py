"""Keeps a fleet's history: begins with what the journal knows, goes on by looking now and then.

A look compares the server's state with that of the look before, column by column, so that it takes
the same fraction of a millisecond whatever was heard meanwhile.

The journal knows which updates were accepted, and when, but not what was the matter with a device.
The server's state knows since when something is the matter. So after a restart the past shows who
was heard, but not the troubles that were over by then.
"""

from collections import defaultdict
from collections.abc import Set
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from paofed.live.device.footprint import footprint
from paofed.live.journal.store import Store
from paofed.live.protocol.coordinator import Coordinator
from paofed.live.protocol.level import IMPLAUSIBLE
from paofed.live.server.history import OF_TROUBLE, History, SeenAs
from paofed.live.server.hours import HOUR, Exchanged
from paofed.live.server.judgement import judged

Troubles = Set[tuple[int, str]]  # pairs of a device and a kind of trouble

_MOST_LINES = 300_000  # the most lines of the journal that are read for the states of devices


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
