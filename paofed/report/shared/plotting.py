"""The curves of a result in one pair of axes, as a notebook or a paper asks for them."""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, get_args

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import is_color_like
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from paofed.core.arrays import FloatArray
from paofed.core.metrics import decibels
from paofed.core.tariffs import Tariff, tariff_of
from paofed.errors import InputError, unknown
from paofed.report.shared.captions import cast, entries, rank
from paofed.report.shared.curves import (
    draw_band,
    draw_line,
    logarithmic,
    mark_drifts,
    room_for_bands,
)
from paofed.report.shared.figures import legend_beside, literal
from paofed.report.shared.looks import UNNAMED, Style, styles
from paofed.report.shared.style import Column, keep_ticks, measure, style
from paofed.simulate.results.estimates import student_95
from paofed.simulate.results.places import divided
from paofed.simulate.results.progressive import Whose
from paofed.simulate.results.result import Result
from paofed.simulate.results.statistics import NEPERS, over_runs

Along = Literal["ticks", "samples", "bytes"]
Bands = Literal["interval", "standard error"] | tuple[float, float] | None
_MOST_INSIDE = 6  # entries of a legend that axes have room for
_BESIDE = 1.6  # inches that a legend beside the axes takes


def plot(
    result: Result,
    names: Iterable[str] | str | None = None,
    *,
    axes: Axes | None = None,
    x: Along = "ticks",
    bands: Bands = "interval",
    labels: Mapping[str, str] | None = None,
    colours: Mapping[str, str] | None = None,
    tariff: Tariff | str = "payload",
    whose: Whose | None = None,
    column: Column | None = None,
) -> Axes:
    """Draw the error curves of a result, and return the axes.

    `names` are the algorithms to draw, in the order of the legend; over a table also baselines.
    None: all algorithms, in the order in which their curves end. Without `axes`, a new figure of
    pyplot is made, as wide as a journal's `column` where one is given. `x` is what the error stands
    over: "ticks", "samples" that the whole fleet has seen, or the "bytes" that all have sent, under
    a `tariff`. `bands` are the 95 % "interval" of the mean over runs, its "standard error" to
    either side, a pair of percentiles over runs such as (10, 90), or None. `labels` and `colours`
    go by the name of an algorithm. Over a table the curve is the error on all samples until then,
    of `whose` models: the "device"s' or the "server"'s.
    """
    curves = _Curves(result, _whose(result, whose))
    chosen = curves.chosen(names)
    looks = _looks(chosen.named, colours or {}, curves.known)
    texts = {**curves.entries(list(looks)), **_known(labels or {}, "label", curves.known)}
    along, band = _along(result, x, tariff_of(tariff)), _band_words(bands, result.runs)
    with style(column):
        drawn = _new_axes(column, len(looks)) if axes is None else axes
        lines: dict[str, Artist] = {}
        for name in chosen.others:
            found = curves.of(name)
            lines[""] = draw_line(
                drawn, along.of(name), found.db, UNNAMED, chosen.others_label, 0.7
            )
        for name, look in looks.items():
            lines[name] = draw_line(
                drawn, along.of(name), curves.of(name).db, look, literal(texts[name])
            )
        order = list(looks) if names is not None else sorted(looks, key=curves.end, reverse=True)
        handles = [lines[name] for name in [*order, *([""] if chosen.others else [])]]
        if band is not None:
            with room_for_bands(drawn):
                for name, look in looks.items():
                    low, high = curves.of(name).band(bands)
                    draw_band(drawn, along.of(name), low, high, look.colour, len(looks))
            handles.append(Patch(color="#777777", alpha=0.3, lw=0, label=band))
        if x == "ticks":
            handles += mark_drifts(drawn, result.drifts, result.drift_ticks)
        along.put_on(drawn)
        drawn.set_ylabel(curves.words)
        _legend(drawn, handles)
        if isinstance(drawn.figure, Figure):
            keep_ticks(drawn.figure)
    return drawn


class _Curve(NamedTuple):
    """One curve: linear errors by run (R, P)."""

    runs: FloatArray

    @property
    def db(self) -> FloatArray:
        """The mean over runs in dB, (P,)."""
        return decibels(over_runs(self.runs)[0])

    def band(self, bands: Bands) -> tuple[FloatArray, FloatArray]:
        """Where a band begins and ends, in dB, (P,) each."""
        if isinstance(bands, tuple):
            with np.errstate(invalid="ignore"):
                low, high = np.percentile(decibels(self.runs), bands, axis=0)
            return low, high
        mean, error = over_runs(self.runs)
        with np.errstate(invalid="ignore"):
            half = NEPERS * error / mean
        half = half * (student_95(len(self.runs) - 1) if bands == "interval" else 1.0)
        return decibels(mean) - half, decibels(mean) + half


class _Chosen(NamedTuple):
    """Whom a figure names, and who is only drawn."""

    named: list[str]
    others: list[str]
    others_label: str


class _Curves:
    """The curves of a result: on its test set or, over a table, on all samples until then."""

    def __init__(self, result: Result, whose: Whose) -> None:
        self._result, self._whose = result, whose
        judged = result.progressive
        self.known = [*result.algorithms, *(judged.baselines if judged is not None else [])]

    @property
    def words(self) -> str:
        """What stands beside the axis of errors."""
        if self._result.progressive is None:
            return "mean squared error (dB)"
        return "mean squared error until then (dB)"

    def of(self, name: str) -> _Curve:
        """The curve of an algorithm or baseline."""
        judged = self._result.progressive
        if judged is None:
            return _Curve(self._result.run_curves(name))
        whose = self._whose if name in self._result.algorithms else "baseline"
        errors = judged.run_errors(name, whose).cumsum(axis=-1)
        return _Curve(divided(errors, judged.samples.cumsum()))

    def end(self, name: str) -> float:
        """To sort by: where the curve ends; one that diverged ends above all others."""
        return rank(float(self.of(name).db[-1]))

    def chosen(self, names: Iterable[str] | str | None) -> _Chosen:
        """Those asked for; where nobody says, all, with names as far as they can be told apart."""
        if names is None:
            who = cast({name: self.end(name) for name in self._result.algorithms})
            return _Chosen(who.named, who.others, who.others_label)
        asked = [names] if isinstance(names, str) else list(names)
        if not asked:
            raise InputError("names is empty: expected at least one algorithm, or None for all")
        for name in asked:
            if name not in self.known:
                raise InputError(unknown("algorithm", str(name), self.known))
        return _Chosen(list(dict.fromkeys(asked)), [], "")

    def entries(self, names: list[str]) -> dict[str, str]:
        """The names as a legend has them."""
        told = entries(self._result, [name for name in names if name in self._result.algorithms])
        return {name: told.get(name, name) for name in names}


def _whose(result: Result, whose: Whose | None) -> Whose:
    if whose is None:
        return "server" if result.progressive is None else "device"
    expected = ("server",) if result.progressive is None else ("device", "server")
    if whose not in expected:
        told = " or ".join(map(repr, expected))
        raise InputError(f"whose is {whose!r}: expected {told}")
    return whose


def _known(given: Mapping[str, str], what: str, known: list[str]) -> Mapping[str, str]:
    for name in given:
        if name not in known:
            raise InputError(f"a {what} is for no curve: {unknown('algorithm', name, known)}")
    return given


def _looks(names: list[str], colours: Mapping[str, str], known: list[str]) -> dict[str, Style]:
    for name, colour in _known(colours, "colour", known).items():
        if not is_color_like(colour):
            raise InputError(
                f"the colour of {name} is {colour!r}: expected one of matplotlib's, such as "
                f"'#D55E00' or 'black'"
            )
    return {
        name: look._replace(colour=colours.get(name, look.colour))
        for name, look in styles(names).items()
    }


def _band_words(bands: Bands, runs: int) -> str | None:
    """What the legend says of bands; None where there are none to draw."""
    words = {"interval": "95 % interval", "standard error": "standard error"}
    if isinstance(bands, tuple):
        low, high = bands if len(bands) == 2 else (-1.0, -1.0)
        if not 0 <= low < high <= 100:
            raise InputError(f"bands is {bands!r}: expected two rising percentiles, as in (10, 90)")
        said = f"{low:g}th to {high:g}th percentile"
    elif bands is None:
        return None
    elif bands not in words:
        raise InputError(f"{unknown('bands', str(bands), words)}, two percentiles, or None")
    else:
        said = words[bands]
    return said if runs > 1 else None


class _Axis(NamedTuple):
    """What errors stand over: the place of every point by algorithm, and what the axis says."""

    places: Mapping[str, FloatArray]
    label: str
    end: float | None  # None: as far as there are points, on a logarithmic axis

    def of(self, name: str) -> FloatArray:
        """Where the points of a curve are; a baseline sends nothing, and has no bytes."""
        if name not in self.places:
            raise InputError(f"{name} is a baseline, which sends nothing: draw it over 'ticks'")
        return self.places[name]

    def put_on(self, axes: Axes) -> None:
        """Make the axis one of these places."""
        axes.set_xlabel(self.label)
        if self.end is None:
            logarithmic(axes.xaxis)
        else:
            drawn = 0.0 if axes.get_autoscalex_on() else axes.get_xlim()[1]  # by an earlier call
            axes.set_xlim(0, max(self.end, drawn))


def _along(result: Result, x: Along, tariff: Tariff) -> _Axis:
    if x not in get_args(Along):
        raise InputError(unknown("x", str(x), get_args(Along)))
    if x == "bytes":
        sent = {name: result.run_wire(name, tariff).both.mean(axis=0) for name in result.algorithms}
        scale, unit = _unit(max(float(counts[-1]) for counts in sent.values()))
        where = "payload sent" if not tariff.adds else f"sent with {tariff.name}"
        places = {
            name: np.where(counts > 0, counts / scale, np.nan) for name, counts in sent.items()
        }
        return _Axis(places, literal(f"{where}, up and down ({unit})"), None)
    judged = result.progressive
    every = [*result.algorithms, *(judged.baselines if judged is not None else [])]
    if x == "ticks":
        place, label = (result.ticks + 1).astype(np.float64), "tick"
    else:
        place, label = result.samples_seen, "samples seen by the fleet"
        if place[-1] >= 1e5:
            place, label = place / 1e3, f"{label} (thousands)"
    return _Axis(dict.fromkeys(every, place), label, float(place[-1]))


def _unit(most: float) -> tuple[float, str]:
    """The unit in which so many bytes are told, and how many bytes it is."""
    return next(
        ((scale, unit) for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")) if most >= scale),
        (1.0, "B"),
    )


def _new_axes(column: Column | None, curves: int) -> Axes:
    """Axes in a figure of pyplot, which a notebook shows by itself."""
    from matplotlib import pyplot as plt

    size = measure(column)
    beside = _BESIDE if curves > _MOST_INSIDE and column is None else 0.0
    return plt.figure(figsize=(size.width + beside, size.height)).add_subplot()


def _legend(axes: Axes, handles: list[Artist]) -> None:
    """Inside where there is room, else beside; axes that were given keep what they had in it."""
    before = axes.get_legend()
    kept = list(before.legend_handles) if before is not None else []
    every = [handle for handle in kept if handle is not None]
    said = {str(handle.get_label()) for handle in handles}
    every = [handle for handle in every if str(handle.get_label()) not in said] + handles
    if len(every) > _MOST_INSIDE + 1:
        legend_beside(axes, every)
    else:
        axes.legend(handles=every, frameon=True, framealpha=0.7, edgecolor="none", fancybox=False)
