"""Who is there: laws of presence, of outages and of batteries, each a small value.

Every law but a recorded one is a link that goes on and off. Three thresholds per client say how
likely the link is on at the first tick, how likely it comes on, and how likely it stays on. A link
that is on at random, independently of the tick before, is the case where all three are equal.
"""

from typing import Annotated, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, model_validator

from paofed.core.arrays import BoolArray, IntArray, WordArray
from paofed.core.random import Key, philox
from paofed.world.recorded import Recorded
from paofed.world.value import (
    ByGroup,
    Duration,
    Durations,
    Grouped,
    Probabilities,
    Probability,
    ThresholdArray,
    Value,
    by_group,
    threshold,
)

_MOST = 2**31 - 1  # contacts in a battery


class OnOff(NamedTuple):
    """Thresholds of some clients: on at the first tick, from off to on, from on to on."""

    first: ThresholdArray
    start: ThresholdArray
    stay: ThresholdArray

    def follow(self, words: WordArray) -> BoolArray:
        """Return which links are on at each tick.

        Ticks are the first axis of `words` and of the result.
        """
        on = np.empty(words.shape, dtype=bool)
        on[0] = words[0] < self.first
        for n in range(1, len(words)):
            on[n] = words[n] < np.where(on[n - 1], self.stay, self.start)
        return on


def turns(on: ArrayLike, off: ArrayLike) -> OnOff:
    """Return thresholds for turns of these mean lengths in ticks.

    The chance to be on at the first tick is the long-run share of ticks that are on.
    """
    on, off = np.asarray(on, dtype=np.float64), np.asarray(off, dtype=np.float64)
    return OnOff(threshold(on / (on + off)), threshold(1 / off), threshold(1 - 1 / on))


class Bernoulli(Grouped):
    """Available with a fixed probability at each tick.

    Client k has the probability of group k mod G.
    """

    kind: Literal["bernoulli"] = "bernoulli"
    probabilities: Probabilities

    def on_off(self, clients: IntArray) -> OnOff:
        """Return the thresholds of the clients."""
        always = threshold(by_group(self.probabilities, clients))
        return OnOff(always, always, always)


class Bursts(Value):
    """On and off in turns whose mean lengths in ticks are given by group.

    Client k is in group k mod G.
    """

    kind: Literal["bursts"] = "bursts"
    mean_on: Durations
    mean_off: Durations

    @property
    def groups(self) -> int:
        """Count the groups: as many as the longer list has; the shorter list repeats."""
        return max(len(self.mean_on), len(self.mean_off))

    def on_off(self, clients: IntArray) -> OnOff:
        """Return the thresholds of the clients."""
        return turns(by_group(self.mean_on, clients), by_group(self.mean_off, clients))


class RecordedPresence(Recorded):
    """A recorded table of presence: 1 where a client was available, 0 where it was not."""

    most: ClassVar[int] = 1


Availability = Annotated[Bernoulli | Bursts | RecordedPresence, Field(discriminator="kind")]


class Outages(Grouped):
    """Outages of the whole fleet, one after the other.

    Each outage hits a client by chance, until the outage ends.
    """

    mean_length: Duration  # ticks
    mean_between: Duration  # ticks from the end of an outage to the beginning of the next
    share: ByGroup[Probability] = 1.0  # the probability that an outage hits a client

    def began(self, key: Key, ticks: int, purpose: int) -> IntArray:
        """Return for every tick the tick at which its outage began, (N,).

        -1 where there is no outage.
        """
        words = philox(key, 0, np.arange(ticks), 0, purpose)[0]
        on = turns(self.mean_length, self.mean_between).follow(words)
        new = on & ~np.append(False, on[:-1])
        latest = np.maximum.accumulate(np.where(new, np.arange(ticks), -1))
        return np.where(on, latest, -1)

    def shares(self, clients: IntArray) -> ThresholdArray:
        """Return the thresholds at which an outage hits the clients."""
        return threshold(by_group(self.share, clients))

    def hits(self, key: Key, began: IntArray, clients: IntArray, purpose: int) -> BoolArray:
        """Return which of the clients are hit at every tick, (N, K)."""
        there = began >= 0
        outages, which = np.unique(began[there], return_inverse=True)
        words = philox(key, clients, outages[:, None], 0, purpose)[0]
        hit = np.zeros((began.size, clients.size), dtype=bool)
        hit[there] = (words < self.shares(clients))[which]
        return hit


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
