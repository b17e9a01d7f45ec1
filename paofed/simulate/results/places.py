"""What is summed over the samples of a table: for engines and baselines alike, in one place.

Every learner hands out its error on every sample, the truth less the prediction, before anything
was learned from it. Results keep sums alone: over time, and by cell. A cell is what counts of one
device at one stage of its life.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.intervals import half_widths
from paofed.core.order import ranks

if TYPE_CHECKING:
    from paofed.world.table.readings import Readings

STAGES = 64  # more than there can be
_MOST = 1 << 25  # errors whose intervals are worked out at once


class Sums(NamedTuple):
    """What is summed over samples, in the order of the arrays."""

    squared: FloatArray  # errors as models see the target: dB are of these
    own_squared: FloatArray  # errors in the target's own unit
    own_absolute: FloatArray
    covered: FloatArray  # samples within their interval: see paofed.core.intervals
    own_width: FloatArray  # of that interval


class Tally(NamedTuple):
    """Sums over samples of one run."""

    over_time: FloatArray  # (..., P): squared errors since the last point of time
    cells: FloatArray  # (..., 5, C): see Sums

    @classmethod
    def nothing(cls, *shape: int) -> Self:
        """Sums of such a shape over no points and no cells."""
        return cls(np.zeros((*shape, 0)), np.zeros((*shape, len(Sums._fields), 0)))


class LifeCells(NamedTuple):
    """The samples that count of each device, by how many readings it has had."""

    device: IntArray  # (C,)
    stage: IntArray  # (C,): 0 is the first reading, 1 the second and third, 2 the next four, ...
    samples: IntArray  # (C,)
    target: FloatArray  # (2, C): what was measured less its mean over all, summed, and squares


def summed(values: NDArray[np.generic], by: IntArray, count: int) -> FloatArray:
    """Sum values (..., M) with the same number in `by` (M,), for each of those below `count`."""
    sums = [np.bincount(by, some, count) for some in values.reshape(-1, by.size)]
    found: FloatArray = np.array(sums, dtype=np.float64).reshape(*values.shape[:-1], count)
    return found


def divided(sums: FloatArray, counts: NDArray[np.generic]) -> FloatArray:
    """Sums by what they are of; NaN where that is nothing."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: FloatArray = np.divide(sums, counts)
    return mean


@dataclass(frozen=True, eq=False)
class Places:
    """When and where the M samples of a table were taken: sums over samples go by it."""

    tick: IntArray  # (M,)
    device: IntArray  # (M,)
    scored: int  # the first tick whose samples count for a device
    y: FloatArray  # (M,): the target as models see it
    measured: Callable[[FloatArray], FloatArray]  # what such numbers are in the target's own unit
    half_width: float | FloatArray = 1.0  # of a device's first interval: for all learners or each

    @classmethod
    def of(cls, readings: "Readings", half_width: float | FloatArray = 1.0) -> Self:
        """Those of a table."""
        return cls(
            readings.tick,
            readings.device,
            readings.scored,
            readings.y,
            readings.units[-1].measured,
            half_width,
        )

    @cached_property
    def counts(self) -> BoolArray:
        """Which samples count, (M,)."""
        return self.tick >= self.scored

    @cached_property
    def _keys(self) -> IntArray:
        """Device and stage of every sample that counts, as one number."""
        # The exponent of n is how often it can be halved: 1, then 2 and 3, then 4 to 7, ...
        stage = np.frexp(1.0 + ranks(self.device))[1] - 1
        keys: IntArray = (STAGES * self.device + stage)[self.counts]
        return keys

    @cached_property
    def _cell(self) -> IntArray:
        """The cell of every sample that counts."""
        return np.unique(self._keys, return_inverse=True)[1]

    @cached_property
    def _own(self) -> FloatArray:
        """What was measured, of the samples that count."""
        return self.measured(self.y[self.counts])

    @cached_property
    def cells(self) -> LifeCells:
        """The cells, device after device."""
        keys, samples = np.unique(self._keys, return_counts=True)
        off = self._own - self._own.mean()
        target = summed(np.stack([off, off**2]), self._cell, keys.size)
        return LifeCells(keys // STAGES, keys % STAGES, samples, target)

    # Errors of a learner that diverged overflow when they are squared; the sums then say so.
    @np.errstate(over="ignore", invalid="ignore")
    def judged(self, errors: NDArray[np.floating], points: IntArray) -> Tally:
        """Sum up errors (..., M), in the order of the samples, of one run."""
        by_learner, shape = errors.reshape(-1, self.tick.size), errors.shape[:-1]
        over_time = np.empty((len(by_learner), points.size))
        cells = np.empty((len(by_learner), len(Sums._fields), self.cells.device.size))
        first = np.broadcast_to(self.half_width, shape).ravel()
        together = max(1, _MOST // self.tick.size)
        for begin in range(0, len(by_learner), together):
            some = by_learner[begin : begin + together].astype(np.float64)
            widths = half_widths(some, self.device, first[begin : begin + together])
            for learner, (e, half) in enumerate(zip(some, widths, strict=True), begin):
                over_time[learner] = self._over_time(e**2, points)
                cells[learner] = self._by_cell(e[self.counts], half[self.counts])
        return Tally(
            over_time.reshape(*shape, points.size), cells.reshape(*shape, *cells.shape[1:])
        )

    def counted(self, points: IntArray) -> IntArray:
        """Count the samples since the last point, (P,)."""
        return self._over_time(np.ones(self.tick.size), points).astype(np.int64)

    def per_sample(self, errors: FloatArray, points: IntArray) -> FloatArray:
        """Divide errors (..., P) by the samples since the last point; NaN where there were none."""
        return divided(errors, self.counted(points))

    def _over_time(self, values: FloatArray, points: IntArray) -> FloatArray:
        return summed(values, np.searchsorted(points, self.tick), points.size)

    def _by_cell(self, errors: FloatArray, half: FloatArray) -> FloatArray:
        """Sum up errors and intervals of the samples that count, by cell: (5, C)."""
        predicted = self.y[self.counts] - errors
        own = self._own - self.measured(predicted)
        sums = Sums(
            squared=errors**2,
            own_squared=own**2,
            own_absolute=np.abs(own),
            covered=(np.abs(errors) <= half).astype(np.float64),
            own_width=self.measured(predicted + half) - self.measured(predicted - half),
        )
        return summed(np.stack(sums), self._cell, len(self.cells.device))
