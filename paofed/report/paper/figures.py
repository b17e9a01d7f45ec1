"""The figures of the study with their captions, and theory beside simulation."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paofed.experiments.paper.claims import II, SUBSETS, I
from paofed.experiments.paper.study import SIZES, VERSIONS, Study
from paofed.experiments.paper.theory import CURVES, PREDICTED, Beside
from paofed.report.shared import figures as draw
from paofed.report.shared.looks import Style, method_name, styles
from paofed.report.shared.style import Drawing, styled
from paofed.words import counted
from paofed.world.realize import realize
from paofed.world.scenario import Scenario


class Picture(NamedTuple):
    """A figure of the study: its caption, and how it is drawn."""

    caption: str
    draw: Callable[[], Figure]


def gallery(study: Study, seed: int) -> Mapping[str, Picture]:
    """Return the figures that the study has results for, by file name.

    The paper's three figures come first. The caption of a figure that will be drawn again with more
    runs says how many runs it has.
    """
    found: dict[str, Picture] = {}
    one, two = study.results.get(I), study.results.get(II)
    chosen = ("online-fedsgd", SUBSETS[1], "pao-fed-u1", "pao-fed-c2")
    sizes = ("online-fedsgd", SUBSETS[1], *SIZES, "pao-fed-u1", "pao-fed-c2")
    if one is None and study.first_look is not None:
        runs = counted(study.first_look.runs, "run")
        found["versions-setting-1"] = Picture(
            f"The paper's first figure after {runs}: the versions of PAO-Fed in Setting I.",
            partial(draw.learning_curves, study.first_look, names=VERSIONS),
        )
    if one is not None:
        found["versions-setting-1"] = Picture(
            "The paper's first figure: the versions of PAO-Fed in Setting I.",
            partial(draw.learning_curves, one, names=VERSIONS),
        )
        found["choices-setting-1"] = Picture(
            "The paper's second figure: window size and weight of late updates in Setting I.",
            partial(draw.learning_curves, one, names=sizes),
        )
    if two is not None:
        found["setting-2"] = Picture(
            "The paper's third figure: Setting II.",
            partial(draw.learning_curves, two, names=chosen),
        )
    if one is not None:
        found["traffic-setting-1"] = Picture(
            "Error against what was sent by all, Setting I: where the 98 % shows.",
            partial(draw.error_against_traffic, one, names=(*sizes, SUBSETS[0])),
        )
    if two is not None:
        found["traffic-setting-2"] = Picture(
            "Error against what was sent by all, Setting II.",
            partial(draw.error_against_traffic, two, names=(*sizes, SUBSETS[0])),
        )
    if study.theory:
        found["theory"] = Picture(
            "Theory (lines) beside simulation (dots) in one world of Setting I; shaded is spread.",
            partial(mean_and_learning, study.theory),
        )
    found["realised"] = Picture(
        "What nature did in the first run of each setting: delays and contacts.",
        partial(_realised, seed),
    )
    return found


def _realised(seed: int) -> Figure:
    return draw.realised({s: realize(Scenario.load(s), seed=seed) for s in (I, II)})


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
