"""What learning together gains over a table, for whom and when in a life, and what faults cost.

A device that has no contact may learn for itself, from zeros or from a fit of the calibration
period, keep that fit as it is, or repeat its last value. It would choose whichever is best. So the
rival is the way with the least error on the very readings that are compared, which favours the
rival a little: taking part never looks better than it is.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import BoolArray, FloatArray
from paofed.core.metrics import decibels
from paofed.durations import duration_text
from paofed.report.shared.looks import rank
from paofed.report.shared.pages import interval
from paofed.simulate.results.estimates import TIE, Estimate, Final, estimate, final, pooled_gain
from paofed.simulate.results.lives import Lives, OwnUnit
from paofed.simulate.results.places import summed
from paofed.simulate.results.progressive import WAYS, ColdStart, Progressive, Whose
from paofed.simulate.results.result import Result
from paofed.simulate.table.baselines import ALONE
from paofed.simulate.table.learners_alone import kind_of
from paofed.world.faults import FAULTS, worded

HOW = (
    "A device that takes part against the best way of being alone at that stage, on the same "
    "readings, by how many readings it has had. Errors of all devices at a stage are pooled, mean "
    "over runs. 95 % intervals, each by itself, are paired over devices (to first order, Student's "
    "t) as if these were independent: devices that share their weather are less so. Taking part "
    f"pays where the interval is above 0 and reaches beyond {TIE} dB."
)


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


_DAY, _PERIODS = 86_400.0, 50


class Newcomer(NamedTuple):
    """How devices fared that joined late, over each horizon, in dB; all starts are pooled."""

    name: str  # the algorithm
    way: str
    errors: tuple[float, ...]
    gains: tuple[Estimate, ...]  # dB over a device that never had a contact


def gain(judged: Progressive, name: str, whose: Whose, baseline: str) -> Estimate:
    """Return by how many dB a model is better than a baseline, run by run."""
    against = decibels(judged.run_finals(baseline, "baseline"))
    with np.errstate(invalid="ignore"):  # where both diverged there is no difference
        return estimate(against - decibels(judged.run_finals(name, whose)))


def newcomers(cold: ColdStart) -> Iterator[Newcomer]:
    """Yield every algorithm with each way in which the server's model can come."""
    for name in cold.algorithms.tolist():
        for way in WAYS:
            errors = cold.joined(name, way)
            yield Newcomer(name, way, tuple(cold.pooled_db(errors).tolist()), _gains(cold, errors))


def _gains(cold: ColdStart, errors: FloatArray) -> tuple[Estimate, ...]:
    """Return by how many dB pooled errors are less than those of devices alone, by horizon.

    Starts that share samples count as one.
    """
    there = cold.samples.sum(axis=-2) > 0
    alone, joined = cold.by_start(cold.alone), cold.by_start(errors)
    return tuple(
        pooled_gain(alone[some, h], joined[some, h], cold.independent(horizon))
        for h, (some, horizon) in enumerate(zip(there.T, cold.horizons.tolist(), strict=True))
    )


_SPANS = {"1d": "day", "1w": "week", "30d": "30 days"}


def horizons(result: Result, cold: ColdStart) -> list[str]:
    """Return the horizons as people say them: day, week, or so many ticks."""
    about = result.provenance["table"]
    if not about["calendar"]:
        return [f"{ticks} ticks" for ticks in cold.horizons.tolist()]
    spans = (duration_text(ticks * about["tick"]) for ticks in cold.horizons.tolist())
    return [_SPANS.get(span, span) for span in spans]


def periods(
    result: Result, judged: Progressive, name: str, whose: Whose
) -> tuple[list[datetime] | list[float], FloatArray]:
    """Return when each of about fifty periods of whole days ends, and its error in dB."""
    about = result.provenance["table"]
    day = _DAY / about["tick"] if about["calendar"] else 1.0
    length = max(day, np.ceil((result.ticks[-1] + 1) / _PERIODS / day) * day)
    period = np.minimum(result.ticks / length, _PERIODS - 1).astype(np.int64)
    begins = np.flatnonzero(np.diff(period, prepend=-1))
    ends = about["begin"] + (result.ticks[np.append(begins[1:] - 1, -1)] + 1) * about["tick"]
    curve = judged.curve_db(name, whose, begins)
    if not about["calendar"]:
        return ends.tolist(), curve
    origin = datetime(1970, 1, 1, tzinfo=UTC)
    return [origin + timedelta(seconds=end) for end in ends.tolist()], curve


class Damage(NamedTuple):
    """What faults do to one model of one algorithm, in dB."""

    name: str
    whose: Whose
    wrong: Final  # the final error with faults
    right: Final  # the final error without faults
    cost: Estimate  # the difference, run by run


def faults_of(result: Result) -> list[str]:
    """The faults of a result's scenario, as words of the command line."""
    scenario = result.provenance["scenario"]
    if not scenario.get("faults"):  # worlds of one's own have none
        return []
    return [worded(fault) for fault in FAULTS.validate_python(scenario["faults"])]


def damages(result: Result) -> list[Damage]:
    """Return the damage to all models; empty if the result has no runs without faults."""
    if result.clean is None:
        return []
    return [
        _damage(result, name, whose) for name in result.algorithms for whose in result.judged_models
    ]


def _damage(result: Result, name: str, whose: Whose) -> Damage:
    wrong, right = result.run_finals(name, whose), result.clean_finals(name, whose)
    with np.errstate(invalid="ignore"):  # where both diverged there is no difference
        cost = estimate(decibels(wrong) - decibels(right))
    return Damage(name, whose, final(wrong), final(right), cost)
