"""Outages that hit many clients at once: a gateway fails, a provider, a power line."""

import numpy as np

from paofed.core.arrays import BoolArray, IntArray
from paofed.core.random import Key, philox
from paofed.world.availability import turns
from paofed.world.events import ThresholdArray, by_group, threshold
from paofed.world.value import ByGroup, Duration, Grouped, Probability


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
