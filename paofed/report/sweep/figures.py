"""Error against a key, over two keys, and against bytes with the front that methods reach."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from paofed.core.arrays import FloatArray
from paofed.core.tariffs import Tariff
from paofed.report.shared.captions import bands
from paofed.report.shared.curves import logarithmic
from paofed.report.shared.figures import bytes_sent, literal
from paofed.report.shared.looks import Style, method_name, styles
from paofed.report.shared.style import Drawing, styled
from paofed.report.sweep.panels import (
    ERROR,
    MOST_PANELS,
    Heights,
    Scale,
    cases,
    heights,
    label,
    mark_above,
    marks_above,
    panels,
    said,
)
from paofed.sweeping.axes import same
from paofed.sweeping.choice import Scored
from paofed.sweeping.points import worded
from paofed.sweeping.swept import SweepMap, Swept

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


_MOST_CASES = 3  # the most columns of panels
_MOST_NUMBERS = 120  # with at most so many cells, each shows its number
# The share of errors that have a colour of their own, and the least range in dB.
_SHOWN, _LEAST = 0.75, 0.5
Frames = Literal["one", "rows", "columns", "none"]  # which of the cells are framed as the best
_MINUS = "\N{MINUS SIGN}"  # as on the axes
_COLOURS = "viridis_r"  # the darker, the worse; readable for all, and in grey


@styled
def over_two(swept: Swept, across: str, down: str) -> Figure | None:
    """Draw the error over two keys; None where no method has both."""
    methods = [m for m in swept.methods if _has(swept, m, across) and _has(swept, m, down)]
    shown = cases(swept, but=(across, down))[:_MOST_CASES]
    if not methods:
        return None
    panels = list(product(methods, shown))
    columns = len(shown) if len(shown) > 1 else min(_MOST_CASES, len(methods))
    rows = math.ceil(len(panels) / columns)
    figure = Drawing(figsize=(1.4 + 2.7 * columns, 0.5 + 2.6 * rows))
    grid = figure.subplots(rows, columns, squeeze=False)
    colours, frames = _colours(swept, methods), _frames(swept, across, down)
    for axes, (method, case) in zip(grid.flat, panels, strict=False):
        if swept.is_grid:
            _cells(axes, swept.map(across, down, method, case), colours, frames)
        else:
            _marks(axes, swept, method, across, down, colours)
        title = ", ".join(filter(None, (method_name(method), said(case))))
        axes.set_title(literal(title), fontsize=9, loc="left")
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    figure.supxlabel(literal(across))
    figure.supylabel(literal(down))
    bar = figure.colorbar(ScalarMappable(colours, _COLOURS), ax=grid, shrink=0.8, extend="max")
    bar.set_label(ERROR)
    return figure


def _has(swept: Swept, method: str, key: str) -> bool:
    return len(swept.values(key, method)) > 1


def _colours(swept: Swept, methods: Sequence[str]) -> Normalize:
    """Return colours for three quarters of all errors; the worst, far off, share one."""
    points = [point for point in swept.points if point.method in methods]
    errors = [swept.score(point).score.mean for point in points]
    finite = [error for error in errors if math.isfinite(error)] or [0.0]
    low = min(finite)
    return Normalize(low, max(low + _LEAST, float(np.quantile(finite, _SHOWN))), clip=True)


def _cells(axes: Axes, found: SweepMap, colours: Normalize, frames: Frames) -> None:
    """Draw a cell for each pair of values, with its number; the best has a frame."""
    finite = np.where(np.isfinite(found.db), found.db, np.nan)
    axes.imshow(finite, cmap=_COLOURS, norm=colours, origin="lower", aspect="auto")
    for j, i in np.argwhere(np.isposinf(found.db)).tolist():
        axes.add_patch(Rectangle((i - 0.5, j - 0.5), 1, 1, fc="#eeeeee", ec="#999999", hatch="///",
                                 lw=0))  # fmt: skip
    if found.db.size <= _MOST_NUMBERS:
        _numbers(axes, found.db, colours)
    for j, i in _least(finite, frames):
        axes.add_patch(Rectangle((i - 0.5, j - 0.5), 1, 1, fill=False, ec="#D55E00", lw=2))
    axes.set_xticks(range(len(found.across)), [literal(worded(v)) for v in found.across])
    axes.set_yticks(range(len(found.down)), [literal(worded(v)) for v in found.down])
    axes.grid(visible=False)
    axes.tick_params(length=0, labelsize=8)
    if sum(len(worded(value)) + 2 for value in found.across) > 45:
        axes.tick_params(axis="x", labelrotation=40)
    axes.spines[:].set_visible(False)


def _least(finite: FloatArray, frames: Frames) -> Iterator[tuple[int, int]]:
    """Yield where the least error is: of all cells, of every row or of every column."""
    rows, columns = (np.arange(size) for size in finite.shape)
    parts = {
        "one": [(rows, columns)],
        "rows": [(rows[j : j + 1], columns) for j in rows],
        "columns": [(rows, columns[i : i + 1]) for i in columns],
        "none": [],
    }
    for down, across in parts[frames]:
        part = finite[np.ix_(down, across)]
        if np.isfinite(part).any():
            j, i = np.unravel_index(np.nanargmin(part), part.shape)
            yield int(down[j]), int(across[i])


def _frames(swept: Swept, across: str, down: str) -> Frames:
    """Return which cells are compared: values that nature decides are not compared."""
    given = across in swept.conditions, down in swept.conditions
    names: dict[tuple[bool, bool], Frames] = {
        (False, False): "one", (False, True): "rows", (True, False): "columns",
    }  # fmt: skip
    return names.get(given, "none")


def _numbers(axes: Axes, db: Any, colours: Normalize) -> None:
    for (j, i), value in np.ndenumerate(db):
        if np.isposinf(value):
            axes.text(i, j, "diverged", ha="center", va="center", fontsize=8, color="#444444")
        elif np.isfinite(value):
            colour = "white" if float(colours(value)) > 0.5 else "black"
            said = f"{value:.1f}".replace("-", _MINUS)
            axes.text(i, j, said, ha="center", va="center", fontsize=8, color=colour)


def _marks(
    axes: Axes, swept: Swept, method: str, across: str, down: str, colours: Normalize
) -> None:
    """Draw a mark for each point of a random design."""
    xs, ys = Scale(swept.values(across)), Scale(swept.values(down))
    sound, gone = list[Mapping[str, Any]](), list[Mapping[str, Any]]()
    errors = []
    for point in swept.points:
        one = swept.score(point)
        if point.method == method and one.score.runs:
            (gone if one.diverged else sound).append(point.values)
            errors += [] if one.diverged else [one.score.mean]
    xs.put_on(axes.xaxis)
    ys.put_on(axes.yaxis)
    x, y = (s.places([v[key] for v in sound]) for s, key in ((xs, across), (ys, down)))
    axes.scatter(x, y, c=errors, cmap=_COLOURS, norm=colours, s=34, edgecolors="#555555", lw=0.3)
    x, y = (s.places([v[key] for v in gone]) for s, key in ((xs, across), (ys, down)))
    axes.scatter(x, y, c="#555555", marker="x", s=26)
    axes.grid(visible=False)
    axes.tick_params(labelsize=8)
