"""Figures of a sweep: error against a key, and against bytes with the front that is reached."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from paofed.core.arrays import FloatArray
from paofed.core.tariffs import Tariff
from paofed.experiments.sweep.axes import same
from paofed.experiments.sweep.choice import Scored
from paofed.experiments.sweep.points import worded
from paofed.experiments.sweep.swept import Swept
from paofed.report.shared.figures import MOST_TICKS, bytes_sent, legend_beside, literal, logarithmic
from paofed.report.shared.looks import Style, bands, method_name, styles
from paofed.report.shared.style import Drawing, styled
from paofed.report.sweep.words import said
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


_ASIDE = 0.1  # distance between marks of two methods, on an axis of words

Curve = list[tuple[Any, Scored]]


@styled
def against(swept: Swept, key: str) -> Figure:
    """Draw the error of all methods against a key."""
    shown = cases(swept, but=(key,))[:MOST_PANELS]
    curves = [{m: _curve(swept, key, m, case) for m in swept.methods} for case in shown]
    figure, grid = panels(shown)
    found = [one for by_method in curves for curve in by_method.values() for _, one in curve]
    up_to = heights(grid, found, bands=True)
    scale, looks = Scale(swept.values(key)), styles(swept.methods)
    as_lines = swept.is_grid and scale.is_numeric
    for axes, by_method in zip(grid, curves, strict=True):
        scale.put_on(axes.xaxis)
        for number, (method, curve) in enumerate(by_method.items()):
            # Marks of several methods at one place stand side by side.
            aside = 0.0 if scale.is_numeric else _ASIDE * (number - (len(looks) - 1) / 2)
            _draw(axes, scale, curve, looks[method], up_to, aside, lines=as_lines)
    handles = [*_handles(looks, found, lines=as_lines), *marks_above(found, up_to)]
    label(figure, grid, literal(key), handles)
    return figure


def _curve(swept: Swept, key: str, method: str, case: Mapping[str, Any]) -> Curve:
    """Return the curve of a method; for a random design, all of its points."""
    if swept.is_grid or not swept.values(key, method):
        return swept.curve(key, method, case)
    mine = [swept.score(point) for point in swept.points if point.method == method]
    return [(one.point.values[key], one) for one in mine if one.score.runs]


def _draw(
    axes: Axes,
    scale: Scale,
    curve: Curve,
    look: Style,
    up_to: Heights,
    aside: float,
    *,
    lines: bool,
) -> None:
    """Draw one method: as a line with a band, or as marks with bars."""
    if [value for value, _ in curve] == [None]:  # the method does not have this key
        axes.axhline(curve[0][1].score.mean, color=look.colour, ls=look.dashes, lw=0.9, alpha=0.8)
        return
    mark_above(axes, [scale.place(value) + aside for value, _ in curve],
               [one for _, one in curve], up_to, look.colour)  # fmt: skip
    drawn = [(value, one) for value, one in curve if not up_to.is_above(one.score.mean)]
    x = scale.places([value for value, _ in drawn]) + aside
    y, low, high = (
        np.array([getattr(one.score, part) for _, one in drawn]) for part in ("mean", "low", "high")
    )
    if lines:
        axes.plot(x, y, color=look.colour, ls=look.dashes, lw=1.4, marker="o", ms=3.5)
        axes.fill_between(x, low, high, color=look.colour, alpha=0.13, lw=0)
    else:
        axes.errorbar(x, y, np.nan_to_num((high - low) / 2), color=look.colour, ls="none",
                      marker="o", ms=3.5, elinewidth=0.6, alpha=0.75)  # fmt: skip


def _handles(
    looks: Mapping[str, Style], found: Sequence[Scored], *, lines: bool
) -> Iterator[Artist]:
    for method, look in looks.items():
        dashes = look.dashes if lines else "none"
        yield Line2D([], [], color=look.colour, ls=dashes, lw=1.4, marker="o", ms=3.5,
                     label=method_name(method))  # fmt: skip
    worlds = max((one.score.runs for one in found), default=0)
    if worlds > 1:
        said = bands(worlds).replace("run", "world")
        yield (
            Patch(color="#777777", alpha=0.3, lw=0, label=said)
            if lines
            else Line2D([], [], color="#777777", lw=0.6, label=said.replace("bands", "bars"))
        )


_FRONT = "#888888"


class _Placed(NamedTuple):
    megabytes: float
    found: Scored

    @property
    def error(self) -> float:
        return self.found.score.mean


@styled
def against_bytes(swept: Swept, tariff: Tariff) -> Figure:
    """Draw what all points reach for their bytes under a tariff."""
    shown = cases(swept)[:MOST_PANELS]
    placed = [_placed(swept, case, tariff) for case in shown]
    figure, grid = panels(shown)
    found = [one.found for part in placed for one in part]
    up_to, looks = heights(grid, found, bands=False), styles(swept.methods)
    for axes, part in zip(grid, placed, strict=True):
        logarithmic(axes.xaxis)
        _draw_front(axes, part)
        for method, look in looks.items():
            mine = [one for one in part if one.found.point.method == method]
            drawn = [one for one in mine if not up_to.is_above(one.error)]
            axes.plot([one.megabytes for one in drawn], [one.error for one in drawn], ls="none",
                      marker="o", ms=4, color=look.colour, alpha=0.75, mew=0)  # fmt: skip
            sent, errors = [one.megabytes for one in mine], [one.found for one in mine]
            mark_above(axes, sent, errors, up_to, look.colour)
    handles: list[Artist] = [
        Line2D([], [], ls="none", marker="o", ms=4, color=look.colour, label=method_name(method))
        for method, look in looks.items()
    ]
    handles.append(Line2D([], [], color=_FRONT, lw=0.9, label="least error for so many bytes"))
    label(figure, grid, bytes_sent(tariff), [*handles, *marks_above(found, up_to)])
    return figure


def _placed(swept: Swept, case: Mapping[str, Any], tariff: Tariff) -> list[_Placed]:
    found = []
    for point in swept.points:
        if all(same(point.values[key], value) for key, value in case.items()):
            one = swept.score(point)
            if one.score.runs:
                found.append(_Placed(swept.bytes(point, tariff) / 1e6, one))
    return found


def _draw_front(axes: Axes, placed: Sequence[_Placed]) -> None:
    """Draw steps down from the fewest bytes on, wherever the error falls."""
    sound = [one for one in placed if not one.found.diverged]
    leading: list[_Placed] = []
    for one in sorted(sound, key=lambda one: (one.megabytes, one.error)):
        if not leading or one.error < leading[-1].error:
            leading.append(one)
    if leading:
        x = [one.megabytes for one in leading] + [max(one.megabytes for one in sound)]
        y = [one.error for one in leading] + [leading[-1].error]
        axes.step(x, y, where="post", color=_FRONT, lw=0.9, zorder=0)
