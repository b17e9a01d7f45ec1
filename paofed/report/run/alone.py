"""What taking part is compared with: the best way of being alone.

A device that has no contact may learn for itself, from zeros or from a fit of the calibration
period, keep that fit as it is, or repeat its last value. It would choose whichever is best. So the
rival is the way with the least error on the very readings that are compared, which favours the
rival a little: taking part never looks better than it is.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import BoolArray, FloatArray
from paofed.report.shared.captions import rank
from paofed.simulate.results.estimates import Estimate, pooled_gain
from paofed.simulate.results.lives import Lives
from paofed.simulate.results.places import summed
from paofed.simulate.results.progressive import Whose
from paofed.simulate.table.baselines import ALONE
from paofed.simulate.table.learners_alone import kind_of


class OverAlone(NamedTuple):
    """What a learner gains over the best way of being alone, on some readings."""

    rival: str  # the best way of being alone; empty where none was judged
    devices: int
    samples: int
    gain: Estimate  # in dB, paired over devices; NaN where there is no rival


class BesideAlone:
    """One learner beside all ways of being alone that were judged."""

    def __init__(self, lives: Lives, name: str, whose: Whose = "device") -> None:
        self._lives = lives
        self._mine = lives.mean_sums(name, whose).squared
        self._alone: Mapping[str, FloatArray] = {
            way: lives.mean_sums(way, "baseline").squared
            for way in lives.baselines
            if kind_of(way) in ALONE
        }

    def over_alone(self, here: BoolArray) -> OverAlone:
        """Return the gain on the readings of some cells, (C,); at least one cell must be chosen."""
        devices = np.unique(self._lives.device[here])
        told = devices.size, int(self._lives.samples[here].sum())
        if not self._alone:
            return OverAlone("", *told, Estimate(np.nan, np.nan, np.nan, devices.size))
        way = min(self._alone, key=lambda way: rank(self._alone[way][here].sum()))
        alone, mine = (self._by_device(e, here)[devices] for e in (self._alone[way], self._mine))
        return OverAlone(way, *told, pooled_gain(alone, mine))

    def _by_device(self, squared: FloatArray, here: BoolArray) -> FloatArray:
        return summed(squared[here], self._lives.device[here], len(self._lives.group))
