"""Error against bytes: the front of a plan, and everything that was tried."""

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paofed.core.tariffs import tariff_of
from paofed.planning.record import FleetPlan
from paofed.report.shared.figures import literal, plain_axes

CAPTION = (
    "Error against bytes. Dots: what was tried, as the race last saw it. Marks with 95 % "
    "intervals: the best for each budget, in the worlds of the judgement; the star is what was "
    "chosen. The dashed line is the budget, the dotted one the error asked for. What is far worse "
    "than the front is left out."
)
_CHOSEN, _OFFER, _TRIED, _GONE = "#D55E00", "#0072B2", "#777777", "#C8C8C8"


def front(plan: FleetPlan) -> Figure:
    """Draw it."""
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
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
    _cut(axes, plan)
    tariff = tariff_of(plan.tariff)
    axes.set_xlabel(
        literal(f"bytes/{plan.period}/device, both ways: {tariff.words or tariff.name}")
    )
    axes.set_ylabel("mean squared error (dB)")
    axes.set_title(literal(plan.scenario.name), fontsize=10, loc="left")
    plain_axes(axes)
    handles, labels = axes.get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    axes.legend(unique.values(), unique.keys(), fontsize=8, frameon=False)
    return figure


def _tried(axes: Axes, plan: FleetPlan) -> None:
    """Dots for what was tried: darker where it stayed to the end."""
    for stayed, colour, label in (
        (False, _GONE, "tried, clearly worse in every budget"),
        (True, _TRIED, "tried, left to the end"),
    ):
        some = [
            one for one in plan.tried
            if (one.dropped is None) == stayed and math.isfinite(one.score.mean)
        ]  # fmt: skip
        if some:
            axes.plot([one.payload * plan.ticks for one in some], [one.score.mean for one in some],
                      ls="none", marker="o", ms=3, color=colour, label=label)  # fmt: skip


def _cut(axes: Axes, plan: FleetPlan) -> None:
    """Leave out what is worse than the front by more than it is high."""
    means = [one.error.mean for one in plan.offers] + [
        one.score.mean for one in plan.tried if one.dropped is None
    ]
    levels = [*means, *([] if plan.target is None else [plan.target])]
    room = max(max(means) - min(means), 0.5)
    axes.set_ylim(min(levels) - 0.25 * room, max(*levels, max(means) + room))
