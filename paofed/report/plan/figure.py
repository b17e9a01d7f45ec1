"""Error against bytes: the front of a plan, and everything that was tried."""

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from paofed.core.tariffs import tariff_of
from paofed.planning.record import FleetPlan
from paofed.racing.record import score_name
from paofed.report.shared.figures import legend_beside, literal
from paofed.report.shared.style import Drawing, styled
from paofed.words import size

CAPTION = (
    "Error against bytes. Marks: the best for each budget in the worlds of the judgement, with "
    "95 % intervals; these are wide where worlds differ, and all marks rise and fall together (the "
    "gains in the table below are paired). Dots: what was tried, as far behind the best as the "
    "race saw it. The star is what was chosen, the dashed line the budget, the dotted one the "
    "error asked for. What is far worse than the front is left out."
)
_CHOSEN, _OFFER, _TRIED, _GONE = "#D55E00", "#0072B2", "#777777", "#C8C8C8"


@styled
def front(plan: FleetPlan) -> Figure:
    """Draw the front of a plan and everything that was tried."""
    figure = Drawing(figsize=(9.6, 4.4))
    axes = figure.add_subplot()
    _tried(axes, plan)
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
    axes.set_ylabel(score_name(plan.units))
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


def _tried(axes: Axes, plan: FleetPlan) -> None:
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
