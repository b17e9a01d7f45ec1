"""What was read of a table: a fleet's readings as a list, gaps left as gaps.

Most tables are full of gaps, so no array here has a place for every device at every tick.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from paofed.core.arrays import FloatArray, IntArray
from paofed.core.columns.numbers import Number
from paofed.core.columns.transform import Transform
from paofed.core.features import Ranges, median_distance
from paofed.words import counted, listed
from paofed.world.table.timeline import Timeline


@dataclass(frozen=True, eq=False, kw_only=True)
class Readings:
    """M complete readings with d inputs, and C complete readings from before tick 0.

    The M readings are in order of ticks and, within a tick, of devices; a device has at most one
    reading in a tick.
    """

    devices: tuple[str, ...]
    columns: tuple[Transform, ...]  # what a device computes for its inputs and, last, its target
    timeline: Timeline
    ticks: int
    tick: IntArray  # (M,)
    device: IntArray  # (M,), by index
    x: FloatArray  # (M, d)
    y: FloatArray  # (M,)
    # (M,): the last target of the same device before this reading, also where that earlier reading
    # lacks inputs; NaN where there is no earlier target.
    previous: FloatArray
    x_past: FloatArray  # (C, d): inputs of the calibration period, in order of time
    y_past: FloatArray  # (C,)
    # (K,): the last target of each device in the calibration period; NaN where there is none.
    last_past: FloatArray
    scored: int  # the first tick whose errors count
    doubts: tuple[str, ...]  # what looks wrong with the table, though it can be used
    groups: tuple[str, ...] = ()  # the group of every device; empty where the table has no groups

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(label for record in self.columns[:-1] for label in record.labels)

    @property
    def recipes(self) -> tuple[str, ...]:
        """The records of `columns` in words."""
        return tuple(record.recipe for record in self.columns)

    @property
    def units(self) -> tuple[Transform, ...]:
        """The record of each number that a model sees, the target's last."""
        return tuple(record for record in self.columns for _ in record.labels)

    @property
    def target(self) -> Number:
        """The record of the target."""
        return cast(Number, self.columns[-1])  # as `fit` makes of a target's column

    @property
    def scale(self) -> str:
        """What a difference of 1 in the target means, in measured units."""
        return f"{self.target.scale:.3g} of {self.target.labels[0]}"

    @property
    def inputs(self) -> int:
        """Count the inputs (d)."""
        return int(self.x.shape[1])

    @property
    def kernel_width(self) -> float:
        """The median distance between two inputs of the calibration period."""
        return median_distance(self.x_past)

    @cached_property
    def ranges(self) -> Ranges:
        """The ranges in which the inputs of the calibration period lie."""
        return Ranges.of(self.x_past)

    def facts(self) -> list[str]:
        """Say what was found, for people."""
        line, devices = self.timeline, len(self.devices)
        fleet = counted(devices, "device")
        length = f"{counted(self.ticks, 'tick')} of {line.length_text()}"
        span = f"from {line.text(line.origin)} to {line.text(line.last)}"
        share = len(self.y) / (self.ticks * devices)
        found = [
            f"{fleet}, {length} {span}, {_percent(share)} with a complete reading",
            f"calibrated on {len(self.y_past):,} complete readings before that",
            f"0 dB is an error of {self.scale}",
        ]
        if self.scored:
            since = line.text(line.origin + self.scored * line.tick)
            found.append(f"errors count from {since} on")
        heard = np.bincount(self.device, minlength=devices)
        silent = [self.devices[k] for k in np.flatnonzero(heard == 0).tolist()]
        if silent:
            found.append(f"no complete reading after calibration from {listed(silent)}")
        return [*found, *self.doubts]


def _percent(share: float) -> str:
    """Write a share in whole percent, or with two digits where it is smaller.

    >>> _percent(0.972), _percent(0.000358)
    ('97%', '0.036%')
    """
    return f"{share:.0%}" if share >= 0.01 else f"{100 * share:.2g}%"
