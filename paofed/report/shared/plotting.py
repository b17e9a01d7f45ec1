"""Draws curves into axes of matplotlib, of one result or of several side by side, for papers."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypeVar, get_args

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
from paofed.report.shared.figures import (
    draw_band,
    draw_line,
    literal,
    logarithmic,
    mark_drifts,
    room_for_bands,
)
from paofed.report.shared.looks import (
    UNNAMED,
    Bands,
    Cast,
    Style,
    band_words,
    baseline_look,
    cast,
    entries,
    rank,
    styles,
)
from paofed.report.shared.style import Column, keep_ticks, measure, style
from paofed.simulate.results.estimates import over_runs_db, student_95
from paofed.simulate.results.progressive import Whose
from paofed.simulate.results.result import Result


class RunCurve(NamedTuple):
    """One curve: the linear errors of R runs at P points, (R, P)."""

    runs: FloatArray

    @property
    def db(self) -> FloatArray:
        """The mean over runs in dB, (P,)."""
        found: FloatArray = over_runs_db(self.runs)[0]
        return found

    def band(self, bands: Bands) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper edge of the band around the curve in dB, (P,) each."""
        if bands is not None and not isinstance(bands, str):
            with np.errstate(invalid="ignore"):
                low, high = np.percentile(decibels(self.runs), bands, axis=0)
            return low, high
        db, error = over_runs_db(self.runs)
        half = error * (student_95(len(self.runs) - 1) if bands == "interval" else 1.0)
        return db - half, db + half


class RunCurves:
    """The curves of a result by name; `whose` says which models of the algorithms have them."""

    def __init__(self, result: Result, whose: Whose) -> None:
        self._result, self._whose = result, whose
        self.known = with_curves(result)

    def of(self, name: str) -> RunCurve:
        """Return the curve of an algorithm or baseline."""
        whose = self._whose if name in self._result.algorithms else "baseline"
        return RunCurve(self._result.run_curves_of(name, whose))

    def end(self, name: str) -> float:
        """Return the error in dB at which a curve ends, to sort by; infinite where it diverged."""
        return rank(float(self.of(name).db[-1]))

    def chosen(self, names: Iterable[str] | str | None) -> Cast:
        """Return the curves to draw: those in `names`, all of them named.

        None: all algorithms, of which as many are named as can be told apart.
        """
        if names is None:
            return cast({name: self.end(name) for name in self._result.algorithms})
        asked = [names] if isinstance(names, str) else list(names)
        if not asked:
            raise InputError("names is empty: expected at least one algorithm, or None for all")
        for name in asked:
            if name not in self.known:
                raise InputError(unknown("algorithm", str(name), self.known))
        return Cast(list(dict.fromkeys(asked)), [])

    def entries(self, names: list[str]) -> dict[str, str]:
        """Return what a legend calls curves: methods, with step sizes where these differ."""
        told = entries(self._result, [name for name in names if name in self._result.algorithms])
        return {name: told.get(name, name) for name in names}


def with_curves(result: Result) -> list[str]:
    """Name all that have a curve: the algorithms and, over a table, the baselines."""
    return [*result.algorithms, *result.baselines]


def whose_curves(result: Result, whose: Whose | None) -> Whose:
    """Return whose models' errors are drawn: `whose` if it is given and possible.

    None is the devices' models over a table, and the server's model otherwise.
    """
    if whose is None:
        return result.judged_models[0]
    if whose not in result.judged_models:
        told = " or ".join(map(repr, result.judged_models))
        raise InputError(f"whose is {whose!r}: expected {told}")
    return whose


Along = Literal["ticks", "samples", "bytes"]


class AlongAxis(NamedTuple):
    """The horizontal axis of error curves."""

    places: Mapping[str, FloatArray]  # by algorithm: where the points of its curve are
    label: str
    end: float | None  # where the axis ends; None: a logarithmic axis as long as the curves

    def of(self, name: str) -> FloatArray:
        """Return where the points of a curve are; baselines send nothing, so bytes are refused."""
        if name not in self.places:
            raise InputError(f"{name} is a baseline, which sends nothing: draw it over 'ticks'")
        return self.places[name]

    def put_on(self, axes: Axes) -> None:
        """Label the horizontal axis of `axes`, and give it its scale and its end."""
        axes.set_xlabel(self.label)
        if self.end is None:
            logarithmic(axes.xaxis)
        else:
            drawn = 0.0 if axes.get_autoscalex_on() else axes.get_xlim()[1]  # by an earlier plot
            axes.set_xlim(0, max(self.end, drawn))


def along_axis(result: Result, x: Along, tariff: Tariff) -> AlongAxis:
    """Return the axis `x` for the algorithms of a result and, unless it is of bytes, baselines."""
    if x not in get_args(Along):
        raise InputError(unknown("x", str(x), get_args(Along)))
    if x == "bytes":
        sent = {name: result.run_wire(name, tariff).both.mean(axis=0) for name in result.algorithms}
        scale, unit = _unit(max(float(counts[-1]) for counts in sent.values()))
        where = "payload sent" if not tariff.adds else f"sent with {tariff.name}"
        places = {
            name: np.where(counts > 0, counts / scale, np.nan) for name, counts in sent.items()
        }
        return AlongAxis(places, literal(f"{where}, up and down ({unit})"), None)
    if x == "ticks":
        place, label = (result.ticks + 1).astype(np.float64), "tick"
    else:
        place, label = result.samples_seen, "samples seen by the fleet"
        if place[-1] >= 1e5:
            place, label = place / 1e3, f"{label} (thousands)"
    return AlongAxis(dict.fromkeys(with_curves(result), place), label, float(place[-1]))


def _unit(most: float) -> tuple[float, str]:
    """Return the unit in which `most` bytes are written: how many bytes it is, and its name."""
    return next(
        ((scale, unit) for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")) if most >= scale),
        (1.0, "B"),
    )


_MOST_INSIDE = 4  # the most entries of a legend inside new axes: more would hide curves
_MOST_GIVEN = 7  # the same for axes of the caller, which may have a title where a legend would go
_MOST_ABOVE = 8  # the most entries of a legend above new axes
_BESIDE = 1.6  # inches that a legend beside the axes takes
_Given = TypeVar("_Given")


def plot(
    result: Result,
    names: Iterable[str] | str | None = None,
    *,
    axes: Axes | None = None,
    x: Along = "ticks",
    bands: Bands = "interval",
    labels: Mapping[str, str] | None = None,
    colours: Mapping[str, str | Style] | None = None,
    tariff: Tariff | str = "payload",
    whose: Whose | None = None,
    column: Column | None = None,
) -> Axes:
    """Draw the error curves of a result, and return the axes.

    `names` are the algorithms to draw, in the order of the legend; over a table also baselines.
    None: all algorithms, in the order in which their curves end. Without `axes`, a new figure of
    pyplot is made, as wide as a journal's `column` where one is given. `x` is the horizontal axis:
    "ticks", "samples" that the whole fleet has seen, or the "bytes" that all have sent, under a
    `tariff`. `bands` are the 95 % "interval" of the mean over runs, its "standard error" to either
    side, a pair of percentiles over runs such as (10, 90), or None. `labels` and `colours` are by
    name of algorithm; a Style in the place of a colour has dashes, too. Over a table a curve is the
    error on all samples until then, and `whose` says of which models: the "device"s' or the
    "server"'s.
    """
    curves = RunCurves(result, whose_curves(result, whose))
    chosen = curves.chosen(names)
    looks = _looks(chosen.named, colours or {}, curves, result.algorithms)
    own = {name: literal(text) for name, text in curves.entries(list(looks)).items()}
    texts = {**own, **_known(labels or {}, "label", curves.known)}  # given labels may have formulas
    along, band = along_axis(result, x, tariff_of(tariff)), band_words(bands, result.runs)
    places = {name: along.of(name) for name in (*chosen.others, *looks)}
    with style(column):
        drawn = _new_axes(column, len(looks)) if axes is None else axes
        lines: dict[str, Artist] = {}
        for name in chosen.others:
            found = curves.of(name)
            lines[""] = draw_line(drawn, places[name], found.db, UNNAMED, chosen.others_label, 0.7)
        for name, look in looks.items():
            lines[name] = draw_line(drawn, places[name], curves.of(name).db, look, texts[name])
        order = list(looks) if names is not None else sorted(looks, key=curves.end, reverse=True)
        handles = [lines[name] for name in [*order, *([""] if chosen.others else [])]]
        if band is not None:
            with room_for_bands(drawn):
                for name, look in looks.items():
                    low, high = curves.of(name).band(bands)
                    draw_band(drawn, places[name], low, high, look.colour, len(looks))
            handles.append(Patch(color="#777777", alpha=0.3, lw=0, label=band))
        if x == "ticks":
            handles += mark_drifts(drawn, result.drifts, result.drift_ticks)
        along.put_on(drawn)
        drawn.set_ylabel(result.curve_words)
        _legend(drawn, handles, is_new=axes is None)
        if isinstance(drawn.figure, Figure):
            keep_ticks(drawn.figure)
    return drawn


def _known(given: Mapping[str, _Given], what: str, known: list[str]) -> Mapping[str, _Given]:
    for name in given:
        if name not in known:
            raise InputError(f"a {what} is for no curve: {unknown('algorithm', name, known)}")
    return given


def _looks(
    names: list[str], colours: Mapping[str, str | Style], curves: RunCurves, algorithms: list[str]
) -> dict[str, Style]:
    for name, look in _known(colours, "colour", curves.known).items():
        colour = look.colour if isinstance(look, Style) else look
        if not is_color_like(colour):
            raise InputError(
                f"the colour of {name} is {colour!r}: expected one of matplotlib's, such as "
                f"'#D55E00' or 'black'"
            )
    of_baselines = {name: baseline_look(name) for name in names if name not in algorithms}
    looks = styles([name for name in names if name in algorithms])
    looks |= {name: Style(look.colour, look.dashes) for name, look in of_baselines.items()}
    return {name: _in_colour(looks[name], colours.get(name)) for name in names}


def _in_colour(look: Style, given: str | Style | None) -> Style:
    """The look in the colour that is given, if any; a whole Style stands for itself."""
    if isinstance(given, Style):
        return given
    return look if given is None else look._replace(colour=given)


def _new_axes(column: Column | None, curves: int) -> Axes:
    """Make axes in a new figure of pyplot, which a notebook shows by itself."""
    from matplotlib import pyplot as plt

    size = measure(column)
    beside = _BESIDE if curves >= _MOST_ABOVE and column is None else 0.0
    return plt.figure(figsize=(size.width + beside, size.height)).add_subplot()


def _legend(axes: Axes, handles: list[Artist], *, is_new: bool) -> None:
    """Add a legend: inside the axes where there is room, else above or beside them.

    Axes of the caller keep the entries that their legend had before.
    """
    before = axes.get_legend()
    kept = list(before.legend_handles) if before is not None else []
    said = {str(handle.get_label()) for handle in handles}
    every = [one for one in kept if one is not None and str(one.get_label()) not in said] + handles
    if len(every) <= (_MOST_INSIDE if is_new else _MOST_GIVEN):
        axes.legend(handles=every, frameon=True, framealpha=0.7, edgecolor="none", fancybox=False)
    elif len(every) <= _MOST_ABOVE and is_new:
        axes.legend(handles=every, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    else:
        axes.legend(handles=every, loc="upper left", bbox_to_anchor=(1, 1))


_ACROSS = 3  # panels in a row


def side_by_side(
    results: Mapping[str, Result],
    names: Iterable[str] | str | None = None,
    *,
    labels: Mapping[str, str] | None = None,
    colours: Mapping[str, str] | None = None,
    column: Column | None = "double",
    **options: Any,
) -> Figure:
    """Draw results of different scenarios beside each other, each under its label.

    An algorithm looks the same in all panels, and has one entry in the legend below them. `names`
    and further options are those of `plot`. A result that lacks some of `names` is drawn with the
    others.
    """
    if not results:
        raise InputError("there is nothing to draw: expected at least one result by its label")
    from matplotlib import pyplot as plt

    size, across = measure(column), min(_ACROSS, len(results))
    down = -(-len(results) // across)
    texts, painted = labels or {}, colours or {}
    every = _once(name for one in results.values() for name in one.algorithms)
    asked = every if names is None else [names] if isinstance(names, str) else list(names)
    known = _once(name for one in results.values() for name in with_curves(one))
    for name in (*asked, *texts, *painted):
        if name not in known:
            raise InputError(unknown("algorithm", str(name), known))
    for label, result in results.items():
        if set(asked).isdisjoint(with_curves(result)):
            raise InputError(f"{label} has none of {', '.join(asked)}: expected at least one")
    looks: dict[str, str | Style] = {**painted}  # also of baselines, which have their own
    for name, look in styles([name for name in asked if name in every]).items():
        looks[name] = look._replace(colour=painted.get(name, look.colour))
    with style(column):
        figure = plt.figure(figsize=(size.width, size.height * down))
        grid = figure.subplots(down, across, sharey=True, squeeze=False).ravel()
        entries: dict[str, Any] = {}
        for axes, (label, result) in zip(grid, results.items(), strict=False):
            own = [name for name in asked if name in with_curves(result)]
            try:
                plot(
                    result, own, axes=axes, column=column,
                    labels=_of(own, texts), colours=_of(own, looks), **options,
                )  # fmt: skip
            except InputError:
                plt.close(figure)  # else a notebook would show what is half drawn
                raise
            axes.set_title(literal(label))
            legend = axes.get_legend()
            for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
                entries.setdefault(text.get_text(), handle)
            legend.remove()
            axes.label_outer(remove_inner_ticks=False)
        for axes in grid[len(results) :]:
            axes.set_visible(False)
        for axes in grid[max(len(results) - across, 0) : len(results)]:
            axes.tick_params(labelbottom=True)
        figure.legend(entries.values(), entries, loc="outside lower center", ncols=len(entries))
    return figure


def _of(names: Iterable[str], given: Mapping[str, _Given]) -> dict[str, _Given]:
    return {name: given[name] for name in names if name in given}


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
