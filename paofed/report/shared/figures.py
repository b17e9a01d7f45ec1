"""Figures people can publish, readable in print and in colour blindness, and their parts."""

import io
import math
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from paofed.core.arrays import FloatArray
from paofed.core.metrics import decibels
from paofed.core.tariffs import Tariff, tariff_of
from paofed.files import make_folder, replacing, write_text
from paofed.report.shared.looks import (
    DOTTED,
    UNNAMED,
    Style,
    bands,
    cast,
    default_title,
    entries,
    rank,
    styles,
)
from paofed.report.shared.style import Drawing, style, styled
from paofed.simulate.results.estimates import student_95
from paofed.simulate.results.result import Result
from paofed.table import ShownTable
from paofed.world.trace import Trace

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


_LETTERS = 40  # the most letters of a name in one line of a legend
_DPI = 150  # the resolution of a PNG in a page


@styled
def learning_curves(
    result: Result, title: str | None = None, names: Sequence[str] | None = None
) -> Figure:
    """Draw the error of the server's model over ticks, with 95 % bands if there are several runs.

    `names` are the algorithms to draw; None: all. Without `title`, the title says what was run; an
    empty one leaves it out.
    """
    ticks = (result.ticks + 1).astype(np.float64)
    figure = _curves(result, title, names, lambda _: ticks, result.drifts)
    (axes,) = figure.axes
    axes.set_xlabel("tick")
    axes.set_xlim(0, result.provenance["scenario"]["ticks"])
    _mark_better(axes, towards=(0.08, 0.03))  # down: less error
    return figure


@styled
def error_against_traffic(
    result: Result,
    title: str | None = None,
    names: Sequence[str] | None = None,
    tariff: Tariff | str = "payload",
) -> Figure:
    """Draw the error over the bytes sent so far by the whole fleet and its server.

    `tariff` says what counts as bytes. The other arguments are those of `learning_curves`.
    """

    def megabytes(name: str) -> FloatArray:
        sent: FloatArray = result.run_wire(name, tariff).both.mean(axis=0) / 1e6
        return sent

    figure = _curves(result, title, names, megabytes)
    (axes,) = figure.axes
    logarithmic(axes.xaxis)
    axes.set_xlabel(bytes_sent(tariff))
    _mark_better(axes, towards=(0.01, 0.03))  # down and to the left: less error with less traffic
    return figure


def _mark_better(axes: Axes, towards: tuple[float, float]) -> None:
    """Draw an arrow in the lower left corner, where no curve of a method that learns begins.

    The arrow leads to `towards`, in parts of the width and of the height of the axes.
    """
    axes.annotate(
        "better", towards, xytext=(0.08, 0.15), xycoords="axes fraction", ha="center", fontsize=9,
        color="#555555", arrowprops={"arrowstyle": "->", "color": "#555555"}, zorder=1,
    )  # fmt: skip


def bytes_sent(tariff: Tariff | str) -> str:
    """Return the label of an axis of bytes."""
    tariff = tariff_of(tariff)
    if not tariff.adds:
        return "payload sent, up and down (MB)"
    return literal(f"sent on the wire, up and down (MB): {tariff.words or tariff.name}")


@styled
def realised(traces: Mapping[str, Trace]) -> Figure:
    """Draw how late messages were and how often clients were in contact, for traces by label."""
    figure = Drawing(figsize=(7.2, 3.2))
    delays, contacts = figure.subplots(1, 2)
    for (name, trace), colour in zip(traces.items(), ("#D55E00", "#0072B2"), strict=False):
        seen = trace.delay[trace.available]
        ages = np.arange(seen.max() + 1)
        share = [(seen >= age).mean() for age in ages]
        delays.step(ages, share, where="post", color=colour, label=name)
        rate = np.sort(trace.available.sum(axis=0))[::-1]
        contacts.plot(np.arange(1, rate.size + 1), rate, color=colour, label=name)
    logarithmic(delays.yaxis)
    delays.set_xlabel("ticks")
    delays.set_title("share of messages delayed by at least")
    contacts.set_yscale("symlog", linthresh=1)
    contacts.yaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    contacts.set_xlabel("clients, busiest first")
    contacts.set_title("contacts of a client in one run")
    for axes in (delays, contacts):
        axes.legend()
    return figure


@styled
def live_beside(
    live: FloatArray,
    simulated: FloatArray,
    traffic: Mapping[str, tuple[FloatArray, FloatArray]],
    title: str,
    marks: Sequence[float] = (),
) -> Figure:
    """Draw a live fleet's learning curve beside the simulated one, and the bytes that were sent.

    `live` and `simulated` are mean squared errors by tick; `traffic` is (ticks, bytes) by name;
    `marks` are ticks at which server or broker were killed.
    """
    figure = Drawing(figsize=(9.6, 3.8))
    error, sent = figure.subplots(1, 2, width_ratios=(3, 2))
    ticks = np.arange(1, live.size + 1)
    error.plot(ticks, decibels(simulated), color="#777777", lw=3, alpha=0.6, label="simulated")
    error.plot(ticks, decibels(live), color="#D55E00", lw=1.4, label="live")
    for number, tick in enumerate(marks):
        label = "_" if number else "server or broker killed"
        error.axvline(tick, color="#0072B2", lw=0.8, ls=DOTTED, label=label)
    error.set_title("mean squared error (dB)")
    figure.suptitle(title, x=0.01, ha="left")
    for (name, (x, y)), colour in zip(traffic.items(), ("#D55E00", "#000000"), strict=False):
        sent.plot(x, y / 1e3, color=colour, lw=1.4, label=name)
    sent.set_yscale("log")
    sent.set_title("bytes of MQTT, up and down (kB)")
    for axes in (error, sent):
        axes.set_xlabel("tick")
        axes.set_xlim(0, live.size)
        axes.legend()
    return figure


def literal(text: str) -> str:
    """Return a text so that Matplotlib shows it as it stands: a dollar sign begins no formula."""
    return text.replace("$", r"\$")


def _curves(
    result: Result,
    title: str | None,
    names: Sequence[str] | None,
    x_of: Callable[[str], FloatArray],
    drifts: Sequence[int] = (),
) -> Figure:
    """Draw errors over `x_of`: in colour and with a band where there is a name, else in grey."""
    figure = Drawing(figsize=(7.2, 4.4))
    axes = figure.add_subplot()
    errors = {name: result.final(name).db for name in names or result.algorithms}
    who, texts = cast(errors), entries(result, list(errors))
    curves = {name: result.curve_db(name) for name in errors}
    looks = styles(who.named)
    others = [
        draw_line(axes, x_of(n), curves[n][0], UNNAMED, who.others_label, 0.7) for n in who.others
    ]
    lines = {n: draw_line(axes, x_of(n), curves[n][0], looks[n], texts[n]) for n in looks}
    # In the order in which the curves end.
    handles: list[Artist] = [lines[n] for n in sorted(lines, key=lambda n: -rank(errors[n]))]
    handles += [*others[:1], *mark_drifts(axes, drifts, result.drift_ticks)]
    if result.runs > 1:
        with room_for_bands(axes):
            for name, look in looks.items():
                (db, error), student = curves[name], student_95(result.runs - 1)
                band = db - student * error, db + student * error
                draw_band(axes, x_of(name), *band, look.colour, len(looks))
        handles.append(Patch(color="#777777", alpha=0.3, lw=0, label=bands(result.runs)))
    axes.set_title(literal(default_title(result, errors) if title is None else title))
    axes.set_ylabel("mean squared error (dB)")
    _make_room(figure, legend_beside(axes, handles))
    return figure


def legend_beside(axes: Axes, handles: Sequence[Artist]) -> Legend:
    """Add a legend to the right of the axes; long names take several lines."""
    texts = [
        "\n".join(textwrap.fill(line, _LETTERS, break_on_hyphens=False)
                  for line in literal(str(handle.get_label())).splitlines())
        for handle in handles
    ]  # fmt: skip
    return axes.legend(handles, texts, loc="upper left",
                       bbox_to_anchor=(1, 1))  # fmt: skip


def _make_room(figure: Figure, legend: Legend) -> None:
    """Let a figure grow with its legend, so that the axes do not shrink."""
    lines = [line for text in legend.get_texts() for line in text.get_text().splitlines()]
    width, height = figure.get_size_inches()
    across, down = 0.07 * max(map(len, lines)), 0.17 * len(lines)  # inches of letters and lines
    figure.set_size_inches(max(width, 5.6 + across), max(height, 0.8 + down))


def svg(figure: Figure, name: str) -> str:
    """Return a figure as SVG text; ids are made from `name`, so that a page can hold several."""
    file = io.BytesIO()
    _write(figure, file, "svg", name)
    return file.getvalue().decode()


def save(figure: Figure, path: Path, dpi: int = _DPI) -> None:
    """Write a figure in the format that the ending of `path` names, whole or not at all."""
    with replacing(path) as file:
        _write(figure, file, path.suffix.lstrip(".").lower() or "png", "paofed", dpi)


def save_all(gallery: Mapping[str, tuple[str, Figure]], folder: Path) -> dict[str, tuple[str, str]]:
    """Write figures, given with captions, as SVG and PNG; return captions and SVGs for a page."""
    drawings = {}
    for name, (caption, figure) in gallery.items():
        drawings[name] = caption, svg(figure, name)
        write_text(folder / f"{name}.svg", drawings[name][1])
        figure.set_layout_engine("none")  # the PNG keeps the places that the SVG has
        save(figure, folder / f"{name}.png")
    return drawings


def write_page(
    file: Path,
    gallery: Mapping[str, tuple[str, Figure]],
    build: Callable[[Mapping[str, tuple[str, str]]], str],
    tables: Iterable[tuple[str, ShownTable]] = (),
    texts: Mapping[str, str] | None = None,
) -> None:
    """Write a page with all that its folder holds beside it; the folder is made if need be.

    Figures come with captions and tables as CSV, both by name without an ending, and other `texts`
    by the names of their files. `build` makes the page of the drawings that `save_all` returns.
    """
    folder = file.parent
    make_folder(folder)
    drawings = save_all(gallery, folder)
    for name, table in tables:
        table.csv(folder / f"{name}.csv")
    for name, text in (texts or {}).items():
        write_text(folder / name, text)
    write_text(file, build(drawings))


# Files do not say when a figure was drawn, so that the same figure is the same file.
_UNDATED = {"svg": "Date", "pdf": "CreationDate"}


def _write(figure: Figure, file: BinaryIO, kind: str, salt: str, dpi: int = _DPI) -> None:
    """Write a figure; the same figure gives the same bytes on every machine."""
    metadata = {_UNDATED[kind]: None} if kind in _UNDATED else None
    with style(svg_hashsalt=salt), warnings.catch_warnings():
        # Names may be in any script: a browser has the letters, if the font of a PNG has not.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from", UserWarning)
        figure.savefig(file, format=kind, dpi=dpi, metadata=metadata)
