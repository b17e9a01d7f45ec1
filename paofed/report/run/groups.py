"""Errors by group of devices: whom taking part serves, and whom not."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from paofed.report.run.gains import pooled_gain
from paofed.simulate.results.estimates import Estimate
from paofed.simulate.results.lives import Lives, OwnUnit
from paofed.simulate.results.places import summed
from paofed.simulate.results.progressive import Whose


class Group(NamedTuple):
    """How a learner fared on the devices of one group."""

    name: str
    devices: int
    samples: int
    db: float
    own: OwnUnit
    gain: Estimate  # over learning alone, paired over the devices of the group


def groups(lives: Lives, name: str, whose: Whose) -> Iterator[Group]:
    """A learner in every group that has samples."""
    names, by = lives.groups
    db = lives.db_by(name, whose, by, len(names))
    own = lives.own_unit_by(name, whose, by, len(names))
    alone = lives.mean_sums("alone", "baseline").squared if lives.has_alone else None
    mine, count = lives.mean_sums(name, whose).squared, len(lives.group)
    for g, group in enumerate(names):
        here = by == g
        devices = np.unique(lives.device[here])
        if devices.size:
            gain = Estimate(np.nan, np.nan, np.nan, devices.size)
            if alone is not None:
                gain = pooled_gain(
                    *(summed(e[here], lives.device[here], count)[devices] for e in (alone, mine))
                )
            numbers = OwnUnit(*(float(part[g]) for part in own))
            samples = int(lives.samples[here].sum())
            yield Group(group, devices.size, samples, float(db[g]), numbers, gain)
