"""Who is there: laws of presence, each a small value.

Every law but a recorded one is a link that goes on and off: three thresholds per client say how it
begins, how likely it comes on and how likely it stays. Being there at random, independently of the
tick before, is the case where all three are equal.
"""

from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import Field

from paofed.world.events import ThresholdArray, by_group, threshold
from paofed.world.recorded import Recorded
from paofed.world.value import Durations, Grouped, Probabilities, Value


class OnOff(NamedTuple):
    """Thresholds of every client: on at the first tick, off to on, on to on."""

    first: ThresholdArray
    start: ThresholdArray
    stay: ThresholdArray


class Bernoulli(Grouped):
    """There with a fixed probability at each tick; client k has that of group k mod G."""

    kind: Literal["bernoulli"] = "bernoulli"
    probabilities: Probabilities

    def on_off(self, clients: int) -> OnOff:
        """Return the thresholds of every client."""
        always = threshold(by_group(self.probabilities, clients))
        return OnOff(always, always, always)


class Bursts(Value):
    """On and off in turns whose mean lengths in ticks are given, by group (k mod G)."""

    kind: Literal["bursts"] = "bursts"
    mean_on: Durations
    mean_off: Durations

    @property
    def groups(self) -> int:
        """Count the groups: the longer list; the shorter one repeats."""
        return max(len(self.mean_on), len(self.mean_off))

    def on_off(self, clients: int) -> OnOff:
        """Return the thresholds of every client, begun in the long-run proportion."""
        on, off = by_group(self.mean_on, clients), by_group(self.mean_off, clients)
        return OnOff(threshold(on / (on + off)), threshold(1 / off), threshold(1 - 1 / on))


class RecordedPresence(Recorded):
    """Who was there: 1, and who was not: 0."""

    most: ClassVar[int] = 1


Availability = Annotated[Bernoulli | Bursts | RecordedPresence, Field(discriminator="kind")]
