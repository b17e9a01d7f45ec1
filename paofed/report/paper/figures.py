"""Figures of theory beside simulation."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paofed.report.paper.theory import CURVES, PREDICTED, Beside
from paofed.report.shared.looks import Style, method_name, styles
from paofed.report.shared.style import Drawing, styled

_BLACK, _GREY = "#000000", "#777777"


@styled
def mean_and_learning(rows: Mapping[str, Beside]) -> Figure:
    """Draw errors of mean models and learning curves: predicted as lines, simulated as dots.

    Each algorithm of each entry of `rows` has a panel; its title has the entry's key.
    """
    shown = [(label, beside, name) for label, beside in rows.items() for name in beside.names]
    columns = min(max(len(beside.names) for beside in rows.values()), 3)
    lines = -(-len(shown) // columns)
    figure = Drawing(figsize=(1.2 + 2.6 * columns, 0.8 + 2.4 * lines))
    panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, (label, beside, name) in zip(panels, shown, strict=False):
        _panel(axes, beside, name, styles(beside.names)[name])
        axes.set_title(f"{method_name(name)}{_gap(beside, name)}\n{label}", fontsize=9, loc="left")
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    figure.supxlabel("tick")
    figure.supylabel("mean squared error (dB)")
    legend = {
        label: handle
        for axes in panels
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(legend.values(), legend, loc="outside upper left", ncols=columns)
    return figure


def _gap(beside: Beside, name: str) -> str:
    gap = beside.gap(name)
    if gap is None:
        return ""
    return f", gap {gap.db:+.2f} dB" + (": refused" if gap.refused else "")


def _panel(axes: Axes, beside: Beside, name: str, style: Style) -> None:
    x, curves = beside.prediction.ticks + 1, beside.curves(name)
    mean, *simulated = (curves[key] for key in CURVES if key in curves)
    shown = beside.shown(name)
    if shown is not None:
        predicted, share = curves[PREDICTED], shown.of_spread[-1] / shown.mse[-1]
        axes.fill_between(
            x, mean, predicted, color=style.colour, alpha=0.35, lw=0, label="spread, predicted"
        )
        axes.plot(x, predicted, color=style.colour, lw=1.4, label="learning curve, predicted")
        if np.isfinite(share):
            axes.text(0.97, 0.93, f"spread at the end: {100 * share:.0f} %\nof the error",
                      ha="right", va="top", fontsize=8, transform=axes.transAxes)  # fmt: skip
    axes.plot(x, mean, color=style.colour, lw=1, ls="--", label="mean model, predicted")
    if simulated:
        averaged, learning = simulated
        axes.plot(x, learning, ".", color=_BLACK, ms=3, label="learning curve, simulated")
        axes.plot(
            x, averaged, ls="", marker="o", ms=2.5, mew=0.6, mec=_GREY, mfc="none",
            label="averaged model, simulated",
        )  # fmt: skip
