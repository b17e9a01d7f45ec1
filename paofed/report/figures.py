"""Figures people can publish: readable in print and in colour blindness."""

import io
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from paofed.core.arrays import FloatArray
from paofed.core.metrics import decibels, payload_bytes
from paofed.files import replacing, write_text
from paofed.report.beside import Beside
from paofed.simulate.result import Result
from paofed.world.trace import Trace


class Style(NamedTuple):
    """How an algorithm looks, everywhere."""

    colour: str
    dashes: str | tuple[int, tuple[float, ...]]


# Okabe and Ito's colours, told apart by all; coordinated versions are dashed.
_DASHED, _DOTTED = (0, (5, 2)), (0, (1.5, 1.5))
STYLES: Mapping[str, Style] = {
    "online-fedsgd": Style("#000000", "-"),
    "online-fed": Style("#000000", _DOTTED),
    "pso-fed": Style("#009E73", "-"),
    "pao-fed-c0": Style("#999999", _DASHED),
    "pao-fed-u0": Style("#999999", "-"),
    "pao-fed-c1": Style("#E69F00", _DASHED),
    "pao-fed-u1": Style("#D55E00", "-"),
    "pao-fed-c2": Style("#56B4E9", _DASHED),
    "pao-fed-u2": Style("#0072B2", "-"),
    "pao-fed-u1:shared=1": Style("#CC79A7", _DOTTED),
    "pao-fed-u1:shared=32": Style("#CC79A7", "-"),
    "online-fed:subset=0.02": Style("#000000", _DOTTED),
    "online-fed:subset=0.1": Style("#000000", _DASHED),
    "online-fed:subset=0.5": Style("#000000", (0, (8, 2, 1, 2))),
}
_OTHERS = ("#7B3F00", "#4B0082", "#5F9E00", "#B22222")  # for variants and one's own algorithms
Z_95 = 1.959964  # half the width of a 95 % interval, in standard errors


def styles(names: Sequence[str]) -> dict[str, Style]:
    """One style per algorithm: its own for a row of the table, the others in turn."""
    chosen: dict[str, Style] = {}
    for name in names:
        row = name.partition(":")[0]
        known = STYLES.get(name, STYLES.get(row))
        if known is None or known in chosen.values():
            spare = sum(style.colour in _OTHERS for style in chosen.values())
            dashes = ("-", _DASHED, _DOTTED)[spare // len(_OTHERS) % 3]
            known = Style(_OTHERS[spare % len(_OTHERS)], dashes)
        chosen[name] = known
    return chosen


def learning_curves(
    result: Result, title: str | None = None, names: Sequence[str] | None = None
) -> Figure:
    """The error of the server's model over time, with 95 % bands where there are several runs."""
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    axes = figure.add_subplot()
    for name, style in styles(names or result.algorithms).items():
        _draw(axes, (result.ticks + 1).astype(np.float64), result, name, style)
    axes.set_xlabel("tick")
    axes.set_xlim(0, result.provenance["scenario"]["ticks"])
    _finish(axes, title or default_title(result), _mark(axes, result.drifts))
    return figure


def error_against_traffic(result: Result, title: str, names: Sequence[str]) -> Figure:
    """The error over the payload sent until then by the whole fleet and its server."""
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    axes = figure.add_subplot()
    for name, style in styles(names).items():
        megabytes = payload_bytes(1) * result.run_traffic(name).mean(axis=0) / 1e6
        _draw(axes, megabytes, result, name, style)
    axes.set_xscale("log")
    axes.set_xlabel("payload sent, up and down (MB)")
    _finish(axes, title)
    return figure


def realised(traces: Mapping[str, Trace]) -> Figure:
    """What nature did in one run of each scenario: how late messages were, who was in contact."""
    figure = Figure(figsize=(7.2, 3.2), layout="constrained")
    delays, contacts = figure.subplots(1, 2)
    for (name, trace), colour in zip(traces.items(), ("#D55E00", "#0072B2"), strict=False):
        seen = trace.delay[trace.available]
        ages = np.arange(seen.max() + 1)
        share = [(seen >= age).mean() for age in ages]
        delays.step(ages, share, where="post", color=colour, label=name)
        rate = np.sort(trace.available.sum(axis=0))[::-1]
        contacts.plot(np.arange(1, rate.size + 1), rate, color=colour, label=name)
    delays.set_yscale("log")
    delays.set_xlabel("ticks")
    delays.set_title("share of messages delayed by at least", fontsize=10, loc="left")
    contacts.set_yscale("symlog", linthresh=1)
    contacts.set_xlabel("clients, busiest first")
    contacts.set_title("contacts of a client in one run", fontsize=10, loc="left")
    for axes in (delays, contacts):
        plain_axes(axes)
        axes.legend(fontsize=8, frameon=False)
    return figure


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


def live_beside(
    live: FloatArray,
    simulated: FloatArray,
    traffic: Mapping[str, tuple[FloatArray, FloatArray]],
    title: str,
    marks: Sequence[float] = (),
) -> Figure:
    """A live fleet's learning curve beside the simulator's, and the bytes of either way to share.

    `live` and `simulated` are mean squared errors by tick; `traffic` is (ticks, bytes) by name;
    `marks` are ticks at which server or broker were killed.
    """
    figure = Figure(figsize=(9.6, 3.8), layout="constrained")
    error, sent = figure.subplots(1, 2, width_ratios=(3, 2))
    ticks = np.arange(1, live.size + 1)
    error.plot(ticks, decibels(simulated), color="#777777", lw=3, alpha=0.6, label="simulated")
    error.plot(ticks, decibels(live), color="#D55E00", lw=1.4, label="live")
    for number, tick in enumerate(marks):
        label = "_" if number else "server or broker killed"
        error.axvline(tick, color="#0072B2", lw=0.8, ls=_DOTTED, label=label)
    error.set_title("mean squared error (dB)", fontsize=10, loc="left")
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    for (name, (x, y)), colour in zip(traffic.items(), ("#D55E00", "#000000"), strict=False):
        sent.plot(x, y / 1e3, color=colour, lw=1.4, label=name)
    sent.set_yscale("log")
    sent.set_title("bytes of MQTT, up and down (kB)", fontsize=10, loc="left")
    for axes in (error, sent):
        axes.set_xlabel("tick")
        axes.set_xlim(0, live.size)
        plain_axes(axes)
        axes.legend(fontsize=8, frameon=False)
    return figure


def literal(text: str) -> str:
    """A text of somebody else's as it stands: its dollar signs do not begin a formula."""
    return text.replace("$", r"\$")


def plain_axes(axes: Axes) -> None:
    """A faint grid and no box, as all figures have them."""
    axes.grid(alpha=0.25, lw=0.5)
    axes.spines[["top", "right"]].set_visible(False)


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


def _draw(axes: Axes, x: FloatArray, result: Result, name: str, style: Style) -> None:
    db, error = result.curve_db(name)
    finite = np.isfinite(db)
    x, db, error = x[finite], db[finite], error[finite]
    axes.plot(x, db, color=style.colour, linestyle=style.dashes, label=name, lw=1.4)
    if result.runs > 1:
        low, high = (db + sign * Z_95 * error for sign in (-1, 1))
        axes.fill_between(x, low, high, color=style.colour, alpha=0.15, lw=0)


def _mark(axes: Axes, drifts: Sequence[int]) -> list[LineCollection]:
    """Draw a line where the target changes; what to put into the legend."""
    if not drifts:
        return []
    upright = axes.get_xaxis_transform()  # x in ticks, y from the bottom to the top of the axes
    lines = axes.vlines(drifts, 0, 1, colors="#777777", transform=upright, label="target changes")
    lines.set(linestyle=_DOTTED, linewidth=0.8)
    return [lines]


def _finish(axes: Axes, title: str, marks: Sequence[Artist] = ()) -> None:
    """Title, grid, and a legend in the order in which the curves end, marks last."""
    axes.set_title(literal(title), fontsize=10, loc="left")
    axes.set_ylabel("mean squared error (dB)")
    plain_axes(axes)
    lines = sorted(axes.get_lines(), key=lambda line: -float(np.asarray(line.get_ydata())[-1]))
    handles = [*lines, *marks]
    axes.legend(handles=handles, fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))


def default_title(result: Result) -> str:
    """What was run: every figure says which step size and kernel width it used."""
    scenario = result.provenance["scenario"]
    runs = f"{result.runs} run{'s' if result.runs > 1 else ''}"
    width = float(f"{scenario['kernel_width']:.4g}")  # one of a table has all its digits
    return f"{scenario['name']}: {runs}, step size {scenario['step_size']}, kernel width {width}"


def svg(figure: Figure, name: str) -> str:
    """A figure as SVG text, with ids made from its name: several can stand in one page."""
    file = io.BytesIO()
    _write(figure, file, "svg", name)
    return file.getvalue().decode()


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format its name asks for, whole or not at all."""
    with replacing(path) as file:
        _write(figure, file, path.suffix.lstrip(".").lower() or "png", "paofed")


def save_all(gallery: Mapping[str, tuple[str, Figure]], folder: Path) -> dict[str, tuple[str, str]]:
    """Write figures, given with captions, as SVG and PNG; return captions and SVGs for a page."""
    drawings = {}
    for name, (caption, figure) in gallery.items():
        drawings[name] = caption, svg(figure, name)
        write_text(folder / f"{name}.svg", drawings[name][1])
        save(figure, folder / f"{name}.png")
    return drawings


def _write(figure: Figure, file: BinaryIO, kind: str, salt: str) -> None:
    """Text stays text in SVG, and nothing depends on when or where it was drawn."""
    metadata = {"Date": None} if kind == "svg" else None
    with (
        mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": salt}),
        warnings.catch_warnings(),
    ):
        # Names may be in any script: a browser has the letters, if the font of a PNG has not.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from", UserWarning)
        figure.savefig(file, format=kind, dpi=150, metadata=metadata)
