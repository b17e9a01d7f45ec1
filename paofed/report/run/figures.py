"""Figures of a run over a table: error over time, by device, over lives, and of newcomers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import matplotlib.dates as mdates
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paofed.core.arrays import FloatArray, IntArray
from paofed.core.tariffs import Tariff
from paofed.report.run.by_labels import AtShare, BestBeside, percent
from paofed.report.run.gains import Stage, horizons, newcomers, periods, stages, stops_paying
from paofed.report.shared.figures import bytes_sent, legend_beside, literal, logarithmic
from paofed.report.shared.looks import (
    UNNAMED,
    baseline_look,
    cast,
    default_title,
    entries,
    method_name,
    styles,
)
from paofed.report.shared.style import Drawing, styled
from paofed.simulate.results.estimates import TIE
from paofed.simulate.results.lives import Lives
from paofed.simulate.results.progressive import MODELS, ColdStart, Progressive, Whose
from paofed.simulate.results.result import Result
from paofed.words import counted

WIDE = {"lw": 3.0, "alpha": 0.6, "zorder": 1}  # baselines lie under the algorithms
_PANELS: Mapping[Whose, str] = {
    "device": "the models on the devices",
    "server": "the server's model",
}
_MOST_NAMES = 40  # the most devices that can be told apart on one axis
_EXTREMES = 10  # of more devices, so many of the best and of the worst are shown
_LONGEST_NAME = 32  # letters of a name that leave room for the errors
_QUANTILES = 101  # points of a distribution
_FEW = 10  # up to so many points each has a mark, since a single point draws no line

# Formats of labels with years, months, days, hours, minutes and seconds: each label is complete by
# itself.
_DATES = ("%Y", "%b", "%d %b", "%H:%M", "%H:%M", "%S.%f")
_FIRSTS = ("", "%Y", "%d %b", "%d %b", "%H:%M", "%H:%M")
_BESIDE_DATES = ("", "%Y", "%Y", "%d %b %Y", "%d %b %Y", "%d %b %Y %H:%M")


@styled
def over_time(result: Result, judged: Progressive) -> Figure:
    """Draw the error on the samples to come: of the models on the devices, and of the server's."""
    figure = Drawing(figsize=(9.6, 7.2))
    panels = figure.subplots(2, 1, sharex=True)
    for axes, (whose, title) in zip(panels, _PANELS.items(), strict=True):
        for name in judged.baselines:
            look = baseline_look(name)
            if look.whose == whose:
                x, y = periods(result, judged, name, "baseline")
                axes.plot(x, y, color=look.colour, ls=look.dashes, marker=_dot(y), label=name,
                          **WIDE)  # fmt: skip
        models(axes, result, judged, whose, partial(periods, result, judged))
        finish(axes, title)
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
    figure.suptitle(literal(default_title(result)), x=0.01, ha="left")
    return figure


@styled
def against_traffic(result: Result, judged: Progressive, tariff: Tariff | str) -> Figure:
    """Draw the error on all samples so far over the bytes sent so far by all, under a tariff.

    The error is not that of a day: with the same bytes, two algorithms are at different days.
    """
    figure = Drawing(figsize=(9.6, 7.2))
    panels = figure.subplots(2, 1, sharex=True)

    def curve(name: str, whose: Whose) -> tuple[FloatArray, FloatArray]:
        sent: FloatArray = result.run_wire(name, tariff).both.mean(axis=0) / 1e6
        return sent, judged.until_db(name, whose)

    for axes, (whose, title) in zip(panels, _PANELS.items(), strict=True):
        models(axes, result, judged, whose, curve)
        finish(axes, title)
        axes.set_ylabel("error (dB)")
    logarithmic(axes.xaxis)
    axes.set_xlabel(bytes_sent(tariff))
    figure.suptitle(literal(default_title(result)), x=0.01, ha="left")
    return figure


def models(
    axes: Axes,
    result: Result,
    judged: Progressive,
    whose: Whose,
    curve: Callable[[str, Whose], tuple[Any, FloatArray]],
) -> None:
    """Draw the models of every algorithm: in colour where there is a name, else in grey."""
    texts = entries(result, result.algorithms)
    who = cast({name: judged.final(name, whose).db for name in result.algorithms})
    for name, style in styles(who.named).items():
        x, y = curve(name, whose)
        axes.plot(x, y, color=style.colour, ls=style.dashes, marker=_dot(y), lw=1.3,
                  label=texts[name])  # fmt: skip
    for number, name in enumerate(who.others):
        x, y = curve(name, whose)
        label = "_" if number else who.others_label
        axes.plot(x, y, color=UNNAMED.colour, lw=0.7, zorder=1.5, label=label)


@styled
def by_device(result: Result, judged: Progressive, names: Sequence[str]) -> Figure:
    """Draw the error of every device, the one that is predicted best on top.

    Of devices that are too many to be named, draw the distribution of errors, and the best and the
    worst.
    """
    # Upwards from the worst; a device without samples has no error to sort by, and stands below.
    order = np.argsort(-np.nan_to_num(judged.by_device_db(names[0], "device"), nan=np.inf),
                       kind="stable")  # fmt: skip
    heard = order[judged.device_samples[order] > 0]
    shown = order if len(order) <= _MOST_NAMES else heard
    learners = list(_learners(judged, names, entries(result, names)))
    title = literal(default_title(result, names))
    if len(shown) <= _MOST_NAMES:
        figure = Drawing(figsize=(9.6, 2.2 + 0.24 * len(shown)))
        axes = figure.add_subplot()
        _rows(axes, judged, learners, shown, np.arange(len(shown)))
        finish(axes, title)
        return figure
    figure = Drawing(figsize=(9.6, 9.6))
    distribution, extremes = figure.subplots(2, 1, sharex=True, height_ratios=(2, 3))
    _distribution(distribution, learners, shown)
    between = f"{len(shown) - 2 * _EXTREMES:,} others"
    # Leaves room for the others between them.
    place = np.arange(2 * _EXTREMES) + np.repeat((0, 2), _EXTREMES)
    _rows(extremes, judged, learners, np.append(shown[:_EXTREMES], shown[-_EXTREMES:]), place)
    extremes.text(0.5, _EXTREMES + 0.5, between, transform=extremes.get_yaxis_transform(),
                  ha="center", va="center", fontsize=8, color="#777777")  # fmt: skip
    first = literal(method_name(names[0]))
    extremes.set_title(f"the {_EXTREMES} best and the {_EXTREMES} worst by {first} on the device")
    figure.suptitle(title, x=0.01, ha="left")
    return figure


@styled
def newcomers_over_horizons(result: Result, cold: ColdStart) -> Figure:
    """Draw the error of devices that join late, over their first day, week and month."""
    labels = horizons(result, cold)
    figure = Drawing(figsize=(9.6, 3.8))
    panels = figure.subplots(1, 2, sharey=True)
    place = np.arange(len(labels))
    ways = {
        "whole": "begins with the server's model",
        "windows": "begins as the fleet did, takes part",
    }
    found = list(newcomers(cold))
    who = cast({newcomer.name: newcomer.errors[0] for newcomer in found if newcomer.way == "whole"})
    looks, texts = styles(who.named), entries(result, cold.algorithms.tolist())
    for axes, (way, title) in zip(panels, ways.items(), strict=True):
        for name, errors in cold.beside.items():
            look = baseline_look(name)
            y = cold.pooled_db(errors)
            axes.plot(place, y, color=look.colour, ls=look.dashes, marker=look.marker, ms=7, mew=2,
                      label=name, **WIDE)  # fmt: skip
        joined = {newcomer.name: newcomer.errors for newcomer in found if newcomer.way == way}
        for name, style in looks.items():
            axes.plot(place, joined[name], color=style.colour, ls=style.dashes, lw=1.4, marker="o",
                      ms=4, label=texts[name])  # fmt: skip
        for number, name in enumerate(who.others):
            label = "_" if number else who.others_label
            axes.plot(place, joined[name], ".-", color=UNNAMED.colour, lw=0.7, zorder=1.5,
                      label=label)  # fmt: skip
        axes.set_xticks(place, [f"first {label}" for label in labels])
        axes.set_xlim(-0.3, len(labels) - 0.7)
        axes.set_title(title)
    panels[0].set_ylabel("error (dB)")
    figure.suptitle(literal(default_title(result)), x=0.01, ha="left")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right upper")
    return figure


class _Learner(NamedTuple):
    """The errors of one model or baseline by device, and how they look."""

    errors: FloatArray
    label: str
    colour: str
    marker: str
    dashes: str | tuple[int, tuple[float, ...]]
    filled: bool = False


def _learners(
    judged: Progressive, names: Sequence[str], texts: Mapping[str, str]
) -> Iterator[_Learner]:
    for name in judged.baselines:
        look = baseline_look(name)
        errors = judged.by_device_db(name, "baseline")
        yield _Learner(errors, name, look.colour, look.marker, look.dashes)
    for name, style in styles(names).items():
        for whose in MODELS:
            errors, filled = judged.by_device_db(name, whose), whose == "device"
            label = f"{texts[name]}, {whose}"
            yield _Learner(errors, label, style.colour, "o", style.dashes, filled)


def _rows(
    axes: Axes,
    judged: Progressive,
    learners: Sequence[_Learner],
    devices: IntArray,
    place: IntArray,
) -> None:
    """Draw a row for each of some devices, with their errors."""
    for learner in learners:
        axes.plot(learner.errors[devices], place, ls="", **_mark(learner))
    names = [literal(_short(name)) for name in judged.devices[devices].tolist()]
    axes.set_yticks(place, names, fontsize=8)
    axes.set_xlabel("error (dB)")


def _distribution(axes: Axes, learners: Sequence[_Learner], devices: IntArray) -> None:
    """Draw, for every learner, the share of devices whose error is at most a value."""
    upto = np.linspace(0, len(devices) - 1, _QUANTILES).round().astype(np.int64)
    share = 100 * (upto + 1) / len(devices)
    for learner in learners:
        ordered = np.sort(np.nan_to_num(learner.errors[devices], nan=np.inf, posinf=np.inf,
                                        neginf=-np.inf))  # fmt: skip
        axes.plot(ordered[upto], share, ls=learner.dashes, lw=1.2, color=learner.colour,
                  markevery=10, **_mark(learner))  # fmt: skip
    many = counted(len(devices), "device")
    finish(axes, f"how many of {many} have at most this error (%)")


def _mark(learner: _Learner) -> dict[str, Any]:
    face = learner.colour if learner.filled else "none"
    size = 13 if learner.marker == "|" else 6  # so that a bar can be seen behind a dot
    return {"marker": learner.marker, "ms": size, "mew": 1.3, "label": learner.label,
            "markeredgecolor": learner.colour, "markerfacecolor": face}  # fmt: skip


def _dot(errors: FloatArray) -> str:
    return "." if np.isfinite(errors).sum() < _FEW else ""


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def finish(axes: Axes, title: str) -> None:
    """Add a title, a faint grid, and a legend beside the axes."""
    axes.set_title(title)
    legend_beside(axes, axes.get_legend_handles_labels()[0])


_MOST_ENTRIES = 18  # of a legend: of more algorithms, only some have names


@styled
def over_lives(result: Result, judged: Progressive, lives: Lives, name: str) -> Figure:
    """Draw the error on devices by the readings they have had, and the gain of one algorithm."""
    found = list(stages(lives, name))
    alone = [name for name in judged.baselines if baseline_look(name).whose == "device"]
    entries = len(alone) + len(result.algorithms)
    # As low as the legend allows, so that the first screen of a page shows all of it.
    figure = Drawing(figsize=(9.6, max(5.0, 1.5 + 0.28 * min(entries, _MOST_ENTRIES))))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    place = np.arange(lives.stages)
    for baseline in alone:
        look = baseline_look(baseline)
        above.plot(place, lives.stage_db(baseline, "baseline"), color=look.colour, ls=look.dashes,
                   marker=".", label=baseline, **WIDE)  # fmt: skip
    models(above, result, judged, "device", lambda n, whose: (place, lives.stage_db(n, whose)))
    finish(above, "the models on the devices")
    above.set_ylabel("error (dB)")
    _gains(below, found, name, styles(result.algorithms)[name].colour)
    below.set_xticks(place, [str(1 << stage) for stage in place.tolist()])
    below.set_xlabel("readings that the device has had, from this number to the next")
    figure.suptitle(literal(default_title(result)), x=0.01, ha="left")
    return figure


@styled
def over_label_shares(result: Result, found: Sequence[AtShare]) -> Figure:
    """Draw errors on devices over the share of labels: methods, being alone, and the pooled fit."""
    kinds = list(dict.fromkeys(one.worth.whom for one in found))
    figure = Drawing(figsize=(9.6, 0.8 + 2.7 * len(kinds)))
    panels = figure.subplots(len(kinds), 1, sharex=True, squeeze=False)[:, 0]
    shares = np.unique([one.share for one in found])
    texts = entries(result, result.algorithms)
    last = {one.worth.name: one.worth.db for one in found if one.worth.whom == kinds[0]}
    who = cast(last)
    looks = styles(who.named) | dict.fromkeys(who.others, UNNAMED)
    for axes, whom in zip(panels, kinds, strict=True):
        of_kind = [one for one in found if one.worth.whom == whom]
        one_method = [one.worth for one in of_kind if one.worth.name == result.algorithms[0]]
        _beside(axes, shares, [worth.alone for worth in one_method], "#777777", _ALONE)
        _beside(axes, shares, [worth.pooled for worth in one_method], "#8C6D31", _POOLED)
        for name, style in looks.items():
            mine = [one.worth for one in of_kind if one.worth.name == name]
            db = [worth.db for worth in mine]
            label = texts[name] if name in who.named else f"_{name}"
            axes.plot(shares, db, color=style.colour, ls=style.dashes, lw=1.3, marker="o", ms=5,
                      markerfacecolor="white", label=label)  # fmt: skip
            pays = [worth.alone.gain.verdict == "holds" for worth in mine]
            axes.plot(shares[pays], np.array(db)[pays], color=style.colour, ls="",
                      marker="o", ms=5)  # fmt: skip
        finish(axes, f"devices {whom}")
        axes.set_ylabel("error (dB)")
    panels[-1].set_xscale("log")
    panels[-1].set_xticks(shares, list(map(percent, shares.tolist())))
    panels[-1].minorticks_off()
    panels[-1].set_xlabel("samples that have labels")
    figure.suptitle(literal(default_title(result)), x=0.01, ha="left")
    return figure


_ALONE, _POOLED = "the best way\nof being alone", "the better fit\nat one place"


def _beside(
    axes: Axes, shares: FloatArray, found: Sequence[BestBeside], colour: str, label: str
) -> None:
    """Draw the errors of the best baseline of a kind, if any was judged."""
    if any(one.name for one in found):
        look: dict[str, Any] = {**WIDE, "color": colour, "label": label}
        axes.plot(shares, [one.db for one in found], **look)


def _gains(axes: Axes, found: Sequence[Stage], name: str, colour: str) -> None:
    """Draw the gain over the best way of being alone at every stage, and where it stops paying."""
    place = np.log2([stage.first for stage in found])
    mean, low, high = np.array([stage.gain[:3] for stage in found]).T
    half = np.nan_to_num([mean - low, high - mean])
    axes.axhspan(-TIE, TIE, color="#eeeeee", zorder=0, label="a tie")
    axes.axhline(0, color="#777777", lw=1)
    axes.errorbar(place, mean, yerr=half, color=colour, marker="o", ms=4, lw=1.3, capsize=3,
                  label=f"{method_name(name)}\n95 % intervals\nover devices")  # fmt: skip
    stop = stops_paying(found)
    if stop is not None and stop > 1:
        axes.axvline(np.log2(stop) - 0.5, color="#777777", lw=1, ls=(0, (5, 2)),
                     label="stops paying here")  # fmt: skip
    begin = next((stage.first for stage in found if stage.pays), 1)
    to_the_end = f"it pays from reading {begin} on" if begin > 1 else "it pays throughout"
    told = {None: to_the_end, 1: "it never pays"}.get(stop, "")
    finish(axes, f"gain over the best way of being alone{': ' if told else ''}{told}")
    axes.set_ylabel("gain (dB)")
