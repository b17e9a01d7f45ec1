"""The server as a state machine: events in, effects out; no socket, clock or disk.

The rules are those of the simulator (exchange "live"). An update that arrives at tick s is judged
and recorded, and applied when s closes; the reply carries w_s, the model before that. Replies wait
until the journal is on disk: `committed` releases them. So a reply promises that its updates
survive, and a device that gets no reply repeats them. A repeat is recognised by (device, tick) and
answered, but not counted. A read says nothing that a replay would need: it is answered at once.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray
from paofed.live.protocol.devices import Devices
from paofed.live.protocol.manifest import Manifest
from paofed.live.protocol.messages import (
    LAST_TICK,
    NO_UPDATE,
    Hello,
    Model,
    Read,
    Repeat,
    Reply,
    Update,
    Values,
    WireError,
    age_of,
    encode,
    reread,
)
from paofed.live.protocol.presence import Presence, Said
from paofed.live.protocol.rule_state import RuleState
from paofed.live.protocol.saved import counted, require_possible
from paofed.live.protocol.shifts import Shifts
from paofed.live.protocol.wellbeing import Wellbeing

TOLERANCE = 2  # ticks by which a device's clock may be ahead
REPORT_AFTER = 10  # refusals in a row after which people are told
MOST_PER_TICK = 32  # the most messages of one device in a tick that are looked at
MOST_HELLOS = 3  # the most hellos of one device in a tick: each is answered with the whole model


class Record(NamedTuple):
    """Effect: write this line to the journal: an update, and the tick at which it counts."""

    arrived: int
    device: int
    sent: int
    values: Values  # as they travelled
    level: int = 0  # how well the device predicts (paofed.live.protocol.level)


def is_possible(record: Record, manifest: Manifest) -> bool:
    """Whether a line of a journal is one that a server under this manifest can have written."""
    arrived, device, sent, values, level = record
    age = arrived - sent
    return (
        0 <= sent <= arrived <= LAST_TICK + TOLERANCE
        and age <= manifest.max_age
        and device >= 0
        and 0 <= level < 256
        and values.nbytes == manifest.up.length
        and manifest.up.can_travel(values)
    )


class Send(NamedTuple):
    """Effect: send these bytes to a device."""

    device: int
    payload: bytes


class Suspect(NamedTuple):
    """Effect: tell people that a device's messages are refused again and again."""

    device: int
    reason: str


Effect = Record | Send | Suspect

# What of a state follows from the journal, beside the arrays of the rule and of the fleet's
# wellbeing; the rest counts and remembers what was not accepted.
_EXACT = ("tick", "pending", "pending_values", "pending_levels", "accepted")


class Coordinator:
    """The state of a fleet's server, and what happens to it."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.tick = 0
        self.rule = RuleState(manifest)
        self.devices = Devices(manifest.max_age + TOLERANCE + 1)
        self.wellbeing = Wellbeing()
        # Of updates and reads. The journal has no reads: a replay does not reproduce this.
        self.presence = Presence()
        self.counts: Counter[str] = Counter()
        self.ages: Counter[int] = Counter()  # how many accepted updates had each age
        self.removed: set[int] = set()
        self._pending: defaultdict[int, list[Record]] = defaultdict(list)
        self._reads: defaultdict[int, list[Said]] = defaultdict(list)  # by tick of arrival
        self._awaiting: list[Send] = []  # replies whose updates are not on disk yet

    @property
    def w(self) -> FloatArray:
        """The server's model."""
        return self.rule.w

    # Events

    def receive(self, device: int, payload: bytes) -> list[Effect]:
        """Process a message from the device that the transport says it is; return effects."""
        if not self.devices.knows(device):
            self.counts["refused: unknown device"] += 1
            return []
        if device in self.removed:
            return self._refuse(device, "removed")
        if self.devices.quarantined[device]:
            return self._refuse(device, "quarantined")
        if self.devices.hear(device) > MOST_PER_TICK:
            return self._refuse(device, "flood")
        answer = reread(payload, self.manifest.epoch)
        if answer is not None:
            return [Send(device, encode(answer)), *self._refuse(device, "epoch")]
        try:
            message = self.manifest.read(payload)
        except WireError as error:
            return self._refuse(device, error.reason)
        match message:
            case Update():
                return self._update(device, message)
            case Read():
                return self._read(device, message)
            case Hello():
                return self._hello(device)
            case _:
                return self._refuse(device, "kind")

    def close(self, tick: int) -> None:
        """Time went on: close all ticks before `tick`, applying what arrived in each (eq. 9)."""
        for arrived in sorted(t for t in {*self._pending, *self._reads} if t < tick):
            records, reads = self._pending.pop(arrived, []), self._reads.pop(arrived, [])
            said = [(record.device, record.sent, record.level) for record in records]
            if records:
                self.rule.apply(arrived, (record[1:4] for record in records))
                self.wellbeing.note(arrived, said, self.rule.aside)
            self.presence.meet(arrived, [*said, *reads])
        if tick > self.tick:
            self.devices.forget(self.tick + TOLERANCE + 1, tick + TOLERANCE)
            self.devices.new_tick()
            self.tick = tick

    def committed(self) -> list[Send]:
        """Release the replies that waited for it: everything recorded so far is on disk."""
        released, self._awaiting = self._awaiting, []
        return released

    def add(self, device: int) -> None:
        """Note that a device was added to the fleet."""
        self.devices.add(device)

    def quarantine(self, device: int, *, on: bool = True) -> None:
        """Refuse a device's messages from now on or, with `on` False, no longer."""
        self.devices.quarantined[device] = on

    def remove(self, device: int) -> None:
        """Note that a device left the fleet for good; its past updates stay in the model."""
        self.removed.add(device)

    def recover(self, records: Iterable[Record]) -> None:
        """Take up the lines of the journal after a snapshot, in the order they were written."""
        for record in records:
            # The tick at which the update was accepted: its arrival, unless its device was ahead.
            ahead = TOLERANCE if record.arrived == record.sent else 0
            self.close(max(self.tick, record.arrived - ahead))
            values = self.manifest.up.entries(record.values)
            self._accept(record._replace(values=values))
            self.devices.good(record.device, record.arrived)
        # What was read since the snapshot is not known: whoever was reading counts as heard now.
        self.presence.excuse(self.devices.reads > 0)

    def waiting(self) -> list[Record]:
        """Return the updates that were accepted and not yet applied."""
        return [record for arrived in sorted(self._pending) for record in self._pending[arrived]]

    def under(self, manifest: Manifest) -> "Coordinator":
        """Return the server as it begins under another manifest.

        Tick, devices, counts and errors stay. The rule begins anew, nothing waits, and no update
        counts as accepted.
        """
        begun = Coordinator(manifest)
        begun.tick = self.tick
        begun.counts, begun.ages = self.counts.copy(), self.ages.copy()
        begun.removed = set(self.removed)
        begun.devices = self.devices.anew(len(begun.devices.accepted))
        shorter = self.manifest.tick_seconds / manifest.tick_seconds
        begun.wellbeing = self.wellbeing.with_ticks(shorter)
        begun.presence = self.presence.with_ticks(shorter)
        if manifest.lineage != self.manifest.lineage:  # devices begin from another model
            begun.wellbeing.error.forget_usual()
        begun.wellbeing.shifts = Shifts()  # devices may learn otherwise now, all at the same time
        return begun

    def glimpse(self) -> "Coordinator":
        """Return a copy to look at while this server goes on; updates that wait are not in it."""
        same = copy(self)
        same.counts, same.ages, same.removed = self.counts.copy(), self.ages.copy(), {*self.removed}
        same.devices = Devices.of(self.devices.arrays())
        same.wellbeing = Wellbeing.of(self.wellbeing.arrays())
        same.presence = Presence.like(self.presence)
        same._pending, same._reads, same._awaiting = defaultdict(list), defaultdict(list), []
        return same

    # Snapshots

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what a restart needs, as arrays."""
        waiting = self.waiting()
        values = [r.values for r in waiting] or [np.zeros(0, dtype=self.manifest.up.dtype)]
        return {
            "tick": np.array(self.tick),
            **self.rule.arrays(),
            "pending": np.array([r[:3] for r in waiting], dtype=np.int64).reshape(-1, 3),
            "pending_values": np.stack(values),
            "pending_levels": np.array([r.level for r in waiting], dtype=np.uint8),
            "counts": np.array(json.dumps(self.counts)),
            "ages": np.array(json.dumps(self.ages)),
            **self.devices.arrays(),
            **self.wellbeing.arrays(),
            # Where nobody ever read, the presence is that of the updates.
            **(self.presence.arrays() if self.counts["reads"] else {}),
        }

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Take up a state that was saved; one that no server can have had is an InputError."""
        begun = {**Presence().arrays(), **self.state()}
        require_possible(state, begun, self.manifest.up)
        self.tick = int(state.pop("tick"))
        self.rule.restore(state)
        self.counts = counted("counts", state.pop("counts"), str)
        self.ages = counted("ages", state.pop("ages"), int)
        pending, values = state.pop("pending").tolist(), state.pop("pending_values")
        levels = state.pop("pending_levels").tolist()
        for (arrived, device, sent), part, level in zip(pending, values, levels, strict=False):
            self._pending[arrived].append(Record(arrived, device, sent, part, level))
        self.devices = Devices.of(state)
        self.wellbeing = Wellbeing.of(state)
        met = Presence.is_in(state)
        self.presence = Presence.of(state) if met else Presence.like(self.wellbeing)

    def digest(self) -> bytes:
        """Return a hash of what a replay of the journal must reproduce, bit for bit."""
        exact = {*_EXACT, *self.rule.arrays(), *self.wellbeing.arrays()}
        arrays = [array for name, array in self.state().items() if name in exact]
        return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).digest()

    # How messages are processed

    def _update(self, device: int, message: Update) -> list[Effect]:
        now, newest = self.tick, message.tick
        if newest > now + TOLERANCE:
            return self._refuse(device, "future")
        if now - newest > self.manifest.max_age:
            return self._refuse(device, "too old")
        self.devices.good(device, now)
        updates: list[tuple[int, Update | Repeat]] = [(newest, message)]
        updates += [(newest - repeat.earlier, repeat) for repeat in message.repeats]
        records: list[Effect] = []
        for sent, update in updates:
            if now - sent > self.manifest.max_age:
                self.counts["repeats too old"] += 1
            elif self.devices.has(device, sent):
                self.counts["duplicates"] += 1
            else:
                record = Record(max(now, sent), device, sent, update.values, update.level)
                self._accept(record)
                records.append(record)
        self._awaiting.append(self._reply(device, age_of(now, newest)))
        return records

    def _read(self, device: int, message: Read) -> list[Effect]:
        self.devices.good(device, self.tick, reads=True)
        self.counts["reads"] += 1
        self._reads[self.tick].append((device, self.tick, message.level))
        return [self._reply(device, NO_UPDATE)]

    def _reply(self, device: int, age: int) -> Send:
        values = self.manifest.down.written(self.w, device, self.tick)
        return Send(device, encode(Reply(self.manifest.epoch, self.tick, age, values)))

    def _accept(self, record: Record) -> None:
        self.counts["accepted"] += 1
        self.ages[record.arrived - record.sent] += 1
        self.devices.mark(record.device, record.sent)
        self._pending[record.arrived].append(record)

    def _hello(self, device: int) -> list[Effect]:
        if self.devices.greet(device) > MOST_HELLOS:
            return self._refuse(device, "hello again")
        self.devices.seen(device, self.tick)
        self.counts["hellos"] += 1
        model = Model(self.manifest.epoch, self.tick, self.w.astype("<f4"))
        return [Send(device, encode(model))]

    def _refuse(self, device: int, reason: str) -> list[Effect]:
        """Count a refusal; nothing else changes."""
        self.counts[f"refused: {reason}"] += 1
        in_a_row = self.devices.refuse(device, reason, self.tick)
        return [Suspect(device, reason)] if in_a_row == REPORT_AFTER else []
