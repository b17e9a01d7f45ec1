"""The errors of every learner over the lives of devices, and in the target's own unit.

The life of a device is counted in its readings, and each stage of a life is twice as long as the
stage before: the first reading, the second and third, the next four, ... Sums are kept by device
and stage, so that learners can be compared device by device.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray, IntArray
from paofed.core.metrics import decibels
from paofed.simulate.results.places import Sums, divided, summed
from paofed.simulate.results.progressive import Names, Whose, learner_index
from paofed.words import ShapesShown, natural


class OwnUnit(NamedTuple):
    """How well a learner predicts, in the target's own unit; all numbers, or all arrays.

    The intervals are those of paofed.core.intervals; each device has its own.
    """

    rmse: Any  # root of the mean squared error
    mae: Any  # mean absolute error
    r2: Any  # the share of the target's variance that is explained; NaN where the variance is 0
    coverage: Any  # the share of samples within their interval
    width: Any  # mean width of the intervals


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Lives(ShapesShown):
    """Sums over samples of L learners in R runs, by the C cells of LifeCells."""

    learners: Names  # (L, 2): as in Progressive
    device: IntArray  # (C,)
    stage: IntArray  # (C,)
    samples: IntArray  # (C,)
    group: Names  # (K,): the group of every device
    target: FloatArray  # (2, C): as in LifeCells
    sums: FloatArray  # (R, L, 5, C): see Sums

    @property
    def stages(self) -> int:
        """The number of stages of the longest life."""
        return int(self.stage.max()) + 1

    def mean_sums(self, name: str, whose: Whose) -> Sums:
        """Return the sums of a learner by cell, mean over runs, (C,) each."""
        with np.errstate(invalid="ignore", over="ignore"):  # of a learner that diverged
            found: FloatArray = self.sums[:, learner_index(self.learners, name, whose)]
            return Sums(*found.mean(axis=0))

    def own_unit(self, name: str, whose: Whose) -> OwnUnit:
        """Return a learner's errors over all samples that count."""
        found = self.own_unit_by(name, whose, np.zeros_like(self.device), 1)
        return OwnUnit(*(float(part[0]) for part in found))

    def own_unit_by(self, name: str, whose: Whose, by: IntArray, count: int) -> OwnUnit:
        """Return a learner's errors over groups of cells: those with the same number in `by` (C,).

        The numbers are below `count`. R2 compares with the mean of the same samples.
        """
        sums = self.mean_sums(name, whose)
        samples = summed(self.samples, by, count)
        squared = summed(sums.own_squared, by, count)
        off, squares = summed(self.target, by, count)
        spread = squares - divided(off**2, samples)
        with np.errstate(invalid="ignore", divide="ignore"):
            r2 = np.where(spread > 0, 1 - squared / spread, np.nan)
        absolute, covered, width = (
            divided(summed(part, by, count), samples)
            for part in (sums.own_absolute, sums.covered, sums.own_width)
        )
        return OwnUnit(np.sqrt(divided(squared, samples)), absolute, r2, covered, width)

    def db_by(self, name: str, whose: Whose, by: IntArray, count: int) -> FloatArray:
        """Return a learner's error in dB over groups of cells: those with the same number in `by`.

        The numbers are below `count`. The error is NaN where no sample counts.
        """
        squared = summed(self.mean_sums(name, whose).squared, by, count)
        return decibels(divided(squared, summed(self.samples, by, count)))

    def by_device(self, name: str, whose: Whose, *, own: bool = False) -> FloatArray:
        """Return the squared errors of every device with samples that count, mean over runs.

        They are those of the target as models see it or, if `own`, in the target's own unit.
        """
        devices, place = np.unique(self.device, return_inverse=True)
        sums = self.mean_sums(name, whose)
        return summed(sums.own_squared if own else sums.squared, place, devices.size)

    def stage_db(self, name: str, whose: Whose) -> FloatArray:
        """Return the error in dB at every stage of life, (stages,)."""
        return self.db_by(name, whose, self.stage, self.stages)

    @property
    def baselines(self) -> list[str]:
        """The names of the baselines."""
        return [name for name, whose in self.learners.tolist() if whose == "baseline"]

    @property
    def groups(self) -> tuple[list[str], IntArray]:
        """The names of the groups (G,), and the index of the group that each cell is in (C,)."""
        names = sorted(set(self.group.tolist()), key=lambda name: natural(name.replace(",", "")))
        place = np.array([names.index(name) for name in self.group.tolist()])
        return names, place[self.device]
