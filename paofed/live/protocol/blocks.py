"""The values of a window as they travel: a block, written and read by the channel of the method.

Plain windows are blocks of float32; a channel with an encoding of its own, such as quantised
windows, makes blocks of bytes. Values that a codec reads need not fit into float32. So a device
keeps the block that it may have to repeat, and the server's journal keeps the block that came: a
repeat has the bytes of the first sending, and a replay reads what was read at first, bit for bit.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import FloatArray, IntArray
from paofed.core.parts import Channel, Part, Stamp
from paofed.core.random import Key
from paofed.core.selection import Windows
from paofed.live.protocol.messages import LARGEST, Values, WireError, require_sane

# A scale that is rounded up makes a value a little larger: LARGEST itself must still arrive.
_ROUNDING = 2.0**-20


@dataclass(frozen=True)
class Blocks:
    """One direction of a fleet's links, over a channel that is known to be served."""

    channel: Windows | Channel
    features: int
    key: Key  # key of the random numbers that the channel draws

    @property
    def is_plain(self) -> bool:
        """Whether values travel as float32."""
        return self.channel.encode is None

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The type of a block's entries."""
        return np.dtype("<f4") if self.is_plain else np.dtype(np.uint8)

    @cached_property
    def shared(self) -> int:
        """How many coordinates a block holds."""
        if isinstance(self.channel, Windows):
            return self.channel.size(self.features)
        return self.coordinates().size

    @cached_property
    def size(self) -> int:
        """How many entries a block has; a channel that is served makes blocks of one size."""
        return self.shared if self.is_plain else self.block(np.zeros(self.shared)).size

    @property
    def length(self) -> int:
        """How many bytes a block takes in a message."""
        return self.size * self.dtype.itemsize

    def coordinates(self, device: int = 0, tick: int = 0) -> IntArray:
        """Return the coordinates of the block of a device and a tick."""
        if isinstance(self.channel, Windows):
            return self.channel(device, tick, self.features)
        return self._sent(np.zeros(self.features), self._stamp(device, tick)).coordinates

    def written(self, w: FloatArray, device: int, tick: int) -> Values:
        """Return the block that a device sends of a model."""
        stamp = self._stamp(device, tick)
        return self._encoded(self._sent(w, stamp), stamp)

    def block(self, values: FloatArray, device: int = 0, tick: int = 0) -> Values:
        """Return the block that holds these values, whosever model they may be of."""
        part = Part(self.coordinates(device, tick), values)
        return self._encoded(part, self._stamp(device, tick))

    def read(self, block: Values, device: int, tick: int) -> Part:
        """Return the coordinates and values of a block that has been checked."""
        stamp, entries = self._stamp(device, tick), self.entries(block)
        if self.channel.decode is None:
            return Part(self.coordinates(device, tick), entries.astype(np.float64))
        coordinates, values = self.channel.decode(entries, stamp)
        return Part(coordinates, np.clip(values, -LARGEST, LARGEST))

    def entries(self, block: NDArray[Any]) -> NDArray[Any]:
        """Return a block, whose bytes were kept, with entries of this channel's type."""
        return block.view(self.dtype)

    def checked(self, data: bytes) -> Values:
        """Return a block of the right length from a message.

        Raise WireError for impossible values.
        """
        block: NDArray[Any] = np.frombuffer(data, dtype=self.dtype)
        if self.channel.decode is None:
            require_sane(block)
        else:
            with np.errstate(over="ignore", invalid="ignore"):  # of a scale that is not a number
                values = self.channel.decode(block, self._stamp(0, 0)).values
            require_sane(values / (1.0 + _ROUNDING))
        return block

    def can_travel(self, block: Values) -> bool:
        """Whether the other side would accept a block that was kept."""
        try:
            self.checked(block.tobytes())
        except WireError:
            return False
        return True

    def _stamp(self, device: int, tick: int) -> Stamp:
        return Stamp(device, tick, self.features, self.key)

    def _sent(self, w: FloatArray, stamp: Stamp) -> Part:
        return self.channel.send(w, self.channel.init(self.features), stamp)[0]

    def _encoded(self, part: Part, stamp: Stamp) -> Values:
        if self.channel.encode is None:
            return part.values.astype("<f4")
        return self.channel.encode(part, stamp)
