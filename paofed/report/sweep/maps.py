"""Maps of a sweep: the error over two keys, in cells or as marks in colour."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from paofed.core.arrays import FloatArray
from paofed.experiments.sweep.points import worded
from paofed.experiments.sweep.swept import SweepMap, Swept
from paofed.report.shared.figures import literal
from paofed.report.shared.looks import method_name
from paofed.report.shared.style import Drawing, styled
from paofed.report.sweep.figures import ERROR, Scale, cases
from paofed.report.sweep.words import said

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
