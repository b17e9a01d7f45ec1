"""Keeps its own account of a federation, and says when a promise is broken.

It shares nothing with the server but the rule of aggregation.
"""

from collections import defaultdict

import numpy as np

from paofed.errors import PaofedError
from paofed.live.protocol.coordinator import Record
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.rule_state import RuleState


class BrokenPromiseError(PaofedError):
    """The federation did what it must never do."""


class Auditor:
    """What is on disk by this account, and the model that follows from it."""

    def __init__(self, manifest: Manifest, random: np.random.Generator) -> None:
        self._manifest = manifest
        self._random = random
        self._committed: set[tuple[int, int]] = set()
        self._by_tick: defaultdict[int, list[Record]] = defaultdict(list)
        self._rule = RuleState(manifest)
        self._tick = 0

    @property
    def lines(self) -> int:
        """How many are on disk, or were before they were compacted."""
        return len(self._committed)

    def commit(self, records: list[Record]) -> None:
        """These lines are on disk now."""
        for record in records:
            what = f"update {record.sent} of device {record.device}"
            if (record.device, record.sent) in self._committed:
                raise BrokenPromiseError(f"{what} was accepted twice")
            if not 0 <= record.arrived - record.sent <= self._manifest.max_age:
                raise BrokenPromiseError(f"{what} was accepted at tick {record.arrived}")
            if record.arrived < self._tick:
                raise BrokenPromiseError(f"{what} counts at a tick that is closed")
            self._committed.add((record.device, record.sent))
            self._by_tick[record.arrived].append(record)

    def confirm(self, device: int, tick: int) -> None:
        """A device believes this update to be safe."""
        if not self.has(device, tick):
            raise BrokenPromiseError(f"update {tick} of device {device} is lost, yet confirmed")

    def has(self, device: int, tick: int) -> bool:
        """Whether an update is on disk."""
        return (device, tick) in self._committed

    def closed(self, tick: int, rule: RuleState) -> None:
        """The server's state must be what the lines say, in whatever order they came."""
        for n in range(self._tick, tick):
            records = self._by_tick.pop(n, [])
            order = self._random.permutation(len(records)).tolist()
            self._rule.apply(n, (records[i][1:4] for i in order))
        self._tick = max(self._tick, tick)
        ours, theirs = self._rule.arrays(), rule.arrays()
        if any(ours[name].tobytes() != theirs[name].tobytes() for name in ours):
            raise BrokenPromiseError(f"the model at tick {tick} is not what the journal says")
