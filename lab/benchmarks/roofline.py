"""A roofline: how much arithmetic programs did, beside what a card could do at best."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from paofed.report.shared.figures import legend_beside, literal
from paofed.report.shared.looks import styles
from paofed.report.shared.style import Drawing, styled


class Placed(NamedTuple):
    """A program on a roofline."""

    what: str
    intensity: float  # operations for each byte that comes from the card's memory or goes to it
    flops: float  # operations a second


@styled
def roofline(name: str, flops: float, bandwidth: float, programs: Sequence[Placed]) -> Figure:
    """Draw programs below the roof of a card with so many operations and bytes a second.

    The roof rises as long as memory limits a program, and is flat where arithmetic does.
    """
    figure = Drawing(figsize=(9.0, 4.0))
    axes = figure.add_subplot()
    knee = flops / bandwidth
    at = [knee, *(program.intensity for program in programs)]
    x = np.geomspace(min(at) / 4, max(at) * 4, 200)
    roof = np.minimum(flops, bandwidth * x) / 1e12
    handles = axes.plot(x, roof, color="black", label="the card at best: 100 %")
    looks = styles([program.what for program in programs])
    for program in programs:
        best, colour = min(flops, bandwidth * program.intensity), looks[program.what].colour
        label = f"{program.what}: {100 * program.flops / best:.0f} %"
        place = [program.intensity], [program.flops / 1e12]
        handles += axes.plot(*place, ls="none", marker="o", ms=8, color=colour, label=label)
        axes.vlines(program.intensity, program.flops / 1e12, best / 1e12, color=colour, lw=1)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("operations for each byte of the card's memory")
    axes.set_ylabel("TFLOP/s")
    axes.set_title(literal(name))
    legend_beside(axes, handles)
    return figure
