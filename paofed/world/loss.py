"""What is lost: messages on their way up, and what the server shares on its way down."""

from paofed.core.arrays import IntArray
from paofed.world.events import ThresholdArray, by_group, threshold
from paofed.world.value import ByGroup, Grouped, Probability


class Loss(Grouped):
    """At every contact, the client's message and the server's values are lost, each by chance."""

    up: ByGroup[Probability] = 0.0
    down: ByGroup[Probability] = 0.0

    def thresholds(self, clients: IntArray) -> tuple[ThresholdArray, ThresholdArray]:
        """Return the clients' thresholds of a loss on the way up and on the way down."""
        return threshold(by_group(self.up, clients)), threshold(by_group(self.down, clients))
