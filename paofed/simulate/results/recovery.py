"""How error curves recover once the target has changed."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray, IntArray
from paofed.core.metrics import decibels
from paofed.simulate.results.estimates import final_ticks

RECOVERED_DB = 1.0  # a curve has recovered when it is at most this far above its error before


class Recovery(NamedTuple):
    """How the mean curve recovered from one drift; errors are infinite where it has diverged."""

    tick: int  # the first tick whose samples have a changed target
    before_db: float  # mean over the last 5 % of all ticks before; NaN without a point before
    worst_db: float  # largest error until the next drift or the end; NaN without a point there
    ticks: int | None  # from the end of the drift until within 1 dB of `before_db`; None: never


def recoveries(
    ticks: IntArray, mean: FloatArray, drifts: Sequence[int], takes: int
) -> list[Recovery]:
    """Return how a linear mean curve recovered from every drift, each of which took some ticks."""
    mean = np.where(np.isfinite(mean), mean, np.inf)
    longer = max(takes, 1) - 1  # a drift of one tick is done in its first
    ends = [*drifts[1:], int(ticks[-1]) + 1]
    done = [begin + longer for begin in drifts]
    times = zip([0, *done], drifts, done, ends, strict=False)
    return [_recovery(ticks, mean, *drift) for drift in times]


def _recovery(
    ticks: IntArray, mean: FloatArray, past: int, begin: int, done: int, end: int
) -> Recovery:
    since = max(past, begin - final_ticks(ticks))  # what another drift did does not count
    early, first, arrived, beyond = np.searchsorted(ticks, (since, begin, done, end))
    # Where the 5 % hold no point of the curve, the last one before them will do.
    before = mean[max(min(early, first - 1), 0) : first]
    after = mean[first:beyond]
    usual = before.mean() if before.size else np.nan
    worst = after.max() if after.size else np.nan
    there = mean[arrived:beyond]
    near = np.isfinite(there) & (there <= 10 ** (RECOVERED_DB / 10) * usual)
    back = ticks[arrived:beyond][near]
    return Recovery(
        tick=begin,
        before_db=float(decibels(usual)),
        worst_db=float(decibels(worst)),
        ticks=int(back[0]) - done if back.size else None,
    )
