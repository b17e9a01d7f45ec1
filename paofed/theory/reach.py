"""What is known of an algorithm beforehand: how far back it reaches, and what a contact costs."""

import math
from typing import NamedTuple, Self

from paofed.algorithms.base import Algorithm, Settled
from paofed.core.arrays import BoolArray, IntArray
from paofed.core.traffic import Traffic
from paofed.errors import AlgorithmError
from paofed.theory.fleet import Contacts, FleetInTheory


class Reach(NamedTuple):
    """How far back one algorithm reaches, and what has to be remembered for that."""

    mu: float
    counts: BoolArray  # which ages of the fleet's messages count
    ages: IntArray  # (L,), the ages that count
    sizes: tuple[int, int]  # coordinates of a message down and up
    period: int  # the period P of the windows
    live: bool
    by_sums: bool  # whole models and resting clients: sums of the R_k by age are enough

    @classmethod
    def of(cls, fleet: FleetInTheory, method: Algorithm, settings: Settled, ticks: int) -> Self:
        """Work out the reach of an algorithm over `ticks` ticks."""
        parts = method.require_paper_parts("theory")
        K, D = fleet.moments.r.shape
        method.require_fits(D)
        down, up = (windows.size(D) for windows in (parts.downlink, parts.uplink))
        mu, max_age = method.settled(**settings._asdict())
        ages = fleet.contacts.ages
        counts = (ages <= max_age) & (ages < ticks)
        period = math.lcm(*(D // math.gcd(size, D) for size in (down, up)))
        rests = method.exchange == "paper" and not method.learns_while_away
        return cls(
            mu,
            counts,
            ages[counts],
            sizes=(down, up),
            period=period,
            live=method.exchange == "live",
            by_sums=rests and down == up == D and int(counts.sum()) <= K,
        )

    @property
    def longest(self) -> int:
        """The highest age that counts."""
        return int(self.ages.max(initial=0))

    @property
    def cells(self) -> IntArray:
        """The number of cells by age: messages on their way for l ticks take turns in l + 1."""
        return self.ages + 1

    def bytes(self, K: int, D: int) -> float:
        """Return the least memory: windows, weights, messages on their way, answers or sums."""
        windows, weights = self.period * K * sum(self.sizes), 2 * self.period * self.ages.size * D
        waiting = int(self.cells.sum()) * D
        answers = (self.longest + 1) * K * D if self.live else 0
        sums = self.ages.size * D**2 if self.by_sums else 0
        return 8.0 * (windows + weights + waiting + answers + sums)


def expected(contacts: Contacts, method: Algorithm, features: int) -> Traffic:
    """Return the traffic per client and tick, mean over the fleet: exact for any presence.

    Means of dependent events add up too, so no independence is needed.
    """
    rate = float(contacts.available.mean()) * picked_share(method)
    down, up, _ = method.require_paper_parts("theory")
    return Traffic.of_floats(rate, up.size(features), down.size(features))


def picked_share(method: Algorithm) -> float:
    """Return the share of the available clients that takes part."""
    if method.subset is None:
        return 1.0
    if method.subset >= 1:
        raise AlgorithmError(
            f"{method.name} picks a fixed number of clients ({method.subset}), so who takes part "
            f"depends on everybody: theory needs a subset that is a fraction"
        )
    return method.subset
