"""Batteries: a client has some contacts in store, spends them and gains new ones."""

from typing import Annotated, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from paofed.core.arrays import BoolArray, IntArray, WordArray
from paofed.world.events import ThresholdArray, by_group, threshold
from paofed.world.value import ByGroup, Grouped, Probability

_MOST = 2**31 - 1


class Cells(NamedTuple):
    """The batteries of K clients, (K,) each: capacity, level at the start, chance to fill."""

    capacity: IntArray
    start: IntArray
    fill: ThresholdArray

    def offers(self, wanted: BoolArray, words: WordArray) -> BoolArray:
        """Follow the levels over the ticks; return which of the wanted contacts can be offered.

        In each tick a battery fills first, up to its capacity. Then a contact is offered if one is
        in store, and taken out of the store whatever becomes of it.
        """
        offered, level = np.empty_like(wanted), self.start
        for n, now in enumerate(wanted):
            level = np.minimum(level + (words[n] < self.fill), self.capacity)
            offered[n] = now & (level > 0)
            level = level - offered[n]
        return offered


class Battery(Grouped):
    """A store of contacts: every contact that is offered takes one, every tick may bring one."""

    capacity: ByGroup[Annotated[int, Field(ge=1, le=_MOST)]]  # contacts
    fill: ByGroup[Probability]  # the probability that a tick brings one contact
    # Contacts at the first tick; None: as many as the capacity.
    start: ByGroup[Annotated[int, Field(ge=0, le=_MOST)]] | None = None

    @model_validator(mode="after")
    def _starts_within(self) -> Self:
        capacity, start, _ = self.cells(np.arange(self.groups))
        if (over := np.flatnonzero(start > capacity)).size:
            first = over[0]
            raise ValueError(
                f"start is {start[first]}: expected no more than the capacity, {capacity[first]}"
            )
        return self

    def cells(self, clients: IntArray) -> Cells:
        """Return the batteries of the clients."""
        start = self.capacity if self.start is None else self.start
        capacity, begin = (by_group(n, clients).astype(np.int64) for n in (self.capacity, start))
        return Cells(capacity, begin, threshold(by_group(self.fill, clients)))
