"""Which of some points is best, how sure that is, and which points cannot be told from the best.

The best of many points is a little lucky: its score on the worlds that chose it is too good, the
more so the more points there were and the fewer worlds. Differences to the best are paired, and
their intervals hold all together with 95 % whichever point leads (Bonferroni's bound, see
`experiments.rejection`), so that luck does not decide which points are told from the best. What the
best is worth is known from fresh worlds alone.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.core.metrics import decibels
from paofed.experiments.rejection import Student, student_of_race
from paofed.experiments.sweep.points import Point
from paofed.simulate.results.estimates import Estimate, estimate

FAR = 3.0  # dB: a point that is worse by more in one world tells no more about which is best

IN_FILES = ("worlds", "db", "db_se", "low", "high")  # the names of `Scored.in_files`


class Scored(NamedTuple):
    """A point's score: the mean over worlds of its final error in dB; infinite if it diverged."""

    point: Point
    score: Estimate  # with its 95 % interval
    standard_error: float  # NaN for a single world

    @property
    def in_files(self) -> tuple[float, ...]:
        """Its numbers, as files have them."""
        score = self.score
        return score.runs, score.mean, self.standard_error, score.low, score.high

    @property
    def diverged(self) -> bool:
        """Whether the point has no finite error in some world."""
        return not np.isfinite(self.score.mean)


class Near(NamedTuple):
    """A point that cannot be told from the best, and by how much it is behind the best."""

    point: Point
    behind: Estimate  # in dB, paired; these intervals hold all together with 95 %


class Best(NamedTuple):
    """The point with the least error of some, on the worlds that it was chosen on."""

    found: Scored
    among: int  # points that took part
    diverged: int  # how many of these points diverged
    near: tuple[Near, ...]  # the nearest first
    # DB by which any other point tried can be better (95 %); below 0: none is better.
    at_most: float
    fresh: Estimate | None = None  # the point's score on worlds that had no part in the choice

    @property
    def point(self) -> Point:
        """The point itself."""
        return self.found.point


def in_db(finals: FloatArray) -> FloatArray:
    """Return linear errors by world in dB; NaN becomes infinite, since that point has diverged."""
    found = decibels(finals)
    return np.where(np.isnan(found), np.inf, found)


def scored(point: Point, values: FloatArray) -> Scored:
    """Return the score of a point with these errors in dB."""
    score = estimate(values)
    with np.errstate(invalid="ignore"):
        spread = float(values.std(ddof=1)) if values.size > 1 else np.nan
    return Scored(point, score, spread / np.sqrt(max(1, values.size)))


def best_of(points: Mapping[int, Point], values: Mapping[int, FloatArray]) -> Best:
    """Return the best of some points, by number, whose errors in dB are over the same worlds."""
    sound = [number for number in points if np.isfinite(values[number]).all()]
    if not sound:
        first = next(iter(points))
        return Best(scored(points[first], values[first]), len(points), len(points), (), np.nan)
    winner = min(sound, key=lambda number: float(values[number].mean()))
    student = student_of_race(len(points), rounds=1)
    held = {
        number: _behind(values[number] - values[winner], student)
        for number in sound
        if number != winner
    }
    near = [Near(points[number], found) for number, found in held.items() if not found.low > 0]
    ends = [np.inf if np.isnan(found.low) else -found.low for found in held.values()]
    return Best(
        found=scored(points[winner], values[winner]),
        among=len(points),
        diverged=len(points) - len(sound),
        near=tuple(sorted(near, key=lambda one: one.behind.mean)),
        at_most=float(max(ends, default=-np.inf)),
    )


def _behind(differences: FloatArray, student: Student) -> Estimate:
    """Return by how much a point is worse, from its differences by world.

    For the lower end of the interval, a difference above `FAR` counts as `FAR`. The mean of these
    differences is no more than the mean itself, so the lower end holds; and a point that blows up
    in one world of ten does not seem as if it might be far better, as the spread of such errors
    would say.
    """
    low = estimate(np.minimum(differences, FAR), student=student).low
    return estimate(differences, student=student)._replace(low=low)
