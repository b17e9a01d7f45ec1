"""Sums of errors over the samples of a table, for engines and baselines alike.

Every learner hands out its error on every sample, the truth less the prediction, before anything
is learned from that sample. Results keep only sums of the errors: over time, and by cell. A cell is
the samples that count of one device at one stage of its life.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from paofed.core.arrays import BoolArray, FloatArray, IntArray, ranks
from paofed.core.due import Due
from paofed.core.intervals import half_widths

if TYPE_CHECKING:
    from paofed.world.table.readings import Readings

STAGES = 64  # more stages than a life can have
_MOST = 1 << 25  # the most errors whose intervals are worked out at once


class Sums(NamedTuple):
    """The five sums over samples, in the order of the arrays."""

    squared: FloatArray  # errors in the target as models see it; errors in dB are made from these
    own_squared: FloatArray  # errors in the target's own unit
    own_absolute: FloatArray
    covered: FloatArray  # counts samples within their interval: see paofed.core.intervals
    own_width: FloatArray  # widths of these intervals in the target's own unit


class Tally(NamedTuple):
    """Sums over samples of one run."""

    over_time: FloatArray  # (..., P): squared errors since the last point of time
    cells: FloatArray  # (..., 5, C): see Sums

    @classmethod
    def nothing(cls, *shape: int) -> Self:
        """Return sums over no points and no cells, with axes of this shape before them."""
        return cls(np.zeros((*shape, 0)), np.zeros((*shape, len(Sums._fields), 0)))


class LifeCells(NamedTuple):
    """The C cells: the samples that count of each device, by how many readings it had before."""

    device: IntArray  # (C,)
    stage: IntArray  # (C,): 0 is the first reading, 1 the second and third, 2 the next four, ...
    samples: IntArray  # (C,)
    # (2, C): the measured targets less the mean of all, summed, and their squares, summed.
    target: FloatArray


def summed(values: NDArray[np.generic], by: IntArray, count: int) -> FloatArray:
    """Sum the values (..., M) that have the same number in `by` (M,), for numbers below `count`."""
    sums = [np.bincount(by, some, count) for some in values.reshape(-1, by.size)]
    found: FloatArray = np.array(sums, dtype=np.float64).reshape(*values.shape[:-1], count)
    return found


def divided(sums: FloatArray, counts: NDArray[np.generic]) -> FloatArray:
    """Divide sums by how many numbers they are of; NaN where there are none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: FloatArray = np.divide(sums, counts)
    return mean


@dataclass(frozen=True, eq=False)
class Places:
    """When and by which device the M samples of a table were taken, by which errors are summed."""

    tick: IntArray  # (M,)
    device: IntArray  # (M,)
    scored: int  # the first tick whose samples count for a device
    y: FloatArray  # (M,): the target as models see it
    measured: Callable[[FloatArray], FloatArray]  # turns numbers like `y` into the target's unit
    # Half the width of a device's first interval: one for all learners, or one for each.
    half_width: float | FloatArray = 1.0
    due: Due | None = None  # when devices learn of their errors; None: at once

    @classmethod
    def of(
        cls, readings: "Readings", half_width: float | FloatArray = 1.0, due: Due | None = None
    ) -> Self:
        """Return the places of a table's samples."""
        return cls(
            readings.tick,
            readings.device,
            readings.scored,
            readings.y,
            readings.target.measured,
            half_width,
            due,
        )

    @cached_property
    def counts(self) -> BoolArray:
        """Which samples count, (M,)."""
        return self.tick >= self.scored

    @cached_property
    def _keys(self) -> IntArray:
        """Device and stage of every sample that counts, as one number."""
        # The binary exponent of n says how often n can be halved: 1, then 2 and 3, then 4 to 7, ...
        stage = np.frexp(1.0 + ranks(self.device))[1] - 1
        keys: IntArray = (STAGES * self.device + stage)[self.counts]
        return keys

    @cached_property
    def _cell(self) -> IntArray:
        """The cell of every sample that counts."""
        return np.unique(self._keys, return_inverse=True)[1]

    @cached_property
    def _own(self) -> FloatArray:
        """The measured targets of the samples that count, in their own unit."""
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
        """Sum the errors (..., M) of one run, given in the order of the samples.

        `points` are the ticks of the points of a curve.
        """
        by_learner, shape = errors.reshape(-1, self.tick.size), errors.shape[:-1]
        over_time = np.empty((len(by_learner), points.size))
        cells = np.empty((len(by_learner), len(Sums._fields), self.cells.device.size))
        first = np.broadcast_to(self.half_width, shape).ravel()
        together = max(1, _MOST // self.tick.size)
        for begin in range(0, len(by_learner), together):
            some = by_learner[begin : begin + together].astype(np.float64)
            first_of = first[begin : begin + together]
            widths = half_widths(some, self.device, first_of, self.due)
            for learner, (e, half) in enumerate(zip(some, widths, strict=True), begin):
                over_time[learner] = self._over_time(e**2, points)
                cells[learner] = self._by_cell(e[self.counts], half[self.counts])
        return Tally(
            over_time.reshape(*shape, points.size), cells.reshape(*shape, *cells.shape[1:])
        )

    def counted(self, points: IntArray) -> IntArray:
        """Count the samples since the point before, for every point: (P,)."""
        return self._over_time(np.ones(self.tick.size), points).astype(np.int64)

    def per_sample(self, errors: FloatArray, points: IntArray) -> FloatArray:
        """Divide errors (..., P) by the samples since the point before; NaN where none came."""
        return divided(errors, self.counted(points))

    def _over_time(self, values: FloatArray, points: IntArray) -> FloatArray:
        return summed(values, np.searchsorted(points, self.tick), points.size)

    def _by_cell(self, errors: FloatArray, half: FloatArray) -> FloatArray:
        """Sum the errors and intervals of the samples that count by cell: (5, C)."""
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
