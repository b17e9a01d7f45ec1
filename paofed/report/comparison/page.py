"""The comparison at equal bytes: what was judged, who leads with each budget, how that looks."""

import csv
import json
import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paofed.core.tariffs import tariff_of
from paofed.errors import FileError
from paofed.files import read_text
from paofed.report.shared.figures import bytes_sent, logarithmic
from paofed.report.shared.pages import drawn, page
from paofed.report.shared.style import Drawing, styled
from paofed.simulate.results.estimates import Estimate
from paofed.table import COUNT, ESTIMATE, NAME, ShownColumn, ShownTable, in_files, number, numeric
from paofed.words import MEAN_DB, counted, listed, size

PAO_FED = ("pao-fed-u", "pao-fed-c")  # the entrants with which others are compared


class Purse(NamedTuple):
    """A number of bytes on the wire, of a whole fleet over a whole run, under a tariff."""

    tariff: str
    budget: str
    bytes: float


class Judged(NamedTuple):
    """One entrant with the settings it chose for one purse, in the worlds of judgement."""

    setting: str
    purse: Purse
    entrant: str
    word: str
    bytes: float  # on the wire, under the tariff of the purse
    error: Estimate  # in dB, mean over worlds or, over a table, devices
    # DB by which it is worse than PAO-Fed with this purse; None: PAO-Fed has nothing for it. The
    # intervals of all differences of a comparison hold together with 95 %.
    behind: Estimate | None
    on_front: bool  # whether nothing that costs no more is clearly better, under this tariff
    against: str | None  # PAO-Fed's settings that `behind` is held against

    @property
    def verdict(self) -> str:
        """What the difference to PAO-Fed says, in words."""
        if not math.isfinite(self.error.mean):
            return "diverged"
        if self.entrant in PAO_FED:
            return "PAO-Fed"
        if self.behind is None:
            return "PAO-Fed does not fit"
        words = {"holds": "worse", "does not hold": "better"}
        return words.get(self.behind.verdict, self.behind.verdict)


def found_in_order(found: Sequence[Judged]) -> list[Judged]:
    """Sort by setting and tariff as they were run, then by budget, the best first."""
    places = list(dict.fromkeys(place(one) for one in found))
    budgets = list(dict.fromkeys(one.purse.budget for one in found))

    def rank(one: Judged) -> tuple[int, int, float]:
        mean = one.error.mean
        worst = mean if math.isfinite(mean) else math.inf  # entrants that diverged come last
        return places.index(place(one)), budgets.index(one.purse.budget), worst

    return sorted(found, key=rank)


def place(one: Judged) -> tuple[str, str]:
    """Return the setting and the tariff under which something was judged."""
    return one.setting, one.purse.tariff


def every_number(found: Sequence[Judged]) -> ShownTable:
    """Return every number, as `load` reads it."""
    keys = (
        "setting", "tariff", "budget", "budget_bytes", "entrant", "word", "bytes",
        ("db", "low", "high", "units"), ("behind", "behind_low", "behind_high"),
        "verdict", "on_front", "against",
    )  # fmt: skip
    rows = [
        [one.setting, *one.purse, one.entrant, one.word, one.bytes, one.error, one.behind,
         one.verdict, "yes" if one.on_front else "no", one.against]
        for one in found
    ]  # fmt: skip
    return in_files(keys, rows)


def load(path: Path) -> list[Judged]:
    """Read the CSV of every number."""
    lines = csv.DictReader(read_text(path).splitlines())
    if lines.fieldnames != every_number([]).header:
        raise FileError(
            f"{path} is no comparison: expected a compare.csv of `python -m lab compare`"
        )
    return [_read(line) for line in lines]


def _read(line: Mapping[str, str]) -> Judged:
    def estimate_of(mean: str, low: str, high: str) -> Estimate:
        return Estimate(float(line[mean]), float(line[low]), float(line[high]), int(line["units"]))

    return Judged(
        setting=line["setting"],
        purse=Purse(line["tariff"], line["budget"], float(line["budget_bytes"])),
        entrant=line["entrant"],
        word=line["word"],
        bytes=float(line["bytes"]),
        error=estimate_of("db", "low", "high"),
        behind=estimate_of("behind", "behind_low", "behind_high") if line["behind"] else None,
        on_front=line["on_front"] == "yes",
        against=line["against"] or None,
    )


class BudgetLine(NamedTuple):
    """One budget in one setting."""

    ours: Judged | None  # the version of PAO-Fed that others are held against, if one fits
    best: Judged  # the best of all entrants, by the mean error
    ahead: tuple[str, ...]  # entrants that are clearly better than PAO-Fed, the best first


def digest(found: Sequence[Judged]) -> list[BudgetLine]:
    """Return all budgets that any sound entrant fits, in the order in which they were run."""
    lines = []
    for _, group in groupby(found_in_order(found), key=lambda one: (one.setting, one.purse[:2])):
        sound = [one for one in group if one.verdict != "diverged"]
        if sound:
            own = (one for one in sound if one.entrant in PAO_FED and one.word == one.against)
            ours = next(own, None)
            ahead = tuple(one.entrant for one in sound if one.verdict == "better")
            lines.append(BudgetLine(ours, sound[0], ahead))
    return lines


def summary(found: Sequence[Judged]) -> str:
    """Say in how many comparisons anything beats PAO-Fed at equal bytes, and what does."""
    held = [one for one in found if one.entrant not in PAO_FED and one.behind is not None]
    better = [one.entrant for one in held if one.verdict == "better"]
    if not better:
        return (
            f"Nothing beats PAO-Fed clearly ({worlds(found)}) in any of "
            f"{counted(len(held), 'comparison')} at equal bytes."
        )
    most = sorted(dict.fromkeys(better), key=lambda name: -better.count(name))
    named = listed([f"{name} in {better.count(name)}" for name in most])
    return (
        f"In {len(better)} of {counted(len(held), 'comparison')} at equal bytes something beats "
        f"PAO-Fed clearly ({worlds(found)}): {named}."
    )


def worlds(found: Sequence[Judged]) -> str:
    """Say in how many worlds entrants were judged; over a table, devices are in their place."""
    counts = sorted({one.error.runs for one in found})
    return (
        counted(counts[0], "world") if len(counts) == 1 else f"{counts[0]} to {counts[-1]} worlds"
    )


FOLDER = Path(__file__).parent / "published"


class Published(NamedTuple):
    """What was found, by which command, with which versions of the packages it needs."""

    found: list[Judged]
    command: str
    versions: Mapping[str, str]


def published() -> Published:
    """Read the published comparison from the package."""
    about = json.loads(read_text(FOLDER / "about.json"))
    return Published(load(FOLDER / "compare.csv"), about["command"], about["versions"])


_COLUMNS = 3
_NOTICEABLE = 0.1  # dB: an entrant leads only if it is better by more than this
_LINE, _NAME = 9.5, 8  # points: the height of a line of names, and of their letters
_LEAST_SPAN = 10.0  # the least ratio of the most and the fewest bytes that a panel shows
_LEFT, _RIGHT = 0.8, 0.1  # room beside the marks, as a share of the decades that they span
_MOST_TICKS = 5  # labels below a panel
_HIGH, _ALONE = 2.0, 3.2  # inches: the height of a panel among several rows, and of one row
_AROUND = 0.6  # inches above and below the axes of a panel
_OURS, _LEADING, _OTHERS = "#D55E00", "#0072B2", "#AAAAAA"


def figures(found: Sequence[Judged]) -> dict[str, tuple[str, Figure]]:
    """Return one figure for each tariff, with its caption, by name."""
    tariffs = dict.fromkeys(one.purse.tariff for one in found)
    return {
        f"compare-{number}": (caption(tariff), error_against_bytes(found, tariff))
        for number, tariff in enumerate(tariffs, 1)
    }


def caption(tariff: str) -> str:
    """Return the caption of the figure of one tariff."""
    told = tariff_of(tariff)
    return (
        f"Error against what fleet and server send in a run ({told.words or told.name}). One mark "
        f"for what an entrant chose for a budget; the line is the least error for so many bytes, "
        f"and whoever lowers it by {_NOTICEABLE} dB is named. What is worse than a panel shows is "
        f"left out."
    )


@styled
def error_against_bytes(found: Sequence[Judged], tariff: str) -> Figure:
    """Draw what the entrants reach for their bytes under one tariff, and who leads."""
    shown = [one for one in found if one.purse.tariff == tariff and math.isfinite(one.error.mean)]
    settings = list(dict.fromkeys(one.setting for one in shown))
    columns = min(_COLUMNS, len(settings) + 1)
    rows = math.ceil((len(settings) + 1) / columns)
    high = _HIGH if rows > 1 else _ALONE
    figure = Drawing(figsize=(3.2 * columns, high * rows))
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, setting in zip(panels, settings, strict=False):
        _panel(panel, [one for one in shown if one.setting == setting], 72 * (high - _AROUND))
        panel.set_title(setting)
    for panel in panels[len(settings) :]:
        panel.set_axis_off()
    handles, labels = panels[0].get_legend_handles_labels()
    panels[len(settings)].legend(handles, labels, loc="center")
    figure.supxlabel(bytes_sent(tariff), fontsize=9)
    figure.supylabel(f"squared error ({MEAN_DB})", fontsize=9)
    return figure


def leaders(shown: Sequence[Judged]) -> list[Judged]:
    """Return the entrants with the least error for their bytes, from the fewest bytes on."""
    ordered, found = sorted(shown, key=lambda one: (one.bytes, one.error.mean)), list[Judged]()
    for one in ordered:
        if not found or one.error.mean < found[-1].error.mean - _NOTICEABLE:
            found.append(one)
    return found


def _panel(axes: Axes, shown: Sequence[Judged], points: float) -> None:
    """Draw one setting into axes that are about so many `points` high."""
    leading = leaders(shown)
    others = [one for one in shown if one.entrant not in PAO_FED and one not in leading]
    _marks(axes, others, label="others", color=_OTHERS, marker="o", ms=3)
    first = [one for one in leading if one.entrant not in PAO_FED]
    _marks(axes, first, label="others that lead", color=_LEADING, marker="o", ms=4)
    for name in PAO_FED:
        ours = [one for one in shown if one.entrant == name]
        filled = _OURS if name == PAO_FED[0] else "white"
        _marks(axes, ours, label=name, color=_OURS, marker="*", ms=8, mfc=filled)
    most = max(one.bytes for one in shown)
    axes.step(
        [one.bytes / 1e6 for one in leading] + [most / 1e6],
        [one.error.mean for one in leading] + [leading[-1].error.mean],
        where="post", color=_LEADING, lw=0.8, zorder=0, label="least error for so many bytes",
    )  # fmt: skip
    logarithmic(axes.xaxis, _MOST_TICKS)
    least = min(one.bytes for one in shown)
    span = max(most / least, _LEAST_SPAN)
    axes.set_xlim(least / 1e6 / span**_LEFT, most / 1e6 * span**_RIGHT)
    _cut(axes, shown)
    _name(axes, leading, points)


def _name(axes: Axes, leading: Sequence[Judged], points: float) -> None:
    """Write the names of the leaders to the left of their marks, no two over each other.

    The line of leaders falls to the right, so a name moves down below the one before it, and up
    again where there is no more room below.
    """
    place = axes.transScale + axes.transLimits  # maps data to a share of the axes
    marks = [(one.bytes / 1e6, one.error.mean) for one in leading]
    at = [float(place.transform(mark)[1]) * points for mark in marks]
    tops = list[float]()
    for height in at:
        tops.append(min([height - 3, *(top - _LINE for top in tops[-1:])]))
    for i in reversed(range(len(tops))):
        tops[i] = max(tops[i], (len(tops) - i) * _LINE)
    for one, mark, height, top in zip(leading, marks, at, tops, strict=True):
        axes.annotate(
            one.entrant, mark, (-4, top - height), textcoords="offset points",
            fontsize=_NAME, ha="right", va="top",
        )  # fmt: skip


def _marks(axes: Axes, shown: Sequence[Judged], **look: Any) -> None:
    """Draw one mark for each entrant and budget; equal settings for two budgets share a mark."""
    places = dict.fromkeys((one.bytes / 1e6, one.error.mean) for one in shown)
    axes.plot([x for x, _ in places], [y for _, y in places], ls="none", **look)


def _cut(axes: Axes, shown: Sequence[Judged]) -> None:
    """Leave out entrants that are far worse than all of PAO-Fed: by half of the height or more."""
    best = min(one.error.mean for one in shown)
    worst = max([one.error.mean for one in shown if one.entrant in PAO_FED] or [best])
    worst = max(worst, max(one.error.mean for one in leaders(shown)))
    room = max(worst - best, 0.5)
    axes.set_ylim(best - 0.6 * room, worst + 0.5 * room)


def in_short(found: Sequence[Judged], drawings: Mapping[str, tuple[str, str]]) -> Markup:
    """Return what is found for a page that is about more: a line for every budget."""
    return page(
        "comparison.html.j2",
        summary=summary(found),
        worlds=worlds(found),
        figures=[*drawn(drawings).values()],
        digest=digest_table(found),
    )


def _error_and_bytes(one: Judged) -> str:
    return f"{number(one.error.mean)}, {size(one.bytes)}"


def digest_table(found: Sequence[Judged]) -> ShownTable:
    """Return a line for every budget: what PAO-Fed reaches, and what reaches the least error."""
    reached = numeric(_error_and_bytes)
    columns = (
        ShownColumn("where", "setting, tariff, budget"),
        ShownColumn("ours", f"PAO-Fed: {MEAN_DB}, sent", reached, missing="none fits"),
        ShownColumn("best", "least error", NAME),
        ShownColumn("its", f"its {MEAN_DB}, sent", reached),
        ShownColumn("behind", "behind PAO-Fed", ESTIMATE, "dB"),
        ShownColumn("ahead", f"clearly better ({worlds(found)})", COUNT),
    )
    rows = [
        [f"{best.setting}, {best.purse.tariff}, {best.purse.budget}", ours, best.word, best,
         None if best is ours else best.behind, len(ahead)]
        for ours, best, ahead in digest(found)
    ]  # fmt: skip
    return ShownTable(columns, rows)
