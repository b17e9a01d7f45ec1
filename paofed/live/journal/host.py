"""Runs the server's state machine over a store: the order in which disk and network are used.

Updates are committed in groups and counted as confirmed; replies leave after that; a tick closes
after its updates are on disk. Whoever drives the host (a rehearsal, a broker's client) brings
messages and the time.
"""

from collections.abc import Callable

from paofed.live.journal.database import Sync, nothing
from paofed.live.journal.store import Store
from paofed.live.protocol.coordinator import Record, Send, Suspect


class Host:
    """A server that is up; to restart it, build a new one from the store."""

    def __init__(
        self,
        store: Store,
        send: Callable[[Send], None],
        *,
        snapshot_every: int = 100,
        keep: float = 0.0,
        suspect: Callable[[Suspect], None] = nothing,
        sync: Sync = nothing,
    ) -> None:
        """Recover what the store holds.

        A snapshot is taken every `snapshot_every` ticks, and the journal reaches back `keep`
        seconds.
        """
        # From now on, a repeat of an update that is on disk may be answered.
        store.confirmation.catch_up()
        self._version = store.database.version()
        self.coordinator = store.recover()
        self.snapshotted = store.snapshots.some()[-1].tick  # the tick of the newest snapshot
        self._store = store
        self._send = send
        self._suspect = suspect
        self._sync = sync
        self._every, self._keep = snapshot_every, keep
        self.group: list[Record] = []  # accepted updates that are not yet on disk

    def add(self, label: str) -> int:
        """Add a device to the fleet; returns its index."""
        device = self._store.roster.add(label)
        self.coordinator.add(device)
        return device

    def refresh(self) -> None:
        """Read what people have changed in the store meanwhile: who is in the fleet."""
        version = self._store.database.version()
        if version != self._version:
            self._store.roster.introduce(self.coordinator)
            self._version = version

    def receive(self, device: int, payload: bytes) -> None:
        """Process a message; its updates are on disk only after `flush`."""
        for effect in self.coordinator.receive(device, payload):
            match effect:
                case Record():
                    self.group.append(effect)
                case Send():
                    self._send(effect)
                case Suspect():
                    self._suspect(effect)

    def flush(self) -> None:
        """Commit the updates that came in, count them as confirmed, then send their replies."""
        if self.group:
            self._sync("before write")
            self._store.write(self.group, self._sync)
            self.group = []
        self._store.confirmation.catch_up(self._sync)
        for reply in self.coordinator.committed():
            self._sync("before reply")
            self._send(reply)

    def advance(self, tick: int) -> None:
        """Set the time to `tick`: close the ticks before it, and take a snapshot now and then."""
        self.flush()
        self.coordinator.close(max(tick, self.coordinator.tick))
        self._sync("after close")
        if self.coordinator.tick - self.snapshotted >= self._every:
            self.snapshot()

    def snapshot(self) -> None:
        """Write the state, so that a restart need not go through the whole journal."""
        self._store.snapshot(self.coordinator, self._sync, keep=self._keep)
        self.snapshotted = self.coordinator.tick
