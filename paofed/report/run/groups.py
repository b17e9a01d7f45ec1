"""Errors by group of devices: which devices gain by taking part, and which do not."""

from collections.abc import Iterator
from typing import NamedTuple

from paofed.report.run.alone import BesideAlone, OverAlone
from paofed.simulate.results.lives import Lives, OwnUnit
from paofed.simulate.results.progressive import Whose


class Group(NamedTuple):
    """How a learner fared on the devices of one group."""

    name: str
    db: float
    own: OwnUnit
    over: OverAlone


def groups(lives: Lives, name: str, whose: Whose) -> Iterator[Group]:
    """Yield how a learner fared in every group that has samples."""
    names, by = lives.groups
    db = lives.db_by(name, whose, by, len(names))
    own = lives.own_unit_by(name, whose, by, len(names))
    beside = BesideAlone(lives, name, whose)
    for g, group in enumerate(names):
        here = by == g
        if here.any():
            numbers = OwnUnit(*(float(part[g]) for part in own))
            yield Group(group, float(db[g]), numbers, beside.over_alone(here))
