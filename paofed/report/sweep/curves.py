"""Error against a key: a line with a band for every method, or a mark for every point."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from paofed.report.shared.captions import bands
from paofed.report.shared.figures import literal
from paofed.report.shared.looks import Style, styles
from paofed.report.shared.names import method_name
from paofed.report.shared.style import styled
from paofed.report.sweep.panels import (
    MOST_PANELS,
    Heights,
    Scale,
    cases,
    heights,
    label,
    mark_above,
    marks_above,
    panels,
)
from paofed.sweeping.choice import Scored
from paofed.sweeping.swept import Swept

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
