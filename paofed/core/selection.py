"""What travels: which coordinates (a pure function of client and tick), and whose."""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.parts import Part, Stamp, no_state
from paofed.errors import AlgorithmError


@lru_cache(maxsize=4096)  # there are few windows, and they come again every few ticks
def window(start: int, width: int, features: int) -> IntArray:
    """Return W(start, m) = {(start + i) mod D : i = 0..m-1}; it wraps, so m need not divide D.

    >>> window(6, 4, 8)
    array([6, 7, 0, 1])
    """
    coordinates: IntArray = (start + np.arange(width)) % features
    coordinates.setflags(write=False)  # every caller gets this very array from the cache
    return coordinates


@dataclass(frozen=True)
class Windows:
    """The paper's channel: m consecutive coordinates that move on by m at every tick.

    Coordinated windows are the same for all clients. Uncoordinated, the window of client k is k
    windows further on. A window is a function of client and tick, so no indices ever travel. `ahead
    = 1` is the window that the client will receive next: the window that was left alone longest. A
    `width` of None is the whole model.
    """

    width: int | None
    coordinated: bool = True
    ahead: int = 0

    # The fields of paofed.core.parts.Channel: no memory, and values travel as they are.
    encode: ClassVar[None] = None
    decode: ClassVar[None] = None
    waives: ClassVar[tuple[str, ...]] = ()
    served: ClassVar[bool] = True
    why_not: ClassVar[str] = ""

    def __post_init__(self) -> None:
        width = self.width
        if width is not None and (type(width) is not int or width < 1):
            raise AlgorithmError(
                f"shared is {width!r}: expected a whole number from 1 on", key="shared"
            )
        if type(self.coordinated) is not bool:
            raise AlgorithmError(
                f"coordinated is {self.coordinated!r}: expected true or false", key="coordinated"
            )

    def size(self, features: int) -> int:
        """Count the coordinates of one message (m, or D for the whole model)."""
        width = features if self.width is None else self.width
        if width > features:
            raise AlgorithmError(
                f"shared is {width}, but the model has only {features} features: "
                f"share at most {features}",
                key="shared",
            )
        return width

    def start(self, client: int, tick: int, features: int) -> int:
        """Return the first coordinate of the window of (client, tick)."""
        steps = tick + self.ahead + (0 if self.coordinated else client)
        return self.size(features) * steps % features

    def init(self, features: int) -> tuple[()]:
        """Remember nothing of a link."""
        return no_state(features)

    def send(self, w: FloatArray, memory: tuple[()], stamp: Stamp) -> tuple[Part, tuple[()]]:
        """Send the window of the stamp."""
        coordinates = self.at(stamp)
        return Part(coordinates, w[coordinates]), memory

    def at(self, stamp: Stamp) -> IntArray:
        """Return the coordinates of the window of a stamp; for use in channels of one's own."""
        return self(stamp.client, stamp.tick, stamp.features)

    def __call__(self, client: int, tick: int, features: int) -> IntArray:
        """Return the coordinates of the window of (client, tick)."""
        return window(self.start(client, tick, features), self.size(features), features)


def pick(available: BoolArray, lottery: FloatArray, subset: float | None) -> BoolArray:
    """Choose who takes part among the available clients, from the realised lottery numbers.

    `subset` None picks all available clients. A fraction below 1 picks the clients whose number is
    below the fraction, possibly nobody. A count picks that many clients with the smallest numbers,
    ties by index, or all if fewer are available.
    """
    if subset is None:
        return available
    if subset < 1:
        return available & (lottery < subset)
    candidates = np.flatnonzero(available)
    order = np.argsort(lottery[candidates], kind="stable")  # stable: ties by index
    chosen = np.zeros_like(available)
    chosen[candidates[order[: int(subset)]]] = True
    return chosen
