"""What the server remembers of each device, in columns; names stay in the store."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_COLUMNS = ("known", "quarantined", "last_seen", "refused", "messages")
_PASSING = ("heard", "hellos")  # of this tick alone: not in a snapshot
_MANY = 2**16 - 1


class Devices:
    """Grows with the highest index; a few dozen bytes a device.

    Which updates were accepted is one bit per device and tick, for the ticks that can still arrive:
    row `tick modulo window` belongs to that tick until it is forgotten.
    """

    def __init__(self, window: int) -> None:
        self.known: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self.quarantined: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self.last_seen: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # tick; -1: never
        self.refused: NDArray[np.uint32] = np.zeros(0, dtype=np.uint32)  # in a row
        self.messages: NDArray[np.uint32] = np.zeros(0, dtype=np.uint32)  # good ones
        self.accepted: NDArray[np.uint8] = np.zeros((window, 0), dtype=np.uint8)
        self.heard: NDArray[np.uint16] = np.zeros(0, dtype=np.uint16)  # messages in this tick
        self.hellos: NDArray[np.uint16] = np.zeros(0, dtype=np.uint16)  # among them

    def __len__(self) -> int:
        return int(self.known.sum())

    def knows(self, device: int) -> bool:
        """Whether the device is part of the fleet."""
        return 0 <= device < self.known.size and bool(self.known[device])

    def add(self, device: int) -> None:
        """Make room for a device."""
        if device >= self.known.size:
            # By half as much again, in whole bytes of the bit rows.
            more = max(device + 1, self.known.size * 3 // 2, 8) - self.known.size
            more += -(self.known.size + more) % 8
            for name in (*_COLUMNS, *_PASSING):
                column = getattr(self, name)
                empty = -1 if name == "last_seen" else 0
                setattr(self, name, np.append(column, np.full(more, empty, column.dtype)))
            rows = np.zeros((len(self.accepted), more // 8), dtype=np.uint8)
            self.accepted = np.append(self.accepted, rows, axis=1)
        self.known[device] = True

    def has(self, device: int, tick: int) -> bool:
        """Whether the update of this device and tick was accepted."""
        row = self.accepted[tick % len(self.accepted)]
        return bool(row[device >> 3] >> (device & 7) & 1)

    def mark(self, device: int, tick: int) -> None:
        """Remember that it was."""
        self.accepted[tick % len(self.accepted), device >> 3] |= np.uint8(1 << (device & 7))

    def forget(self, first: int, last: int) -> None:
        """Make room for the ticks `first` to `last`, whose rows belonged to long past ones."""
        window = len(self.accepted)
        for tick in range(max(first, last - window + 1), last + 1):
            self.accepted[tick % window] = 0

    def good(self, device: int, tick: int) -> None:
        """A message was taken."""
        self.last_seen[device] = tick
        self.refused[device] = 0
        self.messages[device] += 1

    def hear(self, device: int) -> int:
        """A message came, good or bad; count how many in this tick."""
        self.heard[device] = min(int(self.heard[device]) + 1, _MANY)
        return int(self.heard[device])

    def greet(self, device: int) -> int:
        """A hello came; count how many in this tick."""
        self.hellos[device] += 1
        return int(self.hellos[device])

    def new_tick(self) -> None:
        """Begin to count anew what is counted by the tick."""
        for name in _PASSING:
            getattr(self, name)[:] = 0

    def refuse(self, device: int) -> int:
        """A message was refused; count how many in a row."""
        self.refused[device] += 1
        return int(self.refused[device])

    def anew(self, window: int) -> "Devices":
        """The same devices, of which no update was accepted yet."""
        rows = np.zeros((window, self.accepted.shape[1]), dtype=np.uint8)
        columns = {name: getattr(self, name) for name in _COLUMNS}
        return Devices.of({**columns, "accepted": rows})

    def recount(self, last: int, tick: int, longer: float) -> None:
        """Ticks have another length: tell in the new ones when each device was last seen.

        `last` was the present tick, `tick` is, and ticks were `longer` times as long as they are.
        """
        ago = np.maximum(last - self.last_seen, 0) * longer
        seen = np.maximum(tick - ago, 0).astype(np.int64)  # as far back as there are any
        self.last_seen = np.where(self.last_seen < 0, -1, seen)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything up to the last device, for a snapshot."""
        used = int(np.flatnonzero(self.known).max(initial=-1)) + 1
        used += -used % 8
        columns = {name: getattr(self, name)[:used] for name in _COLUMNS}
        return {**columns, "accepted": np.ascontiguousarray(self.accepted[:, : used // 8])}

    @classmethod
    def of(cls, arrays: dict[str, NDArray[Any]]) -> "Devices":
        """Back from a snapshot."""
        devices = cls(len(arrays["accepted"]))
        for name in (*_COLUMNS, "accepted"):
            setattr(devices, name, arrays[name].copy())
        for name in _PASSING:
            setattr(devices, name, np.zeros(devices.known.size, dtype=np.uint16))
        return devices
