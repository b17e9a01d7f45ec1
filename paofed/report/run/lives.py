"""What taking part gains over the life of a device, and where it stops paying."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from paofed.report.run.gains import pooled_gain
from paofed.report.shared.markup import interval
from paofed.simulate.results.estimates import TIE, Estimate
from paofed.simulate.results.lives import Lives
from paofed.simulate.results.progressive import Whose

HOW = (
    "A device that takes part against the same device learning alone, on the same readings, by how "
    "many readings it has had. Errors of all devices at a stage are pooled, mean over runs. 95 % "
    "intervals are paired over devices (to first order, Student's t) as if these were independent: "
    "devices that share their weather are less so. Taking part pays where the interval is above 0 "
    f"and reaches beyond {TIE} dB."
)


class Stage(NamedTuple):
    """What a learner gains over another from one reading of a device to another."""

    first: int
    last: int
    devices: int
    samples: int
    gain: Estimate  # in dB, over devices; `runs` counts these

    @property
    def readings(self) -> str:
        """The readings in words."""
        return f"{self.first:,} to {self.last:,}" if self.last > self.first else f"{self.first:,}"

    @property
    def pays(self) -> bool:
        """Whether the gain is surely above 0, and not so small that it is a tie."""
        return self.gain.verdict == "holds"


def stages(lives: Lives, name: str, whose: Whose = "device") -> Iterator[Stage]:
    """The gain of a learner over learning alone at every stage that has samples.

    It is NaN where that baseline was left out.
    """
    joined = lives.mean_sums(name, whose).squared
    alone = lives.mean_sums("alone", "baseline").squared if lives.has_alone else None
    for stage in range(lives.stages):
        here = lives.stage == stage
        if here.any():
            devices, samples = int(here.sum()), int(lives.samples[here].sum())
            found = Estimate(math.nan, math.nan, math.nan, devices)
            if alone is not None:
                found = pooled_gain(alone[here], joined[here])
            yield Stage(1 << stage, (2 << stage) - 1, devices, samples, found)


def stops_paying(found: Sequence[Stage]) -> int | None:
    """The first reading from which on no stage pays, 1 for never; None: it pays to the end.

    A stage of one device has no interval, and says nothing.
    """
    known = [stage for stage in found if math.isfinite(stage.gain.low)]
    last = max((i for i, stage in enumerate(known) if stage.pays), default=-1)
    if last < 0:
        return 1
    return None if last == len(known) - 1 else known[last + 1].first


def headline(found: Sequence[Stage], name: str) -> str:
    """The gain over a life in one sentence."""
    if not any(math.isfinite(stage.gain.low) for stage in found):
        return (
            f"At which stage of a device's life taking part pays ({name}) cannot be told: that "
            f"takes two devices with errors that are finite."
        )
    stop = stops_paying(found)
    if stop == 1:
        return (
            f"Taking part never pays ({name}): at no stage of a device's life is the gain over "
            f"learning alone surely above 0."
        )
    first = next(stage for stage in found if stage.pays)
    top = max((stage for stage in found if stage.pays), key=lambda stage: stage.gain.mean)
    since = "" if first is found[0] else f" from reading {first.first:,} of a device on"
    until = "" if stop is None else f" until its reading {stop - 1:,}"
    return (
        f"Taking part pays{since + until or ' throughout'} ({name}): over learning alone it gains "
        f"most at reading {top.readings}, {interval(top.gain)} dB, and at the last ones, "
        f"{found[-1].readings}, {interval(found[-1].gain)} dB."
    )
