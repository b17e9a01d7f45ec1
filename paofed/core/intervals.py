"""Prediction intervals that hold online: adaptive conformal prediction with two counters.

An interval is a prediction, plus and minus half its width. Each sample outside the interval makes
the next one wider, each sample inside makes the next one a little narrower, so that one in ten is
missed in the long run. This is quantile tracking (Angelopoulos, Candes, Tibshirani: Conformal PID
control, 2023) with steps in proportion to the width itself, which is the scale of recent errors.
Steps then only add up:

    half width = start exp(RATE (misses - MISS samples))

So the share of misses after n samples differs from MISS by log(half width / start) / (RATE n),
whatever the errors were. The share tends to MISS as long as errors stay between two bounds above 0,
and does not stay above MISS while errors stay below one bound.
"""

from typing import Any, NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray, IntArray, ranks, runs
from paofed.core.due import Due

MISS = 0.1  # the share of samples that an interval is to miss
RATE = 0.2  # by how much one more miss widens the interval, to first order


def half_width(start: Any, samples: Any, misses: Any) -> Any:
    """Return half the width of the next interval; takes numbers, or arrays of numbers."""
    # After endless misses the width is infinite, and misses nothing.
    with np.errstate(over="ignore"):
        return start * np.exp(RATE * (misses - MISS * samples))


def first_half_width(errors: FloatArray) -> float:
    """Return the half width that would have covered a share 1 - MISS of these past errors.

    Intervals begin with it after such a past. Without errors it is 1.
    """
    return float(np.quantile(np.abs(errors), 1 - MISS)) or 1.0 if errors.size else 1.0


class Interval(NamedTuple):
    """The counters that a device keeps of its intervals."""

    start: float  # half the width of the first interval
    samples: float = 0  # whole numbers
    misses: float = 0

    @property
    def half_width(self) -> float:
        """Half the width of the next interval."""
        return float(half_width(self.start, self.samples, self.misses))

    @property
    def coverage(self) -> float:
        """The share of samples that were covered; NaN before the first."""
        return 1 - self.misses / self.samples if self.samples else np.nan

    def after(self, error: float) -> "Interval":
        """Return the counters after a sample that was predicted with `error`.

        NaN counts as a miss.
        """
        missed = not abs(error) <= self.half_width
        return self._replace(samples=self.samples + 1, misses=self.misses + missed)


def half_widths(
    errors: FloatArray, device: IntArray, start: float | FloatArray, due: Due | None = None
) -> FloatArray:
    """Return half the width of the interval of every sample; each device has intervals of its own.

    `errors` has shape (..., M), for several learners, in the order in which the samples came, and
    `device` (M,) says to which device each sample belongs. `start` is half the width of each
    device's first interval: one number for all learners, or shape (...) with one for each. A
    device knows of a miss once it has the label: `due` says when (None: at once).
    """
    rank = ranks(device)
    order = np.argsort(rank, kind="stable")
    # Reordered in memory: the first samples of all devices, then all second ones, and so on; the
    # errors of all learners on one sample are neighbours.
    size = np.abs(errors.reshape(-1, device.size).T[order])
    start = np.broadcast_to(start, errors.shape[:-1]).ravel()
    found, misses = np.empty(size.shape), np.zeros((int(device.max()) + 1, size.shape[1]))
    place, known = np.argsort(order), np.zeros(len(misses))
    for now in runs(rank[order]):
        k = device[order[now]]
        until = misses[k]
        if due is None:
            found[now] = half_width(start, rank[order[now.start]], until)
            misses[k] = until + ~(size[now] <= found[now])
            continue
        found[now] = half_width(start, known[k, None], until)
        for which, learned in due.turns(order[now]):
            at = place[due.sample[learned]]
            known[k[which]] += 1
            misses[k[which]] += ~(size[at] <= found[at])
    widths = np.empty_like(found)
    widths[order] = found
    return widths.T.reshape(errors.shape)
