"""Who is there: laws of presence, each a small value.

Every law but a recorded one is a link that goes on and off. Three thresholds per client say how
likely the link is on at the first tick, how likely it comes on, and how likely it stays on. A link
that is on at random, independently of the tick before, is the case where all three are equal.
"""

from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from paofed.core.arrays import BoolArray, IntArray, WordArray
from paofed.world.events import ThresholdArray, by_group, threshold
from paofed.world.recorded import Recorded
from paofed.world.value import Durations, Grouped, Probabilities, Value


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
