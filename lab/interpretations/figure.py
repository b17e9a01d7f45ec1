"""The figure: every disputed comparison under every interpretation, with its interval."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D

from lab.interpretations.study import LABELS, InterpretationStudy, Ruling
from paofed.report.shared.style import Drawing, styled
from paofed.simulate.results.estimates import TIE, Verdict

# Okabe and Ito's colours; the marks tell verdicts apart in black and white.
LOOKS: Mapping[Verdict, tuple[str, str]] = {
    "holds": ("#0072B2", "o"),
    "does not hold": ("#D55E00", "s"),
    "tie": ("#777777", "D"),
    "inconclusive": ("#BBBBBB", "v"),
}
_ACROSS = 4  # panels in one row
_FARTHEST = 4.0  # dB that a panel shows


@styled
def verdicts(study: InterpretationStudy) -> Figure:
    """Draw one panel for each comparison, with one line for each interpretation."""
    panels: dict[str, list[Ruling]] = {}
    for judged in study.judged():
        panels.setdefault(judged.claim.key, []).append(judged)
    down = -(-len(panels) // _ACROSS)
    height = 0.5 + 0.17 * len(study.results)
    # Margins, since letters are wider in PNG than in SVG.
    layout = ConstrainedLayoutEngine(rect=(0.01, 0, 0.98, 1))
    figure = Drawing(figsize=(9.6, 0.5 + height * down), layout=layout)
    grid = figure.subplots(down, _ACROSS, sharey=True, squeeze=False)
    for axes, (key, found) in zip(grid.ravel(), panels.items(), strict=False):
        _panel(axes, found)
        axes.set_title(LABELS[key], fontsize=8, loc="left")
    for axes in grid.ravel()[len(panels) :]:
        axes.set_visible(False)
    names = [interpretation.key.replace("+", " + ") for interpretation in study.results]
    grid[0, 0].set_yticks(np.arange(len(names)), names)
    grid[0, 0].set_ylim(len(names) - 0.4, -0.6)  # the first interpretation is on top
    told = (
        f"difference in dB, positive where it supports the statement; arrows: beyond {_FARTHEST:g}"
    )
    figure.supxlabel(told, fontsize=9)
    figure.legend(handles=_legend(), loc="outside upper left", ncols=4)
    return figure


def _panel(axes: Axes, found: Sequence[Ruling]) -> None:
    axes.axvspan(-TIE, TIE, color="#eeeeee", zorder=0)
    axes.axvline(0, color="#777777", lw=0.8, zorder=1)
    # Marks the default interpretation, with which all others are compared.
    axes.axhspan(-0.5, 0.5, color="#f5f5f5", zorder=0)
    for place, (_, _, e) in enumerate(found):
        colour, mark = LOOKS[e.verdict]
        shown = np.clip([e.mean, e.low, e.high], -_FARTHEST, _FARTHEST)
        if not np.isfinite(shown[0]):
            continue
        beyond = abs(e.mean) > _FARTHEST  # where a mark would be outside, an arrow is drawn
        mark = (">" if e.mean > 0 else "<") if beyond else mark
        axes.plot(shown[1:], [place, place], color=colour, lw=1.4, zorder=2)
        axes.plot(shown[0], place, mark, color=colour, ms=4, zorder=3, clip_on=False)
    axes.tick_params(labelsize=8)


def _legend() -> list[Artist]:
    return [
        Line2D([], [], color=colour, marker=mark, ms=4, lw=1.4, label=verdict)
        for verdict, (colour, mark) in LOOKS.items()
    ]
