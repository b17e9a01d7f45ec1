"""Error against bytes: a panel for every setting, a mark for every entrant and budget."""

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paofed.core.tariffs import tariff_of
from paofed.report.compare.judged import Judged
from paofed.report.compare.lineup import PAO_FED
from paofed.report.shared.figures import bytes_sent
from paofed.report.shared.style import Drawing, styled

_COLUMNS = 4
_NOTICEABLE = 0.1  # dB: an entrant leads only if it is better by more than this
_HEIGHT, _LINE = 150, 7  # points: about the height of a panel's axes, and of a name
_OURS, _LEADING, _OTHERS = "#D55E00", "#0072B2", "#AAAAAA"


def figures(found: Sequence[Judged]) -> dict[str, tuple[str, Figure]]:
    """Return one figure for each tariff, with its caption, by name."""
    tariffs = dict.fromkeys(one.purse.tariff for one in found)
    return {
        f"compare-{number}": (caption(tariff), error_against_bytes(found, tariff))
        for number, tariff in enumerate(tariffs, 1)
    }


def caption(tariff: str) -> str:
    """Return the caption of the figure of one tariff."""
    told = tariff_of(tariff)
    return (
        f"Error against what fleet and server send in a run ({told.words or told.name}). One mark "
        f"for what an entrant chose for a budget; the line is the least error for so many bytes, "
        f"and whoever lowers it by {_NOTICEABLE} dB is named. What is worse than a panel shows is "
        f"left out."
    )


@styled
def error_against_bytes(found: Sequence[Judged], tariff: str) -> Figure:
    """Draw what the entrants reach for their bytes under one tariff, and who leads."""
    shown = [one for one in found if one.purse.tariff == tariff and math.isfinite(one.error.mean)]
    settings = list(dict.fromkeys(one.setting for one in shown))
    columns = min(_COLUMNS, len(settings) + 1)
    rows = math.ceil((len(settings) + 1) / columns)
    figure = Drawing(figsize=(3.1 * columns, 2.9 * rows))
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, setting in zip(panels, settings, strict=False):
        _panel(panel, [one for one in shown if one.setting == setting])
        panel.set_title(setting)
    for panel in panels[len(settings) :]:
        panel.set_axis_off()
    handles, labels = panels[0].get_legend_handles_labels()
    panels[len(settings)].legend(handles, labels, loc="center")
    figure.supxlabel(bytes_sent(tariff), fontsize=9)
    figure.supylabel("mean squared error (dB)", fontsize=9)
    return figure


def leaders(shown: Sequence[Judged]) -> list[Judged]:
    """Return the entrants with the least error for their bytes, from the fewest bytes on."""
    ordered, found = sorted(shown, key=lambda one: (one.bytes, one.error.mean)), list[Judged]()
    for one in ordered:
        if not found or one.error.mean < found[-1].error.mean - _NOTICEABLE:
            found.append(one)
    return found


def _panel(axes: Axes, shown: Sequence[Judged]) -> None:
    leading = leaders(shown)
    others = [one for one in shown if one.entrant not in PAO_FED and one not in leading]
    _marks(axes, others, label="others", color=_OTHERS, marker="o", ms=3)
    first = [one for one in leading if one.entrant not in PAO_FED]
    _marks(axes, first, label="others that lead", color=_LEADING, marker="o", ms=4)
    for name in PAO_FED:
        ours = [one for one in shown if one.entrant == name]
        filled = _OURS if name == PAO_FED[0] else "white"
        _marks(axes, ours, label=name, color=_OURS, marker="*", ms=8, mfc=filled)
    most = max(one.bytes for one in shown)
    axes.step(
        [one.bytes / 1e6 for one in leading] + [most / 1e6],
        [one.error.mean for one in leading] + [leading[-1].error.mean],
        where="post", color=_LEADING, lw=0.8, zorder=0, label="least error for so many bytes",
    )  # fmt: skip
    axes.set_xscale("log")
    axes.margins(x=0.4, y=0.12)
    _cut(axes, shown)
    _name(axes, leading)


def _name(axes: Axes, leading: Sequence[Judged]) -> None:
    """Write the names of the leaders to the left of their marks, each below the one before it.

    The line of leaders falls to the right, so that a name only ever has to move down.
    """
    place = axes.transScale + axes.transLimits  # maps data to a share of the axes
    floor = math.inf
    for one in leading:
        mark = (one.bytes / 1e6, one.error.mean)
        height = float(place.transform(mark)[1]) * _HEIGHT
        floor = min(height - 3, floor - _LINE)
        axes.annotate(
            one.entrant, mark, (-3, floor - height), textcoords="offset points",
            fontsize=6, ha="right", va="top",
        )  # fmt: skip


def _marks(axes: Axes, shown: Sequence[Judged], **look: Any) -> None:
    """Draw one mark for each entrant and budget; equal settings for two budgets share a mark."""
    places = dict.fromkeys((one.bytes / 1e6, one.error.mean) for one in shown)
    axes.plot([x for x, _ in places], [y for _, y in places], ls="none", **look)


def _cut(axes: Axes, shown: Sequence[Judged]) -> None:
    """Leave out entrants that are far worse than all of PAO-Fed: by half of the height or more."""
    best = min(one.error.mean for one in shown)
    worst = max([one.error.mean for one in shown if one.entrant in PAO_FED] or [best])
    worst = max(worst, max(one.error.mean for one in leaders(shown)))
    room = max(worst - best, 0.5)
    axes.set_ylim(best - 0.4 * room, worst + 0.5 * room)
