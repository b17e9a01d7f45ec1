"""Error against bytes: a mark for every point, and the least error for so many bytes."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from paofed.core.tariffs import Tariff
from paofed.report.shared.curves import logarithmic
from paofed.report.shared.figures import bytes_sent
from paofed.report.shared.looks import styles
from paofed.report.shared.names import method_name
from paofed.report.shared.style import styled
from paofed.report.sweep.panels import (
    MOST_PANELS,
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
