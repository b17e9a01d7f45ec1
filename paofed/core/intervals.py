"""Prediction intervals that hold online: adaptive conformal prediction with two counters.

An interval is a prediction, plus and minus half its width. Each sample that it misses makes it
wider, each that it covers a little narrower, so that one in ten is missed in the long run. This is
quantile tracking (Angelopoulos, Candes, Tibshirani: Conformal PID control, 2023) with steps in
proportion to the width itself, which is the scale of recent errors. Steps then only add up:

    half width = start exp(RATE (misses - MISS samples))

So the share of misses after n samples differs from MISS by log(half width / start) / (RATE n),
whatever the errors were: it tends to MISS as long as errors stay between bounds, and never stays
above it while they stay below one.
"""

from typing import Any, NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray, IntArray
from paofed.core.order import ranks, runs

MISS = 0.1  # the share of samples that an interval is to miss
RATE = 0.2  # by how much one more miss widens it, to first order


def half_width(start: Any, samples: Any, misses: Any) -> Any:
    """Half the width of the next interval; numbers, or arrays of them."""
    with np.errstate(over="ignore"):  # after endless misses it is infinite, and misses nothing
        return start * np.exp(RATE * (misses - MISS * samples))


def first_half_width(errors: FloatArray) -> float:
    """What would have covered these errors as agreed: where intervals begin after such a past.

    1 where there was no error.
    """
    return float(np.quantile(np.abs(errors), 1 - MISS)) or 1.0 if errors.size else 1.0


class Interval(NamedTuple):
    """What a device keeps of its intervals."""

    start: float  # half the width of the first
    samples: float = 0  # whole numbers
    misses: float = 0

    @property
    def half_width(self) -> float:
        """Half the width of the next one."""
        return float(half_width(self.start, self.samples, self.misses))

    @property
    def coverage(self) -> float:
        """The share of samples that were covered; NaN before the first."""
        return 1 - self.misses / self.samples if self.samples else np.nan

    def after(self, error: float) -> "Interval":
        """The same once a sample was predicted with an error; what is no number was missed."""
        missed = not abs(error) <= self.half_width
        return self._replace(samples=self.samples + 1, misses=self.misses + missed)


def half_widths(errors: FloatArray, device: IntArray, start: float | FloatArray) -> FloatArray:
    """Half the width of the interval of every sample, each device having its own.

    Errors are (..., M), of several learners, in the order in which the samples came, and `device`
    (M,) says whose each is. `start` is half the width of each device's first interval, for all
    learners or (...) for each.
    """
    rank = ranks(device)
    order = np.argsort(rank, kind="stable")
    # Sample after sample in memory, and all learners of each: of all devices their first, ...
    size = np.abs(errors.reshape(-1, device.size).T[order])
    start = np.broadcast_to(start, errors.shape[:-1]).ravel()
    found, misses = np.empty(size.shape), np.zeros((int(device.max()) + 1, size.shape[1]))
    for now in runs(rank[order]):
        k = device[order[now]]
        until = misses[k]
        found[now] = half_width(start, rank[order[now.start]], until)
        misses[k] = until + ~(size[now] <= found[now])
    widths = np.empty_like(found)
    widths[order] = found
    return widths.T.reshape(errors.shape)
