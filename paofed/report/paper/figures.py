"""Figures of theory beside simulation."""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paofed.report.paper.theory import Beside
from paofed.report.shared.figures import plain_axes
from paofed.report.shared.looks import Style, styles


def mean_and_learning(rows: Mapping[str, Beside]) -> Figure:
    """The predicted error of the mean model, the averaged model's, and the learning curve."""
    shown = [(label, beside, name) for label, beside in rows.items() for name in beside.names]
    columns = min(max(len(beside.names) for beside in rows.values()), 3)
    lines = -(-len(shown) // columns)
    figure = Figure(figsize=(1.2 + 2.6 * columns, 0.6 + 2.4 * lines), layout="constrained")
    panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, (label, beside, name) in zip(panels, shown, strict=False):
        _panel(axes, beside, name, styles(beside.names)[name])
        axes.set_title(f"{name}\n{label}", fontsize=9, loc="left")
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    figure.supxlabel("tick", fontsize=10)
    figure.supylabel("mean squared error (dB)", fontsize=10)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=4, fontsize=8, frameon=False)
    return figure


def _panel(axes: Axes, beside: Beside, name: str, style: Style) -> None:
    x = beside.prediction.ticks + 1
    mean, *simulated = beside.curves(name).values()
    if simulated:
        averaged, learning = simulated
        axes.plot(x, learning, color="#777777", lw=1, label="learning curve")
        axes.fill_between(x, averaged, learning, color="#777777", alpha=0.2, lw=0, label="variance")
        axes.plot(x, averaged, ".", color="#000000", ms=4, label="averaged model, simulated")
    axes.plot(x, mean, color=style.colour, lw=1.6, label="mean model, predicted")
    plain_axes(axes)
