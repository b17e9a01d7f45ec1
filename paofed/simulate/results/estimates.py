"""A mean over runs with its interval, and what it says of a claim."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.metrics import decibels
from paofed.simulate.results.statistics import NEPERS

Verdict = Literal["holds", "does not hold", "tie", "inconclusive"]
TIE = 0.1  # dB: an interval inside +- this is a tie, whatever its sign


class Estimate(NamedTuple):
    """A mean over runs with its interval, of 95 % unless it is said to be another."""

    mean: float
    low: float
    high: float
    runs: int

    @property
    def verdict(self) -> Verdict:
        """What the interval says of the claim that the mean is positive."""
        if max(-self.low, self.high) <= TIE:
            return "tie"
        if self.low > 0:
            return "holds"
        return "does not hold" if self.high < 0 else "inconclusive"

    def above(self, level: float) -> "Estimate":
        """The same with a level added: the quantity itself, where this is its excess over one."""
        return Estimate(self.mean + level, self.low + level, self.high + level, self.runs)


class Count(Estimate):
    """The same for something counted: chance has no part in it, and to reach a level is enough."""

    @property
    def verdict(self) -> Verdict:
        """Whether the level was reached, up to rounding."""
        return "holds" if self.low >= -1e-9 else "does not hold"


def estimate(
    differences: FloatArray,
    independent: int | None = None,
    student: Callable[[int], float] | None = None,
) -> Estimate:
    """Mean and interval of differences (Student's t); no interval of a single one.

    Where they overlap, `independent` says as how many of them they count. `student` gives the
    point of Student's t where the interval ends, by degrees of freedom; None: that of 95 %.
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
    """By how many dB the sum of errors is less than that of others, pair by pair (n,).

    A mean of gains by pair would let one that is easy to predict count as much as all others. To
    first order the gain of the sums is a mean over pairs, too, of what each adds to it: so it has
    an interval. Where pairs overlap, `independent` says as how many of them they count.
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
    """The 97.5 % point of Student's t, by the expansion of Fisher and Cornish in 1 / freedom."""
    if freedom in _STUDENT_95:  # too few for the expansion
        return _STUDENT_95[freedom]
    z, v = 1.959963985, float(freedom)
    return (
        z
        + (z**3 + z) / (4 * v)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * v**4)
    )
