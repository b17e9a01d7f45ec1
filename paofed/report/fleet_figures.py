"""Figures of a run over a table: error over time, by device, and of newcomers."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import matplotlib.dates as mdates
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paofed.core.arrays import FloatArray
from paofed.report.figures import default_title, plain_axes, styles
from paofed.report.gains import horizons, newcomers, over_starts, periods
from paofed.simulate.progressive import ColdStart, Progressive, Whose
from paofed.simulate.result import Result


class _Beside(NamedTuple):
    """How a baseline looks, and whose models it is held against over time."""

    colour: str
    dashes: str | tuple[int, tuple[float, ...]]
    marker: str
    whose: Whose


_BASELINES: Mapping[str, _Beside] = {
    "last value": _Beside("#777777", (0, (1.5, 1.5)), "x", "device"),
    "alone": _Beside("#777777", "-", "|", "device"),
    "central": _Beside("#8C6D31", "-", "D", "server"),
    "batch fourier": _Beside("#8C6D31", (0, (5, 2)), "^", "server"),
    "batch linear": _Beside("#8C6D31", (0, (1.5, 1.5)), "v", "server"),
}
_WIDE = {"lw": 3.0, "alpha": 0.6, "zorder": 1}  # baselines lie under the algorithms
_PANELS: Mapping[Whose, str] = {
    "device": "the models on the devices",
    "server": "the server's model",
}
_MOST_NAMES = 40  # devices that can be told apart on one axis


def over_time(result: Result, judged: Progressive) -> Figure:
    """The error on the samples to come: of the models on the devices, and of the server's."""
    figure = Figure(figsize=(9.6, 7.2), layout="constrained")
    panels = figure.subplots(2, 1, sharex=True)
    for axes, (whose, title) in zip(panels, _PANELS.items(), strict=True):
        for name, look in _BASELINES.items():
            if name in judged.baselines and look.whose == whose:
                x, y = periods(result, judged, name, "baseline")
                axes.plot(x, y, color=look.colour, ls=look.dashes, label=name, **_WIDE)
        for name, style in styles(result.algorithms).items():
            x, y = periods(result, judged, name, whose)
            axes.plot(x, y, color=style.colour, ls=style.dashes, lw=1.3, label=name)
        _finish(axes, title)
        axes.set_ylabel("error (dB)")
    if result.provenance["table"]["calendar"]:
        locator = mdates.AutoDateLocator()  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_formatter(mdates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    else:
        axes.set_xlabel("time")
    figure.suptitle(default_title(result), fontsize=10, x=0.01, ha="left")
    return figure


def by_device(result: Result, judged: Progressive, names: Sequence[str]) -> Figure:
    """The error of every device, the one that is predicted best on top."""
    order = np.argsort(-judged.by_device_db(names[0], "device"), kind="stable")
    figure = Figure(figsize=(9.6, 2.2 + 0.24 * min(len(order), _MOST_NAMES)), layout="constrained")
    axes = figure.add_subplot()
    for name in judged.baselines:
        look = _BASELINES[name]
        errors = judged.by_device_db(name, "baseline")[order]
        _dots(axes, errors, look.marker, look.colour, name, filled=False)
    for name, style in styles(names).items():
        for whose, filled in (("device", True), ("server", False)):
            errors = judged.by_device_db(name, "device" if filled else "server")[order]
            _dots(axes, errors, "o", style.colour, f"{name}, {whose}", filled=filled)
    if len(order) <= _MOST_NAMES:
        axes.set_yticks(np.arange(len(order)), judged.devices[order].tolist(), fontsize=8)
    else:
        axes.set_ylabel("devices")
    axes.set_xlabel("error (dB)")
    _finish(axes, default_title(result))
    return figure


def newcomers_over_horizons(result: Result, cold: ColdStart) -> Figure:
    """The error of devices that join late, over their first day, week and month."""
    labels = horizons(result, cold)
    figure = Figure(figsize=(9.6, 3.8), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    place = np.arange(len(labels))
    ways = {"whole": "begins with the server's model", "windows": "begins with nothing, takes part"}
    for axes, (way, title) in zip(panels, ways.items(), strict=True):
        for name, errors in (("alone", cold.alone), ("last value", cold.last_value)):
            look = _BASELINES[name]
            y = over_starts(cold.by_start_db(errors))
            axes.plot(place, y, color=look.colour, ls=look.dashes, label=name, **_WIDE)
        for newcomer in newcomers(cold):
            if newcomer.way == way:
                style = styles(cold.algorithms.tolist())[newcomer.name]
                axes.plot(place, newcomer.errors, color=style.colour, ls=style.dashes, lw=1.4,
                          marker="o", ms=4, label=newcomer.name)  # fmt: skip
        axes.set_xticks(place, [f"first {label}" for label in labels])
        axes.set_xlim(-0.3, len(labels) - 0.7)
        axes.set_title(title, fontsize=10, loc="left")
        plain_axes(axes)
    panels[0].set_ylabel("error (dB)")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right upper", fontsize=8, frameon=False)
    return figure


def _dots(
    axes: Axes, errors: FloatArray, marker: str, colour: str, label: str, *, filled: bool
) -> None:
    axes.plot(errors, np.arange(len(errors)), marker, label=label, ms=6, mew=1.3,
              markeredgecolor=colour, markerfacecolor=colour if filled else "none")  # fmt: skip


def _finish(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=10, loc="left")
    plain_axes(axes)
    axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
