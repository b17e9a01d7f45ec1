"""How far a predicted error is from that of runs, and from where on a prediction is refused."""

from typing import NamedTuple, Self

import numpy as np

from paofed.core.arrays import FloatArray, IntArray
from paofed.core.metrics import decibels
from paofed.table import give_or_take
from paofed.words import counted

MOST_GAP = 0.5  # dB; a prediction that is further from runs is refused
_BEGUN = 50  # the tick from which on gaps count
_CLEARLY = 2  # standard errors from MOST_GAP, on either side
_PER_RELATIVE = 10.0 / np.log(10.0)  # dB for a small relative difference of errors


class Gap(NamedTuple):
    """An estimate of a prediction's own error: its largest distance from the mean of some runs.

    Near the largest stable step, a run in hundreds is far above all others. Before it comes, the
    mean of the runs is too low and its standard error too small, so a gap is then unreliable.
    """

    db: float  # predicted minus simulated at `tick`; not finite if only one of them diverged
    tick: int
    error: float  # standard error of the simulated curve at `tick`, in dB; NaN for a single run
    runs: int  # how many runs it was held against

    @classmethod
    def largest(cls, ticks: IntArray, predicted: FloatArray, runs: FloatArray) -> Self:
        """Return the largest gap of an error `predicted` at `ticks` (P,) to that of `runs` (R, P).

        Ticks before the 50th do not count where there are later ones.
        """
        number = len(runs)
        with np.errstate(over="ignore", invalid="ignore"):
            mean = runs.mean(axis=0)
            scatter = runs.std(axis=0, ddof=1) if number > 1 else np.full(mean.shape, np.nan)
        return cls.of_means(ticks, predicted, mean, scatter / np.sqrt(number), number)

    @classmethod
    def of_means(
        cls, ticks: IntArray, predicted: FloatArray, mean: FloatArray, errors: FloatArray, runs: int
    ) -> Self:
        """Return the same from the runs' mean errors (P,) with their standard errors (P,)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            told, simulated = decibels(predicted), decibels(mean)
            any_left = np.isfinite(told) | np.isfinite(simulated)
            gaps = np.where(any_left, told - simulated, 0.0)  # diverged, as predicted: none
            relative = errors / mean
        late = ticks >= min(_BEGUN, ticks[-1])
        at = int(np.argmax(np.where(late, np.abs(gaps), -1.0)))  # argmax takes NaN for the largest
        return cls(float(gaps[at]), int(ticks[at]), float(_PER_RELATIVE * relative[at]), runs)

    @classmethod
    def lost(cls, tick: int, chosen: FloatArray, others: FloatArray) -> Self:
        """Return by how much `chosen` runs (R,) end above the best of `others` (A, R), in pairs.

        It is 0 where they do not.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            means = np.nan_to_num(others.mean(axis=1), nan=np.inf)
            best = int(np.argmin(means))
            db = float(decibels(chosen.mean()) - decibels(means[best]))
            apart = chosen / chosen.mean() - others[best] / means[best]
            error = float(_PER_RELATIVE * apart.std(ddof=1) / np.sqrt(apart.size))
        return cls(max(db, 0.0), tick, error, apart.size)

    @property
    def refused(self) -> bool:
        """Whether the prediction is too far off to be shown."""
        return not abs(self.db) <= MOST_GAP

    @property
    def clear(self) -> bool:
        """Whether more runs would hardly change on which side of MOST_GAP it is."""
        return not abs(abs(self.db) - MOST_GAP) <= _CLEARLY * self.error

    def __str__(self) -> str:
        return give_or_take(self.db, self.error, sign="+")

    def refusal(self, what: str) -> str:
        """Say why `what` is refused: how far off it is, and what to do."""
        if not np.isfinite(self.db):
            far = f"at tick {self.tick} either it or the runs diverged, and not both"
        else:
            runs = counted(self.runs, "run")
            far = f"at tick {self.tick} it is {self} dB from {runs}, more than {MOST_GAP:g}"
        if not self.clear:
            return f"{what} is refused: {far}; the runs may be as far off, and more would tell"
        return (
            f"{what} is refused: {far}; take a smaller step size, more frequent contacts or inputs "
            f"with less memory, or simulate"
        )
