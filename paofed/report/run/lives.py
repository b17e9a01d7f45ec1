"""What taking part gains over the life of a device, and where it stops paying."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from paofed.report.run.alone import BesideAlone, OverAlone
from paofed.report.shared.markup import interval
from paofed.simulate.results.estimates import TIE, Estimate
from paofed.simulate.results.lives import Lives
from paofed.simulate.results.progressive import Whose

HOW = (
    "A device that takes part against the best way of being alone at that stage, on the same "
    "readings, by how many readings it has had. Errors of all devices at a stage are pooled, mean "
    "over runs. 95 % intervals, each by itself, are paired over devices (to first order, Student's "
    "t) as if these were independent: devices that share their weather are less so. Taking part "
    f"pays where the interval is above 0 and reaches beyond {TIE} dB."
)


class Stage(NamedTuple):
    """What a learner gains over being alone from one reading of a device to another."""

    first: int
    last: int
    over: OverAlone

    @property
    def gain(self) -> Estimate:
        """The gain in dB, over devices; its `runs` is the number of devices."""
        return self.over.gain

    @property
    def readings(self) -> str:
        """The span of readings in words."""
        return f"{self.first:,} to {self.last:,}" if self.last > self.first else f"{self.first:,}"

    @property
    def pays(self) -> bool:
        """Whether the gain is surely above 0, and not so small that it is a tie."""
        return self.gain.verdict == "holds"


def stages(lives: Lives, name: str, whose: Whose = "device") -> Iterator[Stage]:
    """Yield the gain of a learner over the best way of being alone, stage by stage.

    Stages without samples are left out.
    """
    beside = BesideAlone(lives, name, whose)
    for stage in np.unique(lives.stage).tolist():
        here = lives.stage == stage
        yield Stage(1 << stage, (2 << stage) - 1, beside.over_alone(here))


def stops_paying(found: Sequence[Stage]) -> int | None:
    """Return the first reading from which on no stage pays; None if it pays to the end.

    The result is 1 if no stage pays at all. A stage of one device has no interval, and says
    nothing.
    """
    known = [stage for stage in found if math.isfinite(stage.gain.low)]
    last = max((i for i, stage in enumerate(known) if stage.pays), default=-1)
    if last < 0:
        return 1
    return None if last == len(known) - 1 else known[last + 1].first


def extremes(found: Sequence[Stage], name: str) -> str:
    """Say where in a life taking part gains most, and what it gains at the end, in one sentence.

    There must be a stage with at least two devices, whose gain has an interval.
    """
    known = [stage for stage in found if math.isfinite(stage.gain.low)]
    top = max(known, key=lambda stage: stage.gain.mean)
    said = f"Of a device's life ({name}), taking part gains most at reading {_told(top)}"
    return f"{said}." if top is known[-1] else f"{said}, and at the last ones, {_told(known[-1])}."


def _told(stage: Stage) -> str:
    return f"{stage.readings}, {interval(stage.gain)} dB over {stage.over.rival}"
