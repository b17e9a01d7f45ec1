"""A plan to look at: what to use and why, the front, and everything that was tried."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from paofed.core.tariffs import tariff_of
from paofed.experiments.plan.record import FleetPlan, Offer
from paofed.experiments.plan.use import FILE, advice, commands, scenario_file
from paofed.experiments.race.record import score_name
from paofed.experiments.trials import Tried
from paofed.report.shared.figures import legend_beside, literal, write_page
from paofed.report.shared.pages import Illustration, page
from paofed.report.shared.style import Drawing, styled
from paofed.table import (
    AT_MOST,
    COUNT,
    ESTIMATE,
    NAME,
    CellForm,
    ShownColumn,
    ShownTable,
    code,
    numeric,
)
from paofed.words import size

CAPTION = (
    "Error against bytes. Marks: the best for each budget in the worlds of the judgement, with "
    "95 % intervals; these are wide where worlds differ, and all marks rise and fall together (the "
    "gains in the table below are paired). Dots: what was tried, as far behind the best as the "
    "race saw it. The star is what was chosen, the dashed line the budget, the dotted one the "
    "error asked for. What is far worse than the front is left out."
)
_CHOSEN, _OFFER, _TRIED, _GONE = "#D55E00", "#0072B2", "#777777", "#C8C8C8"


def write(plan: FleetPlan, folder: Path, command: str) -> None:
    """Write the page, its figure, all numbers and the scenario; `command` is what repeats them."""
    write_page(
        folder / "plan.html",
        {"plan": (CAPTION, front(plan))},
        lambda drawings: build(plan, drawings["plan"], command),
        texts={
            "plan.json": json.dumps(plan.as_json(), indent=1) + "\n",
            FILE: scenario_file(plan, command),
        },
    )


@styled
def front(plan: FleetPlan) -> Figure:
    """Draw the front of a plan and everything that was tried."""
    figure = Drawing(figsize=(9.6, 4.4))
    axes = figure.add_subplot()
    _dots(axes, plan)
    for one in plan.offers:
        chosen = one is plan.chosen
        half = (one.error.high - one.error.low) / 2
        axes.errorbar(
            one.spends * plan.ticks, one.error.mean, half if math.isfinite(half) else None,
            fmt="*" if chosen else "o", ms=13 if chosen else 6, capsize=3, lw=1.2,
            color=_CHOSEN if chosen else _OFFER,
            label="chosen" if chosen else "best for its budget", zorder=4,
        )  # fmt: skip
    most = max(one.most for one in plan.offers)
    if plan.budget is not None:
        axes.axvline(most * plan.ticks, color=_OFFER, lw=1, ls="--", label=f"{plan.budget}")
    if plan.target is not None:
        axes.axhline(plan.target, color=_OFFER, lw=1, ls=":", label=f"{plan.target:g} dB")
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: size(x)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    _cut(axes, plan)
    tariff = tariff_of(plan.tariff)
    axes.set_xlabel(literal(f"per {plan.period} and device: {tariff.words or tariff.name}"))
    axes.set_ylabel(score_name(plan.over))
    axes.set_title(literal(plan.scenario.name))
    handles, labels = axes.get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    for label, handle in unique.items():
        handle.set_label(label)
    legend_beside(axes, list(unique.values()))
    return figure


def _heights(plan: FleetPlan) -> dict[str, float]:
    """Return the heights of the dots of candidates: their dB behind the best for the most bytes."""
    best = max(plan.offers, key=lambda one: one.most).error.mean
    return {
        one.candidate: best + one.behind.mean
        for one in plan.tried
        if math.isfinite(one.behind.mean)
    }


def _dots(axes: Axes, plan: FleetPlan) -> None:
    """Draw dots for the candidates tried: darker for those that stayed to the end."""
    heights = _heights(plan)
    for stayed, colour, label in (
        (False, _GONE, "tried, clearly worse in every budget"),
        (True, _TRIED, "tried, left to the end"),
    ):
        some = [
            one
            for one in plan.tried
            if (one.dropped is None) == stayed and one.candidate in heights
        ]
        if some:
            axes.plot(
                [one.payload * plan.ticks for one in some],
                [heights[one.candidate] for one in some],
                ls="none", marker="o", ms=3, color=colour, label=label,
            )  # fmt: skip


def _cut(axes: Axes, plan: FleetPlan) -> None:
    """Leave out candidates that are worse than the front by more than the front is high."""
    ends = [end for one in plan.offers for end in one.error[:3] if math.isfinite(end)]
    means = [one.error.mean for one in plan.offers]
    levels = [*ends, *([] if plan.target is None else [plan.target])]
    room = max(max(means) - min(means), 0.5)
    axes.set_ylim(min(levels) - 0.1 * room, max(*levels, max(means) + room))


_SHOWN = 60  # how many candidates the table shows


def build(plan: FleetPlan, drawing: tuple[str, str], command: str) -> str:
    """Return the whole page."""
    some = plan.tried[:_SHOWN]
    return page(
        "plan.html.j2",
        title=f"A plan for {plan.scenario.name}",
        plan=plan,
        drawing=Illustration.of(*drawing),
        commands=commands(plan, FILE),
        advice=advice(plan),
        offers=_front(plan),
        tried=_tried(plan, some),
        shown=len(some),
        command=command,
    )


def _front(plan: FleetPlan) -> ShownTable:
    def settings(one: Offer) -> str:
        chosen = " <strong>chosen</strong>" if one is plan.chosen else ""
        return f"{code(str(one.candidate.setup))}{chosen}"

    spent = _of_bytes(plan)
    columns = (
        ShownColumn("candidate", "settings", CellForm(str, settings, is_number=False)),
        ShownColumn("contacts", "contacts", numeric(lambda count: f"{count:.3g}/{plan.period}")),
        ShownColumn("most", f"budget {_per(plan)}", spent),
        ShownColumn("spends", f"spends {_per(plan)}", spent),
        ShownColumn("error", score_name(plan.over), ESTIMATE),
        ShownColumn("gain", "gain over the line above", ESTIMATE, "dB"),
        ShownColumn("at_most", "doubt", AT_MOST, "dB"),
        ShownColumn("alike", "may be as good", COUNT),
    )
    rows = [
        [one, one.contacts * plan.ticks, one.most, one.spends, one.error, one.gain, one.at_most,
         len(one.alike)]
        for one in plan.offers
    ]  # fmt: skip
    return ShownTable(columns, rows)


def _of_bytes(plan: FleetPlan) -> CellForm:
    """Return the form of bytes without the time in which they are spent: the heading has that."""
    return numeric(lambda per_tick: plan.in_time(per_tick).partition("/")[0])


def _per(plan: FleetPlan) -> str:
    return f"/{plan.in_time(0.0).partition('/')[2]}"


def _tried(plan: FleetPlan, some: Sequence[Tried]) -> ShownTable:
    columns = (
        ShownColumn("candidate", "candidate", NAME),
        ShownColumn("payload", f"spends {_per(plan)}", _of_bytes(plan)),
        ShownColumn("score", score_name(plan.over), ESTIMATE),
        ShownColumn("behind", "behind the winner", ESTIMATE, "dB"),
        ShownColumn("worlds", "worlds", COUNT),
        ShownColumn("dropped", "dropped"),
    )
    rows = [
        [one.candidate, one.payload, one.score, one.behind, one.worlds,
         None if one.dropped is None else f"after round {one.dropped}"]
        for one in some
    ]  # fmt: skip
    return ShownTable(columns, rows)
