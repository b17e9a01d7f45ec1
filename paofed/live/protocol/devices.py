"""What the server remembers of each device, in columns; names stay in the store."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Type of each column, and its value for a new device.
_COLUMNS: dict[str, tuple[type[np.generic], int]] = {
    "known": (np.bool_, 0),
    "quarantined": (np.bool_, 0),
    "last_seen": (np.int64, -1),
    "refused": (np.uint32, 0),
    "messages": (np.uint32, 0),
    "refusals": (np.uint32, 0),
    "refused_since": (np.int64, -1),
    "refused_why": (np.uint8, 0),
    "reads": (np.uint32, 0),
}
_PASSING: dict[str, tuple[type[np.generic], int]] = {  # for this tick alone: not in a snapshot
    "heard": (np.uint16, 0),
    "hellos": (np.uint16, 0),
}
REASONS = (  # reasons of refusals, numbered in this order on disk: new ones go to the end
    "",  # a reason that this version does not number
    "removed",
    "quarantined",
    "flood",
    "length",
    "version",
    "kind",
    "tick",
    "not finite",
    "too large",
    "repeat",
    "future",
    "too old",
    "hello again",
    "epoch",  # an old epoch: the device is told to read the manifest again
)
_MANY = 2**16 - 1


class Devices:
    """Columns that grow with the highest index; a few dozen bytes a device.

    Which updates were accepted is one bit per device and tick, for the ticks that can still arrive:
    row `tick modulo window` belongs to that tick until it is forgotten.
    """

    def __init__(self, window: int) -> None:
        self.known: NDArray[np.bool_]
        self.quarantined: NDArray[np.bool_]
        self.last_seen: NDArray[np.int64]  # tick; -1: never
        self.refused: NDArray[np.uint32]  # refusals in a row
        self.messages: NDArray[np.uint32]  # messages that were accepted
        self.refusals: NDArray[np.uint32]  # refusals in all
        self.refused_since: NDArray[np.int64]  # tick; -1: the last message was good
        self.refused_why: NDArray[np.uint8]  # why the last message was refused, an index of REASONS
        self.reads: NDArray[np.uint32]  # reads since the last update
        self.heard: NDArray[np.uint16]  # messages in this tick
        self.hellos: NDArray[np.uint16]  # hellos in this tick
        for name, (kind, _) in (_COLUMNS | _PASSING).items():
            setattr(self, name, np.zeros(0, dtype=kind))
        self.accepted: NDArray[np.uint8] = np.zeros((window, 0), dtype=np.uint8)

    def __len__(self) -> int:
        return int(self.known.sum())

    def knows(self, device: int) -> bool:
        """Whether the device is part of the fleet."""
        return 0 <= device < self.known.size and bool(self.known[device])

    def add(self, device: int) -> None:
        """Make room for a device."""
        if device >= self.known.size:
            # Grow by half, in whole bytes of the bit rows.
            more = max(device + 1, self.known.size * 3 // 2, 8) - self.known.size
            more += -(self.known.size + more) % 8
            for name, (kind, empty) in (_COLUMNS | _PASSING).items():
                column = np.append(getattr(self, name), np.full(more, empty, dtype=kind))
                setattr(self, name, column)
            rows = np.zeros((len(self.accepted), more // 8), dtype=np.uint8)
            self.accepted = np.append(self.accepted, rows, axis=1)
        self.known[device] = True

    def has(self, device: int, tick: int) -> bool:
        """Whether the update of this device and tick was accepted."""
        row = self.accepted[tick % len(self.accepted)]
        return bool(row[device >> 3] >> (device & 7) & 1)

    def mark(self, device: int, tick: int) -> None:
        """Remember that the update of this device and tick was accepted."""
        self.accepted[tick % len(self.accepted), device >> 3] |= np.uint8(1 << (device & 7))

    def forget(self, first: int, last: int) -> None:
        """Make room for the ticks `first` to `last`, whose rows belonged to long past ticks."""
        window = len(self.accepted)
        for tick in range(max(first, last - window + 1), last + 1):
            self.accepted[tick % window] = 0

    def good(self, device: int, tick: int, *, reads: bool = False) -> None:
        """Note that an update was accepted or, with `reads`, that a read was answered."""
        self.seen(device, tick)
        self.refused[device] = 0
        self.refused_since[device] = -1
        self.reads[device] = self.reads[device] + 1 if reads else 0

    def seen(self, device: int, tick: int) -> None:
        """Note that a message was accepted which says nothing about the device's updates."""
        self.last_seen[device] = tick
        self.messages[device] += 1

    def hear(self, device: int) -> int:
        """Note a message, good or bad; return how many there were in this tick."""
        self.heard[device] = min(int(self.heard[device]) + 1, _MANY)
        return int(self.heard[device])

    def greet(self, device: int) -> int:
        """Note a hello; return how many there were in this tick."""
        self.hellos[device] += 1
        return int(self.hellos[device])

    def new_tick(self) -> None:
        """Set the counts of the present tick to 0."""
        for name in _PASSING:
            getattr(self, name)[:] = 0

    def refuse(self, device: int, reason: str, tick: int) -> int:
        """Note that a message was refused; return how many were in a row."""
        if not self.refused[device]:
            self.refused_since[device] = tick
        self.refused[device] += 1
        self.refusals[device] += 1
        self.refused_why[device] = REASONS.index(reason) if reason in REASONS else 0
        return int(self.refused[device])

    def anew(self, window: int) -> "Devices":
        """Return the same devices without any accepted update."""
        rows = np.zeros((window, self.accepted.shape[1]), dtype=np.uint8)
        columns = {name: getattr(self, name) for name in _COLUMNS}
        return Devices.of({**columns, "accepted": rows})

    def recount(self, last: int, tick: int, longer: float) -> None:
        """Convert when each device was last seen to ticks of another length.

        `last` was the present tick and `tick` is the present one now; a tick was `longer` times as
        long as it is.
        """
        ago = np.maximum(last - self.last_seen, 0) * longer
        seen = np.maximum(tick - ago, 0).astype(np.int64)  # not before tick 0
        self.last_seen = np.where(self.last_seen < 0, -1, seen)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the columns up to the last device, for a snapshot."""
        used = int(np.flatnonzero(self.known).max(initial=-1)) + 1
        used += -used % 8
        columns = {name: getattr(self, name)[:used] for name in _COLUMNS}
        return {**columns, "accepted": np.ascontiguousarray(self.accepted[:, : used // 8])}

    @classmethod
    def of(cls, arrays: dict[str, NDArray[Any]]) -> "Devices":
        """Return devices from the arrays of a snapshot."""
        devices = cls(len(arrays["accepted"]))
        for name, (kind, _) in _COLUMNS.items():
            setattr(devices, name, arrays[name].astype(kind))
        for name, (kind, empty) in _PASSING.items():
            setattr(devices, name, np.full(devices.known.size, empty, dtype=kind))
        devices.accepted = arrays["accepted"].astype(np.uint8)
        return devices
