"""All that a page about a fleet shows, collected where it is known, in little time.

The server's loop collects it: it copies arrays, and does not read again what has not changed.
Another thread makes the page of it.
"""

import time
from pathlib import Path
from typing import NamedTuple

from paofed.live.fleet.folder import Fleet
from paofed.live.fleet.methods import opened
from paofed.live.journal.roster import Member
from paofed.live.journal.store import Store
from paofed.live.model.fleet_model import FleetModel
from paofed.live.model.validated import validated
from paofed.live.protocol.coordinator import Coordinator
from paofed.live.server.clock import at_present
from paofed.live.server.history import History, Watch, remembered, starts
from paofed.live.server.status import ServiceStatus, Status
from paofed.live.server.validation import Validation, validation_of


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
        changes = self._store.roster.changes()
        if changes != self._changes:
            self._members, self._changes = self._store.roster.devices(), changes
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


def sight_of(folder: Path, validation: Path | None = None) -> Sight:
    """Return what there is to be seen of a fleet by its folder, whether its server runs or not.

    `validation` is a file of samples that says how wrong the model is.
    """
    now = time.time()
    with opened(folder) as store:
        coordinator = at_present(store)
        lookout = Lookout(Fleet(folder), store, coordinator, now)
        if validation is not None:
            found = validated(FleetModel.of(coordinator), validation)
            lookout.validated(validation_of(found, coordinator.manifest))
        return lookout.sight(coordinator, now)


def marks(store: Store, folder: Path) -> tuple[Mark, ...]:
    """Return new epochs, with rollbacks, and starts of the server, the oldest first."""
    epochs = [Mark(epoch.time, f"the fleet: {epoch.why}") for epoch in store.epochs.all()]
    begun = [Mark(start, "the server was started") for start in starts(folder)]
    return tuple(sorted([*epochs, *begun]))
