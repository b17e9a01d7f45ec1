"""Figures of a run over a table: error over time, by device, and of newcomers."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import matplotlib.dates as mdates
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paofed.core.arrays import FloatArray
from paofed.report.figures import default_title, literal, plain_axes, styles
from paofed.report.gains import by_start, horizons, newcomers, over_starts, periods
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
_LONGEST_NAME = 32  # letters of it that leave room for the errors
_FEW = 10  # points that are shown each, for a line through one alone is none

# Of years, months, days, hours, minutes and seconds: every label says by itself where it stands.
_DATES = ("%Y", "%b", "%d %b", "%H:%M", "%H:%M", "%S.%f")
_FIRSTS = ("", "%Y", "%d %b", "%d %b", "%H:%M", "%H:%M")
_BESIDE_DATES = ("", "%Y", "%Y", "%d %b %Y", "%d %b %Y", "%d %b %Y %H:%M")


def over_time(result: Result, judged: Progressive) -> Figure:
    """The error on the samples to come: of the models on the devices, and of the server's."""
    figure = Figure(figsize=(9.6, 7.2), layout="constrained")
    panels = figure.subplots(2, 1, sharex=True)
    for axes, (whose, title) in zip(panels, _PANELS.items(), strict=True):
        for name, look in _BASELINES.items():
            if name in judged.baselines and look.whose == whose:
                x, y = periods(result, judged, name, "baseline")
                axes.plot(x, y, color=look.colour, ls=look.dashes, marker=_dot(y), label=name,
                          **_WIDE)  # fmt: skip
        for name, style in styles(result.algorithms).items():
            x, y = periods(result, judged, name, whose)
            axes.plot(x, y, color=style.colour, ls=style.dashes, marker=_dot(y), label=name, lw=1.3)
        _finish(axes, title)
        axes.set_ylabel("error (dB)")
    if result.provenance["table"]["calendar"]:
        locator = mdates.AutoDateLocator()  # type: ignore[no-untyped-call]
        dates = mdates.ConciseDateFormatter(  # type: ignore[no-untyped-call]
            locator, formats=_DATES, zero_formats=_FIRSTS, offset_formats=_BESIDE_DATES
        )
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(dates)
    else:
        axes.set_xlabel("time")
    figure.suptitle(literal(default_title(result)), fontsize=10, x=0.01, ha="left")
    return figure


def by_device(result: Result, judged: Progressive, names: Sequence[str]) -> Figure:
    """The error of every device, the one that is predicted best on top."""
    # One without samples has no error to be sorted by: it stands below.
    order = np.argsort(-np.nan_to_num(judged.by_device_db(names[0], "device"), nan=np.inf),
                       kind="stable")  # fmt: skip
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
        devices = [literal(_short(name)) for name in judged.devices[order].tolist()]
        axes.set_yticks(np.arange(len(order)), devices, fontsize=8)
    else:
        axes.set_yticks([])
        axes.set_ylabel(f"{len(order)} devices")
    axes.set_xlabel("error (dB)")
    _finish(axes, literal(default_title(result)))
    return figure


def newcomers_over_horizons(result: Result, cold: ColdStart) -> Figure:
    """The error of devices that join late, over their first day, week and month."""
    labels = horizons(result, cold)
    figure = Figure(figsize=(9.6, 3.8), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    place = np.arange(len(labels))
    ways = {"whole": "begins with the server's model", "windows": "begins with nothing, takes part"}
    for axes, (way, title) in zip(panels, ways.items(), strict=True):
        for name, errors in cold.beside.items():
            look = _BASELINES[name]
            y = over_starts(by_start(cold, errors))
            axes.plot(place, y, color=look.colour, ls=look.dashes, marker=look.marker, ms=7, mew=2,
                      label=name, **_WIDE)  # fmt: skip
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
    figure.suptitle(literal(default_title(result)), fontsize=10, x=0.01, ha="left")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right upper", fontsize=8, frameon=False)
    return figure


def _dots(
    axes: Axes, errors: FloatArray, marker: str, colour: str, label: str, *, filled: bool
) -> None:
    size = 13 if marker == "|" else 6  # a bar is seen behind a dot
    axes.plot(errors, np.arange(len(errors)), marker, label=label, ms=size, mew=1.3,
              markeredgecolor=colour, markerfacecolor=colour if filled else "none")  # fmt: skip


def _dot(errors: FloatArray) -> str:
    return "." if np.isfinite(errors).sum() < _FEW else ""


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _finish(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=10, loc="left")
    plain_axes(axes)
    axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
