"""What the figures of a sweep have in common: a panel for each case, axes of any kind of values."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from paofed.core.arrays import FloatArray
from paofed.report.shared.curves import MOST_TICKS, logarithmic
from paofed.report.shared.figures import legend_beside, literal
from paofed.report.shared.style import Drawing
from paofed.sweeping.choice import Scored
from paofed.sweeping.points import Point, worded
from paofed.sweeping.swept import Swept
from paofed.words import MEAN_DB

MOST_PANELS = 6  # the most cases that are drawn; all cases are in the tables
ERROR = f"squared error ({MEAN_DB})"
_COLUMNS = 3
_WORST = 15.0  # dB above the best at which figures end
_MOST_LETTERS = 40  # letters below an axis before the labels are slanted
_FAR = 10.0  # values that differ by at least this factor go on a logarithmic axis


def cases(swept: Swept, but: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the cases of nature beside some keys; one case if nature was drawn at random."""
    if not swept.is_grid:
        return [{}]
    found: list[dict[str, Any]] = []
    for case in swept.cases():
        rest = {key: value for key, value in case.items() if key not in but}
        found += [] if rest in found else [rest]
    return found


def said(values: Mapping[str, Any]) -> str:
    """Write values by key in words."""
    return " ".join(f"{key}={worded(value)}" for key, value in values.items())


def settings(point: Point, case: Mapping[str, Any]) -> str:
    """Say the values of a point's keys that can be chosen, in a case."""
    return said({k: v for k, v in point.values.items() if k not in case}) or "as it is"


def panels(shown: Sequence[Mapping[str, Any]]) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel for each case; the panels share their axis of errors."""
    columns = min(_COLUMNS, len(shown))
    rows = math.ceil(len(shown) / columns)
    width, height = (5.0, 3.8) if len(shown) == 1 else (2.45 * columns, 2.6 * rows)
    figure = Drawing(figsize=(width + 2.2, height))
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel().tolist()
    for axes, case in zip(grid, shown, strict=False):
        axes.set_title(literal(said(case)), fontsize=8, loc="left")
    for axes in grid[len(shown) :]:
        axes.set_axis_off()
    return figure, grid[: len(shown)]


def label(figure: Figure, grid: Sequence[Axes], x: str, handles: Sequence[Artist]) -> None:
    """Label the axes, and put a legend beside the last panel of the first row."""
    if len(grid) == 1:
        grid[0].set_xlabel(x)
        grid[0].set_ylabel(ERROR)
    else:
        figure.supxlabel(x)
        figure.supylabel(ERROR)
    legend_beside(grid[min(len(grid), _COLUMNS) - 1], handles)


class Scale:
    """Where the values of a key are on an axis: numbers at their places, others side by side."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = list(values)
        self.is_numeric = bool(values) and all(
            isinstance(v, int | float) and not isinstance(v, bool) for v in values
        )
        self.is_log = self.is_numeric and min(values) > 0 and max(values) >= _FAR * min(values)

    def place(self, value: Any) -> float:
        """Return where a value is on the axis."""
        return float(value) if self.is_numeric else float(self._values.index(value))

    def places(self, values: Sequence[Any]) -> FloatArray:
        """Return where values are on the axis."""
        return np.array([self.place(value) for value in values])

    def put_on(self, axis: Axis) -> None:
        """Give an axis the labels and scale of these values."""
        if self.is_log:
            logarithmic(axis)
        if not self.is_numeric or len(self._values) <= MOST_TICKS:
            axis.set_ticks(
                self.places(self._values).tolist(), [literal(worded(v)) for v in self._values]
            )
        letters = sum(len(worded(value)) + 2 for value in self._values)
        if not self.is_numeric:
            room, across = 0.5 / len(self._values), isinstance(axis, XAxis)
            axis.axes.margins(x=room if across else None, y=None if across else room)
            if letters > _MOST_LETTERS and across:
                axis.set_tick_params(labelrotation=30, labelsize=8)


class Heights(NamedTuple):
    """How far up a figure goes: errors that are worse are marked at its top."""

    most: float  # errors up to this are drawn at their place, in dB
    top: float  # where the marks of all others are, in dB

    def is_above(self, error: float) -> bool:
        """Whether an error is too large to be drawn at its place."""
        return not error <= self.most


def heights(grid: Sequence[Axes], found: Sequence[Scored], *, bands: bool) -> Heights:
    """Make room for all errors but those that are far worse than the best, and for any bands."""
    errors = [one.score.mean for one in found if not one.diverged]
    best = min(errors, default=0.0)
    drawn = [error for error in errors if error <= best + _WORST]
    worst = max(drawn, default=1.0)
    room = max(worst - best, 0.5)
    scores = [one.score for one in found] if bands else []
    ends = [end for one in scores for end in (one.low, one.high) if math.isfinite(end)]
    # A band of few worlds is so wide that the curves would be flat beside it.
    low = min(best - 0.08 * room, max(min(ends, default=best), best - room / 2))
    high = max(worst + 0.08 * room, min(max(ends, default=worst), worst + room / 2))
    beyond = len(drawn) < len(found)
    grid[0].set_ylim(low, high + 0.12 * (high - low) * beyond)
    return Heights(worst, high + 0.05 * (high - low))


def marks_above(found: Sequence[Scored], up_to: Heights) -> list[Line2D]:
    """Return the legend's entries for marks at the top."""
    gone = any(one.diverged for one in found)
    worse = any(up_to.is_above(one.score.mean) and not one.diverged for one in found)
    marks = [(gone, "x", "diverged"), (worse, "^", f"worse than {up_to.most:.1f} dB")]
    return [
        Line2D([], [], ls="none", marker=mark, color="#555555", ms=5, label=told)
        for there, mark, told in marks
        if there
    ]


def mark_above(
    axes: Axes, x: Sequence[float], found: Sequence[Scored], up_to: Heights, colour: str
) -> None:
    """Mark at the top the errors that are too large to be drawn at their place."""
    for at, one in zip(x, found, strict=True):
        if up_to.is_above(one.score.mean):
            mark = "x" if one.diverged else "^"
            axes.plot([at], [up_to.top], color=colour, ls="none", marker=mark, ms=5)
