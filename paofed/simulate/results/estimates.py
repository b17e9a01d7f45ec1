"""A mean over runs: its standard error or its interval, and the verdict that follows from it."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray, IntArray
from paofed.core.metrics import decibels

Verdict = Literal["holds", "does not hold", "tie", "inconclusive"]
TIE = 0.1  # dB: an interval from no less than -TIE to no more than TIE is a tie
FINAL_SHARE = 0.05  # the final error is the mean over the last 5 % of the ticks


class Estimate(NamedTuple):
    """A mean over runs with its interval, a 95 % interval unless another was asked for."""

    mean: float
    low: float
    high: float
    runs: int

    @property
    def verdict(self) -> Verdict:
        """The verdict of the interval on the claim that the mean is positive."""
        if max(-self.low, self.high) <= TIE:
            return "tie"
        if self.low > 0:
            return "holds"
        return "does not hold" if self.high < 0 else "inconclusive"

    def above(self, level: float) -> "Estimate":
        """Return the estimate with `level` added: for a quantity of which this is the excess."""
        return Estimate(self.mean + level, self.low + level, self.high + level, self.runs)


class Count(Estimate):
    """An estimate of something counted: chance has no part in it, and reaching 0 is enough."""

    @property
    def verdict(self) -> Verdict:
        """The verdict: the claim holds where no number is below 0, up to rounding."""
        return "holds" if self.low >= -1e-9 else "does not hold"


def estimate(
    differences: FloatArray,
    independent: int | None = None,
    student: Callable[[int], float] | None = None,
) -> Estimate:
    """Return mean and interval of differences (Student's t); a single one has no interval (NaN).

    Where differences share samples, `independent` says as how many independent ones they count.
    `student` gives the point of Student's t where the interval ends, by degrees of freedom; None:
    that of a 95 % interval.
    """
    runs = differences.size
    with np.errstate(invalid="ignore"):  # a run that diverged has no finite error
        mean = float(differences.mean()) if runs else np.nan
        count = runs if independent is None else min(runs, independent)
        if count < 2:
            return Estimate(mean, np.nan, np.nan, runs)
        half = (student or student_95)(count - 1) * float(differences.std(ddof=1)) / np.sqrt(count)
    return Estimate(mean, mean - half, mean + half, runs)


def pooled_gain(alone: FloatArray, joined: FloatArray, independent: int | None = None) -> Estimate:
    """Estimate by how many dB the sum of errors `joined` (n,) is below that of `alone` (n,).

    The errors are pairs, such as those of one device with a fleet and alone. In a mean of the gains
    of pairs, a pair that is easy to predict would count as much as any other. To first order the
    gain of the sums is a mean, too: of what each pair adds to it. So it has an interval. Where
    pairs share samples, `independent` says as how many independent ones they count.
    """
    with np.errstate(invalid="ignore", divide="ignore"):  # diverged, or without any error
        sums = [np.nan_to_num(part.sum(), nan=np.inf, posinf=np.inf) for part in (alone, joined)]
        gain = float(decibels(sums[0]) - decibels(sums[1]))
        shares = alone / sums[0] - joined / sums[1]
    if not np.isfinite(gain):
        return Estimate(gain, np.nan, np.nan, alone.size)
    return estimate(gain + NEPERS * alone.size * shares, independent)


_STUDENT_95 = {1: 12.706, 2: 4.303, 3: 3.182}


def student_95(freedom: int) -> float:
    """Return the 97.5 % point of Student's t: Fisher and Cornish's expansion in 1 / freedom."""
    if freedom in _STUDENT_95:  # the expansion is not exact enough there
        return _STUDENT_95[freedom]
    z, v = 1.959963985, float(freedom)
    return (
        z
        + (z**3 + z) / (4 * v)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * v**4)
    )


NEPERS = 10.0 / np.log(10.0)  # d(dB) / d(log mse): turns a relative error into dB


class Final(NamedTuple):
    """An error in dB, with the standard error of its mean over runs."""

    db: float
    standard_error: float  # NaN for a single run


def over_runs(values: FloatArray) -> tuple[Any, Any]:
    """Return the mean over the first axis and its standard error."""
    runs = len(values)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = values.mean(axis=0)
        spread = values.std(axis=0, ddof=1) if runs > 1 else np.full_like(mean, np.nan)
    return mean, spread / np.sqrt(runs)


def over_runs_db(values: FloatArray) -> tuple[Any, Any]:
    """Mean of linear errors over the first axis, and its standard error to first order, in dB."""
    mean, error = over_runs(values)
    with np.errstate(invalid="ignore"):  # where the mean is 0 or infinite it has no relative error
        return decibels(mean), NEPERS * error / mean


def final_ticks(ticks: IntArray) -> int:
    """Return how many ticks at the end of a curve with points at `ticks` have the final error."""
    return max(1, round(FINAL_SHARE * (int(ticks[-1]) + 1)))


def final(values: FloatArray) -> Final:
    """Return the mean of linear errors, one per run, in dB; its standard error is first order."""
    db, error = over_runs_db(values)
    return Final(float(db), float(error))
