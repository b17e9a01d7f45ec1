"""Error against a key, a line or marks for every method; error against bytes, with its front."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from paofed.core.tariffs import Tariff
from paofed.report.shared.captions import bands
from paofed.report.shared.curves import logarithmic
from paofed.report.shared.figures import bytes_sent, literal
from paofed.report.shared.looks import Style, method_name, styles
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
from paofed.sweeping.axes import same
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
