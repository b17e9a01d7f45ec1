"""What travels: frozen records and their exact bytes, little endian.

    off 0  u8   wire version (high nibble), kind (low nibble)
    off 1  u8   epoch: the generation of the manifest
    off 2  u32  tick
    off 6  u8 level, block          update; repeats follow as (u8 ticks earlier, u8 level, block)
    off 6  u8 age, block            reply
    off 6  u8 level                 read
    off 6  -                        hello, "read the manifest again"
    off 6  D x f32                  whole model

A block is m x f32, unless the channel of the fleet's method writes the m values otherwise
(paofed.live.protocol.blocks). Which coordinates they are follows from (device, tick): no indices,
no names. Whose they are, the transport says. The level is how well the device predicts
(paofed.live.protocol.level). Every length is checked exactly; numbers that are not finite, or
beyond LARGEST, are refused.
"""

import math
import struct
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from paofed.errors import PaofedError

VERSION = 2
UPDATE, REPLY, HELLO, MODEL, REREAD, READ = range(6)
HEADER = struct.Struct("<BBI")
LAST_TICK = 2**32 - 1
LARGEST = 1e6  # a parameter beyond this is a fault, not a model
MOST_REPEATS = 3  # the most earlier updates in one message; a device keeps no more
_AGES = 256  # an age travels modulo this: a device may be a tick or two ahead of the server

Values = NDArray[np.float32] | NDArray[np.uint8]  # a block: float32, or bytes of a channel's own


class WireError(PaofedError):
    """Bytes that are no message; the reason is a short word to count by."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class Block(Protocol):
    """How the values of a window are written in one direction."""

    @property
    def length(self) -> int:
        """How many bytes the values take."""
        ...

    def checked(self, data: bytes) -> Values:
        """Return the values of so many bytes; raise WireError for impossible values."""
        ...


@dataclass(frozen=True)
class Plain:
    """Values as float32."""

    count: int

    @property
    def length(self) -> int:
        """How many bytes the values take."""
        return 4 * self.count

    def checked(self, data: bytes) -> Values:
        """Return the values as they are; raise WireError for impossible values."""
        values = np.frombuffer(data, dtype="<f4")
        require_sane(values)
        return values


@dataclass(frozen=True, eq=False)
class Repeat:
    """An earlier update that was not confirmed."""

    earlier: int  # ticks before the update that it travels with, 1 to 255
    values: Values
    level: int = 0  # the level at that time


@dataclass(frozen=True, eq=False)
class Update:
    """Device to server: its model on the uplink window of (device, tick)."""

    epoch: int
    tick: int
    values: Values
    repeats: tuple[Repeat, ...] = ()
    level: int = 0  # how well the device predicts


@dataclass(frozen=True, eq=False)
class Reply:
    """Server to device: the updates of one message are on disk; the model on a downlink window."""

    epoch: int
    tick: int  # the server's tick now; the window is that of (device, tick)
    age: int  # ticks since the newest update answered, modulo 256; NO_UPDATE: a read is answered
    values: Values

    @property
    def answers(self) -> int:
        """The tick of the newest update answered: the one nearest to `tick` with this age."""
        return self.tick - ((self.age + _AHEAD) % _AGES - _AHEAD)


@dataclass(frozen=True, eq=False)
class Hello:
    """Device to server: asks for the tick and the whole model."""

    epoch: int


@dataclass(frozen=True, eq=False)
class Read:
    """Device to server: all its samples were sent; asks for the model on a downlink window."""

    epoch: int
    level: int = 0  # how well the device predicts


@dataclass(frozen=True, eq=False)
class Model:
    """Server to device: the tick and the whole model."""

    epoch: int
    tick: int
    values: Values  # (D,)


@dataclass(frozen=True, eq=False)
class Reread:
    """Server to device: you follow an old manifest."""

    epoch: int  # the epoch of the present manifest


Message = Update | Reply | Hello | Model | Reread | Read
_AHEAD = 16  # ages from 256 less this on mean "ahead of the server": far more than any tolerance
# The age byte of a reply that answers no update: above every age limit, so that a device, also one
# that never reads, takes it for the age of an update that was too old, and confirms nothing.
NO_UPDATE = _AGES - _AHEAD - 1


def age_of(tick: int, update: int) -> int:
    """Return the age byte of a reply sent at `tick` to an update of tick `update`."""
    return (tick - update) % _AGES


def encode(message: Message) -> bytes:
    """Write a message as bytes."""
    match message:
        case Update(epoch, tick, values, repeats, level):
            tail = b"".join(bytes([r.earlier, r.level]) + r.values.tobytes() for r in repeats)
            return _header(UPDATE, epoch, tick) + bytes([level]) + values.tobytes() + tail
        case Reply(epoch, tick, age, values):
            return _header(REPLY, epoch, tick) + bytes([age]) + values.tobytes()
        case Hello(epoch):
            return _header(HELLO, epoch, 0)
        case Model(epoch, tick, values):
            return _header(MODEL, epoch, tick) + values.tobytes()
        case Reread(epoch):
            return _header(REREAD, epoch, 0)
        case Read(epoch, level):
            return _header(READ, epoch, 0) + bytes([level])


def decode(
    data: bytes, *, shared: int, features: int, up: Block | None = None, down: Block | None = None
) -> Message:
    """Read a message; raise WireError, and nothing else, for other bytes.

    `up` and `down` say how updates and replies hold their values, where that is not as float32.
    """
    if len(data) < HEADER.size:
        raise WireError("length", f"{len(data)} bytes: a message has at least {HEADER.size}")
    first, epoch, tick = HEADER.unpack_from(data)
    version, kind = first >> 4, first & 15
    if version != VERSION:
        raise WireError("version", f"wire version {version}: this side speaks {VERSION}")
    body = data[HEADER.size :]
    if kind == UPDATE:
        block = up or Plain(shared)
        # Bytes of the update itself, and of each repeat.
        newest, later = block.length + 1, block.length + 2
        repeats, rest = divmod(len(body) - newest, later)
        _require(len(body) >= newest and rest == 0 and repeats <= MOST_REPEATS, kind, data)
        parts = (body[i : i + later] for i in range(newest, len(body), later))
        known = tuple(Repeat(_earlier(p[0], tick), block.checked(p[2:]), p[1]) for p in parts)
        return Update(epoch, tick, block.checked(body[1:newest]), known, body[0])
    if kind == REPLY:
        block = down or Plain(shared)
        _require(len(body) == block.length + 1, kind, data)
        return Reply(epoch, tick, body[0], block.checked(body[1:]))
    if kind == MODEL:
        block = Plain(features)
        _require(len(body) == block.length, kind, data)
        return Model(epoch, tick, block.checked(body))
    if kind in (HELLO, REREAD, READ):
        _require(len(body) == (kind == READ), kind, data)
        if tick:
            raise WireError("tick", f"tick {tick} in a message of kind {kind}, which has none")
        if kind == READ:
            return Read(epoch, body[0])
        return Hello(epoch) if kind == HELLO else Reread(epoch)
    raise WireError("kind", f"kind {kind}: expected {UPDATE} to {READ}")


def reread(data: bytes, epoch: int) -> Reread | None:
    """Return what to answer to a message of another epoch, or None.

    A device with an old manifest sends messages of other lengths: it is told to read the manifest,
    not refused for the length.
    """
    other = len(data) >= HEADER.size and data[0] >> 4 == VERSION and data[1] != epoch
    return Reread(epoch) if other else None


def _header(kind: int, epoch: int, tick: int) -> bytes:
    return HEADER.pack(VERSION << 4 | kind, epoch, tick)


def peak_of(values: NDArray[np.floating[Any]]) -> float:
    """Return the largest size of a value as it travels; above LARGEST, or NaN, it is refused."""
    with np.errstate(over="ignore"):  # a value beyond float32 becomes infinite, and is refused
        return float(np.abs(values.astype("<f4", copy=False)).max(initial=0.0))


def can_travel(values: NDArray[np.floating[Any]]) -> bool:
    """Whether the other side accepts these numbers."""
    return peak_of(values) <= LARGEST


def require_sane(values: NDArray[np.floating[Any]]) -> None:
    """Refuse values that are not finite, or too large."""
    if not can_travel(values):
        peak = peak_of(values)
        if not math.isfinite(peak):
            raise WireError("not finite", "a value is not a finite number")
        raise WireError("too large", f"a value of {peak:g} is beyond {LARGEST:g}")


def _earlier(ticks: int, tick: int) -> int:
    if not 0 < ticks <= tick:
        raise WireError("repeat", f"a repeat from {ticks} ticks before tick {tick}")
    return ticks


def _require(right: bool, kind: int, data: bytes) -> None:  # noqa: FBT001 (an assertion)
    if not right:
        raise WireError("length", f"{len(data)} bytes are no message of kind {kind}")
