"""Keeps its own account of a federation, and says when a promise is broken.

The auditor shares nothing with the server but the rule of aggregation. It ends the run when

* an update that a device believes safe is not on disk, or could be lost without being noticed,
* an update counts twice, or beyond the age limit, or under another epoch than it was sent in,
* the model, after any restart, is not what the journal says, bit for bit, with scale and scores,
* with `clip`, a coordinate moves by more than `clip` scales of before the tick,
* input that must be refused changes anything, or a device learns from an implausible sample,
* an interrupted intervention leaves anything but the old or the new fleet, a server goes on from
  another model than was asked for, or epoch or tick go back,
* a device that must begin from the server's model sends before it has, or one that restarts lacks
  anything of what it had saved,
* a device is not heard again after the faults end, or anything kept grows with time.
"""

import math
from collections import defaultdict
from copy import copy as copy_of
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paofed.core.bounded import scale_of
from paofed.errors import PaofedError
from paofed.live.protocol.coordinator import Coordinator, Record
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.messages import HEADER, MODEL, NO_UPDATE, REPLY, Update
from paofed.live.protocol.rule_state import RuleState

State = dict[str, NDArray[Any]]
_ROUNDING = 1e-9
_EPOCHS = 256  # an epoch travels in one byte


class BrokenPromiseError(PaofedError):
    """Raised when the federation did what it must never do."""


class Auditor:
    """What is on disk by this account, and the model that follows from it."""

    def __init__(self, manifest: Manifest, random: np.random.Generator) -> None:
        self._random = random
        self._manifests = {manifest.epoch: manifest}  # all manifests so far, by epoch
        self._manifest = manifest
        self._sent: set[tuple[int, int, int, bytes]] = set()  # epoch, device, tick, values
        self._committed: set[tuple[int, int, int]] = set()  # epoch, device, tick
        self._records: defaultdict[int, list[Record]] = defaultdict(list)  # by tick of arrival
        self._rule = RuleState(manifest)
        self._tick = 0
        self.lines = 0  # lines that are on disk, or were before the journal was cut
        self.promised = 0  # how many of these lines were on disk when the last reply left
        self._states: dict[int, State] = {0: self._rule.arrays()}  # before each tick

    @property
    def epoch(self) -> int:
        """The present epoch, as it travels."""
        return self._manifest.epoch

    # What is sent

    def sent(self, device: int, payload: bytes) -> None:
        """Note that a device sends these bytes, under the epoch that they name."""
        epoch = payload[1]
        manifest = self._manifests[epoch]
        message = manifest.read(payload)
        if isinstance(message, Update):
            self._sent.add((epoch, device, message.tick, message.values.tobytes()))
            for repeat in message.repeats:
                tick = message.tick - repeat.earlier
                self._sent.add((epoch, device, tick, repeat.values.tobytes()))

    def told(self, payload: bytes) -> None:
        """Check what the server sends: a reply to updates promises, a whole model is ours."""
        if payload[0] & 15 == REPLY and payload[HEADER.size] != NO_UPDATE:
            self.promised = self.lines
        ours = self._rule.w.astype("<f4")
        if payload[0] & 15 == MODEL and payload[HEADER.size :] != ours.tobytes():
            raise BrokenPromiseError(f"the model sent at tick {self._tick} is not the server's")

    # What is on disk

    def commit(self, records: list[Record]) -> None:
        """Note that these lines are on disk now."""
        for record in records:
            what = f"update {record.sent} of device {record.device}"
            key = self.epoch, record.device, record.sent
            if key in self._committed:
                raise BrokenPromiseError(f"{what} was accepted twice")
            if (*key, record.values.tobytes()) not in self._sent:
                raise BrokenPromiseError(f"{what} was accepted, which it did not send as of now")
            if not 0 <= record.arrived - record.sent <= self._manifest.max_age:
                raise BrokenPromiseError(f"{what} was accepted at tick {record.arrived}")
            if record.arrived < self._tick:
                raise BrokenPromiseError(f"{what} counts at a tick that is closed")
            self._committed.add(key)
            self.lines += 1
            self._records[record.arrived].append(record)

    def confirm(self, epoch: int, device: int, tick: int) -> None:
        """Check an update that a device, which follows an epoch, believes to be safe."""
        if not self.has(epoch, device, tick):
            raise BrokenPromiseError(f"update {tick} of device {device} is lost, yet confirmed")

    def has(self, epoch: int, device: int, tick: int) -> bool:
        """Whether an update is on disk."""
        return (epoch, device, tick) in self._committed

    # What follows from the lines

    def closed(self, tick: int, rule: RuleState) -> None:
        """Check that the server's state is what the lines say, in whatever order they came."""
        self.close(tick)
        ours, theirs = self._rule.arrays(), rule.arrays()
        if any(ours[name].tobytes() != theirs[name].tobytes() for name in ours):
            raise BrokenPromiseError(f"the model at tick {tick} is not what the journal says")

    def close(self, tick: int) -> None:
        """Close all ticks before `tick` in this account."""
        for n in range(self._tick, tick):
            before = self._rule.arrays()
            self._apply(self._rule, n, self._records[n])
            self._states[n + 1] = self._rule.arrays()
            self._check_move(n, before, self._states[n + 1])
        self._tick = max(self._tick, tick)

    def _apply(self, rule: RuleState, tick: int, records: list[Record]) -> None:
        order = self._random.permutation(len(records)).tolist()
        rule.apply(tick, (records[i][1:4] for i in order))

    def _check_move(self, tick: int, before: State, after: State) -> None:
        """Check that no coordinate moved by more than `clip` scales of before the tick."""
        clip = self._manifest.clip
        if clip is None:
            return
        # The first messages set the scale themselves.
        scale = _scale(before) or _scale(after)
        moved = float(np.abs(after["model"] - before["model"]).max())
        if moved > clip * scale * (1.0 + _ROUNDING):
            raise BrokenPromiseError(
                f"a coordinate moved by {moved:g} at tick {tick}, not by {clip * scale:g} at most"
            )

    def without(self, device: int, since: int, tick: int) -> NDArray[Any]:
        """Return the model at a tick if a device had not been heard since another tick."""
        rule = RuleState(self._manifest)
        rule.carry(self._states[since])
        for n in range(since, tick):
            others = [r for r in self._records[n] if r.device != device]
            oldest = n - self._manifest.max_age
            self._apply(rule, n, [r for r in others if r.sent >= oldest])
        return rule.w

    def model(self, tick: int) -> NDArray[Any]:
        """Return the model before a tick."""
        return self._states[tick]["model"]

    def require_applied(self, tick: int) -> None:
        """Check that everything on disk has counted before a tick."""
        for n, records in self._records.items():
            if n >= tick and records:
                raise BrokenPromiseError(f"what was accepted for tick {n} was lost at tick {tick}")

    def begun(self, server: Coordinator, model: NDArray[Any], *, anew: bool) -> None:
        """Check that the server goes on from this model after the fleet agreed on something else.

        With `anew`, devices must be told to begin from the model.
        """
        self._check_forward(server, anew=anew)
        if server.w.tobytes() != model.tobytes() or server.waiting():
            raise BrokenPromiseError(f"epoch {server.manifest.epoch} began from another model")
        self._manifests[server.manifest.epoch] = self._manifest = server.manifest
        self._rule = RuleState(server.manifest)
        self._rule.restore(server.rule.arrays())
        self._tick = server.tick
        # To go back to this tick is to go back to before the epoch began.
        self._states.setdefault(self._tick, self._rule.arrays())
        for n in [n for n in self._records if n >= self._tick]:
            del self._records[n]  # updates that waited are dropped

    def noted(self) -> "Auditor":
        """Return a copy of this account, for when the fleet comes back from a backup."""
        copy = copy_of(self)
        copy._rule = copy_of(self._rule)
        copy._states = dict(self._states)
        copy._records = defaultdict(list, {n: list(r) for n, r in self._records.items()})
        return copy

    def restored(self, server: Coordinator, noted: "Auditor") -> None:
        """Note that the fleet is back from a backup; its server goes on from that account."""
        self._check_forward(server, anew=True)
        noted.close(server.tick)
        self._tick, self._records, self._states = noted._tick, noted._records, noted._states
        self.lines = self.promised = noted.lines
        self.begun(server, self.model(server.tick), anew=True)

    def _check_forward(self, server: Coordinator, *, anew: bool) -> None:
        """Check that neither epoch nor tick goes back, and that devices are told to begin anew."""
        manifest = server.manifest
        self._check_epoch(manifest)
        if server.tick < self._tick:
            raise BrokenPromiseError(f"tick {server.tick} came after {self._tick}")
        if anew and manifest.lineage <= self._manifest.lineage:
            raise BrokenPromiseError(f"devices may keep their models in epoch {manifest.epoch}")

    def _check_epoch(self, manifest: Manifest) -> None:
        later = (manifest.epoch - self.epoch) % _EPOCHS
        if manifest.epoch in self._manifests or later >= _EPOCHS // 2:
            raise BrokenPromiseError(f"epoch {manifest.epoch} came after {self.epoch}")


def _scale(state: State) -> float:
    """Return the server's scale; infinite where its rule keeps none."""
    if "model_sizes" not in state:
        return math.inf
    return scale_of(state["model_sizes"], state["model_senders"])
