"""The server's time in ticks: never decreasing, whatever the machine's clock does."""

import time
from collections.abc import Callable

from paofed.live.journal.store import Store
from paofed.live.protocol.coordinator import Coordinator
from paofed.live.protocol.manifest import Manifest

_NOTICEABLE = 2.0  # seconds; smaller corrections of a clock are usual


class TickClock:
    """The manifest's tick at the wall clock's time; it is held while the wall clock goes back."""

    def __init__(
        self,
        manifest: Manifest,
        told: Callable[[str], None] = lambda _: None,
        *,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin; `told` is called when the wall clock jumps against a clock that cannot be set."""
        self._manifest = manifest
        self._told = told
        self._wall, self._steady = wall, steady
        self._difference = wall() - steady()
        self._jump = max(_NOTICEABLE, manifest.tick_seconds)
        self.behind = 0.0  # seconds until ticks go on
        self.jumps = 0

    def tick(self, before: int) -> int:
        """Return the tick now, given the one before."""
        wall = self._wall()
        jumped = wall - self._steady() - self._difference
        self._difference += jumped  # small corrections are taken as they come
        now = self._manifest.tick_at(wall)
        self.behind = max(0.0, self._manifest.begins(before) - wall)
        if abs(jumped) >= self._jump:
            self.jumps += 1
            self._told(f"the clock jumped by {jumped:+.1f} s: {self._consequence(now, before)}")
        return max(now, before)

    def _consequence(self, now: int, before: int) -> str:
        if now > before + 1:
            return f"ticks {before} to {now - 1} close with what had arrived"
        if now < before:
            return f"tick {before} stays open for {self.behind:.0f} s"
        return "no tick is affected"

    def remaining(self, tick: int) -> float:
        """Return the seconds until a tick ends."""
        return max(0.0, self._manifest.begins(tick + 1) - self._wall())


def at_present(store: Store) -> Coordinator:
    """Return the server as its disk says that it is now, with ticks that are over closed."""
    coordinator = store.recover()
    coordinator.close(TickClock(coordinator.manifest).tick(coordinator.tick))
    return coordinator
