"""Draws the curves of a result into axes of matplotlib, for notebooks and papers."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import is_color_like
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from paofed.core.tariffs import Tariff, tariff_of
from paofed.errors import InputError, unknown
from paofed.report.shared.along import Along, along_axis
from paofed.report.shared.baselines import baseline_look
from paofed.report.shared.curves import draw_band, draw_line, mark_drifts, room_for_bands
from paofed.report.shared.figures import literal
from paofed.report.shared.looks import UNNAMED, Style, styles
from paofed.report.shared.run_curves import Bands, RunCurves, band_words, whose_curves
from paofed.report.shared.style import Column, keep_ticks, measure, style
from paofed.simulate.results.progressive import Whose
from paofed.simulate.results.result import Result

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
        drawn.set_ylabel(curves.words)
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
