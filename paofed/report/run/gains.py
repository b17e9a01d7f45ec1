"""What learning together gains over a table, for whom, and what faults cost every algorithm."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.metrics import decibels
from paofed.simulate.results.estimates import Estimate, Final, estimate, final, pooled_gain
from paofed.simulate.results.progressive import MODELS, WAYS, ColdStart, Progressive, Whose
from paofed.simulate.results.result import Result
from paofed.world.faults import FAULTS, worded
from paofed.world.table.columns import duration_text

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
    if not scenario.get("faults"):  # worlds of one's own and earlier results have none
        return []
    return [worded(fault) for fault in FAULTS.validate_python(scenario["faults"])]


def damages(result: Result) -> list[Damage]:
    """Return the damage to all models; empty if the result has no runs without faults."""
    if result.clean is None:
        return []
    models = MODELS if result.progressive is not None else MODELS[1:]
    return [_damage(result, name, whose) for name in result.algorithms for whose in models]


def _damage(result: Result, name: str, whose: Whose) -> Damage:
    judged = result.progressive
    wrong = result.run_finals(name) if judged is None else judged.run_finals(name, whose)
    right = result.clean_finals(name, whose)
    with np.errstate(invalid="ignore"):  # where both diverged there is no difference
        cost = estimate(decibels(wrong) - decibels(right))
    return Damage(name, whose, final(wrong), final(right), cost)
