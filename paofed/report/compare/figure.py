"""Error against bytes: a panel for every setting, a mark for every entrant and budget."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paofed.core.tariffs import tariff_of
from paofed.report.compare.judged import Judged
from paofed.report.compare.lineup import LINEUP, PAO_FED
from paofed.report.shared.figures import bytes_sent, plain_axes

_COLUMNS = 4
# Okabe and Ito's colours in turn; a mark tells apart those of one colour.
_COLOURS = ("#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKS = ("o", "s", "^", "v", "D", "P", "X")
_OURS = "#D55E00"


def caption(tariff: str) -> str:
    """What is below the figure of one tariff."""
    told = tariff_of(tariff)
    return (
        f"Error against what fleet and server send in a run ({told.words or told.name}). One mark "
        f"for what an entrant chose for a budget; the line is the least error for so many bytes."
    )


def error_against_bytes(found: Sequence[Judged], tariff: str) -> Figure:
    """Draw what the entrants reach for their bytes under one tariff, and the front."""
    shown = [one for one in found if one.purse.tariff == tariff]
    settings = list(dict.fromkeys(one.setting for one in shown))
    columns = min(_COLUMNS, len(settings) + 1)
    rows = math.ceil((len(settings) + 1) / columns)
    figure = Figure(figsize=(3.1 * columns, 2.9 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, setting in zip(panels, settings, strict=False):
        _panel(panel, [one for one in shown if one.setting == setting])
        panel.set_title(setting, fontsize=10, loc="left")
    for panel in panels[len(settings) :]:
        panel.set_axis_off()
    handles, labels = _legend(panels[: len(settings)].tolist())
    panels[len(settings)].legend(
        handles, labels, fontsize=7, frameon=False, loc="center", ncols=2 if len(labels) > 12 else 1
    )
    figure.supxlabel(bytes_sent(tariff), fontsize=9)
    figure.supylabel("mean squared error (dB)", fontsize=9)
    return figure


def _panel(axes: Axes, shown: Sequence[Judged]) -> None:
    for name in dict.fromkeys(one.entrant for one in shown):
        own = {one.word: one for one in shown if one.entrant == name}
        points = sorted(own.values(), key=lambda one: one.bytes)
        colour, mark = _look(name)
        axes.plot(
            [one.bytes / 1e6 for one in points], [one.error.mean for one in points],
            color=colour, marker=mark, ls="none", ms=6 if name in PAO_FED else 4,
            mfc="none" if name == PAO_FED[-1] else colour, label=name,
        )  # fmt: skip
    ordered = sorted(shown, key=lambda one: one.bytes)
    least = np.minimum.accumulate([one.error.mean for one in ordered])
    axes.step([one.bytes / 1e6 for one in ordered], least, where="post", color="#999999", lw=0.8,
              zorder=0, label="least error for so many bytes")  # fmt: skip
    axes.set_xscale("log")
    plain_axes(axes)


def _look(name: str) -> tuple[str, str]:
    if name in PAO_FED:
        return _OURS, "*"
    others = [other for other in LINEUP if other not in PAO_FED]
    place = others.index(name)
    return _COLOURS[place % len(_COLOURS)], _MARKS[place // len(_COLOURS) % len(_MARKS)]


def _legend(panels: Sequence[Axes]) -> tuple[list[object], list[str]]:
    """One entry for every entrant of any panel."""
    found: dict[str, object] = {}
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    labels = sorted(found, key=lambda label: ([*LINEUP, label]).index(label))
    return [found[label] for label in labels], labels
