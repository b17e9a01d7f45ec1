"""The parts of a figure of curves: lines, bands around them, marks where the target changes."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from paofed.core.arrays import FloatArray
from paofed.report.shared.looks import DOTTED, Style

MOST_TICKS = 9  # the most labels on an axis of numbers
# How opaque a band is at most, and all bands together where they lie over each other.
_DARKEST, _TOGETHER = 0.15, 0.9


def draw_line(
    axes: Axes, x: FloatArray, db: FloatArray, look: Style, label: str, width: float | None = None
) -> Line2D:
    """Draw a curve as far as it is finite; without `width`, the line is as wide as usual."""
    finite = np.isfinite(db)
    (line,) = axes.plot(x[finite], db[finite], color=look.colour, linestyle=look.dashes,
                        label=label, lw=width)  # fmt: skip
    return line


def draw_band(
    axes: Axes, x: FloatArray, low: FloatArray, high: FloatArray, colour: str, among: int
) -> None:
    """Shade the band between two curves; the more bands there are (`among`), the fainter."""
    where = np.isfinite(low) & np.isfinite(high)
    axes.fill_between(x, low, high, where, color=colour, lw=0,
                      alpha=min(_DARKEST, _TOGETHER / among))  # fmt: skip


@contextmanager
def room_for_bands(axes: Axes) -> Iterator[None]:
    """While bands are drawn, let the axis of errors grow by half at either end, and no more.

    A band of two or three runs is so wide that the curves would look flat beside it.
    """
    low, high = axes.get_ylim()
    yield
    room, (lowest, highest) = (high - low) / 2, axes.get_ylim()
    axes.set_ylim(max(lowest, low - room), min(highest, high + room))


def mark_drifts(axes: Axes, drifts: Sequence[int], takes: int) -> list[LineCollection]:
    """Draw a line where the target begins to change, and a shade over the ticks that it takes.

    Return what the legend shows for these lines.
    """
    if not drifts:
        return []
    for drift in drifts if takes > 1 else ():
        axes.axvspan(drift, drift + takes, color="#777777", alpha=0.12, lw=0)
    upright = axes.get_xaxis_transform()  # x in ticks, y from the bottom to the top of the axes
    lines = axes.vlines(drifts, 0, 1, colors="#777777", transform=upright, label="target changes")
    lines.set(linestyle=DOTTED, linewidth=0.8)
    return [lines]


class _Decades(LogLocator):
    """Labels 1, 2 and 5 of every decade or, where these would be more than `most`, 1 alone."""

    def __init__(self, most: int) -> None:
        super().__init__(numticks=most)
        self._most = most

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """Return the places of the labels between two values."""
        few = 3 * math.log10(vmax / vmin) <= self._most
        self.set_params(subs=(1.0, 2.0, 5.0) if few else (1.0,))
        return super().tick_values(vmin, vmax)


def logarithmic(axis: Axis, most: int = MOST_TICKS) -> None:
    """Make an axis logarithmic, with at most so many numbers, written as people do."""
    (axis.axes.set_xscale if isinstance(axis, XAxis) else axis.axes.set_yscale)("log")
    axis.set_major_locator(_Decades(most))
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axis.set_minor_locator(NullLocator())
