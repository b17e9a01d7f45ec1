"""What learning together gains over a table: for old devices, for the server, for newcomers."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.metrics import decibels
from paofed.report.claims import Estimate, estimate
from paofed.simulate.progressive import WAYS, ColdStart, Progressive, Whose
from paofed.simulate.result import Result
from paofed.world.table.columns import duration_text

_DAY, _PERIODS = 86_400.0, 50


class Newcomer(NamedTuple):
    """How devices fared that joined late, over each horizon; mean over starts, in dB."""

    name: str  # the algorithm
    way: str
    errors: tuple[float, ...]
    gains: tuple[Estimate, ...]  # over a device that never had a contact, start by start


def gain(judged: Progressive, name: str, whose: Whose, baseline: str) -> Estimate:
    """By how many dB a model is better than a baseline, run by run."""
    against = decibels(judged.run_finals(baseline, "baseline"))
    with np.errstate(invalid="ignore"):  # where both diverged there is no difference
        return estimate(against - decibels(judged.run_finals(name, whose)))


def newcomers(cold: ColdStart) -> Iterator[Newcomer]:
    """Every algorithm, by the ways in which the server's model can come."""
    alone = by_start(cold, cold.alone)
    for a, name in enumerate(cold.algorithms.tolist()):
        for w, way in enumerate(WAYS):
            joined = by_start(cold, cold.errors[:, a, w])
            with np.errstate(invalid="ignore"):  # where both diverged there is no difference
                gains = alone - joined
            yield Newcomer(name, way, over_starts(joined), _estimates(cold, gains))


def by_start(cold: ColdStart, errors: FloatArray) -> FloatArray:
    """Errors (..., S, K, H) in dB by start and horizon: NaN without samples, inf if diverged."""
    db = cold.by_start_db(errors)
    return np.where(np.isnan(db) & (cold.samples.sum(axis=-2) > 0), np.inf, db)


def over_starts(by_start_db: FloatArray) -> tuple[float, ...]:
    """Errors (S, H) in dB as their mean over starts; one without samples does not count."""
    return tuple(estimate(column[~np.isnan(column)]).mean for column in by_start_db.T)


def _estimates(cold: ColdStart, by_start_db: FloatArray) -> tuple[Estimate, ...]:
    """By horizon; starts that share samples do not count as several."""
    return tuple(
        estimate(column[~np.isnan(column)], cold.independent(horizon))
        for column, horizon in zip(by_start_db.T, cold.horizons.tolist(), strict=True)
    )


_SPANS = {"1d": "day", "1w": "week", "30d": "30 days"}


def horizons(result: Result, cold: ColdStart) -> list[str]:
    """The horizons as people say them: day, week, or so many ticks."""
    about = result.provenance["table"]
    if not about["calendar"]:
        return [f"{ticks} ticks" for ticks in cold.horizons.tolist()]
    spans = (duration_text(ticks * about["tick"]) for ticks in cold.horizons.tolist())
    return [_SPANS.get(span, span) for span in spans]


def periods(
    result: Result, judged: Progressive, name: str, whose: Whose
) -> tuple[list[datetime] | list[float], FloatArray]:
    """Error over time in dB, in about fifty periods of whole days, and when each of them ends."""
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
