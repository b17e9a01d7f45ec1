"""A plan as a page: what to use, why, and everything that was tried."""

from collections.abc import Sequence

from markupsafe import Markup

from paofed.planning.record import FleetPlan
from paofed.planning.use import FILE, advice, commands
from paofed.racing.record import Tried, score_name
from paofed.report.shared.markup import Illustration, code, interval, number, page, table

_CHOSEN = Markup(" <strong>chosen</strong>")
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


def _front(plan: FleetPlan) -> Markup:
    rows = [
        [
            code(one.candidate.word) + (_CHOSEN if one is plan.chosen else ""),
            f"{one.contacts * plan.ticks:.3g}/{plan.period}",
            _bytes(plan, one.most),
            _bytes(plan, one.spends),
            interval(one.error),
            "" if one.gain is None else interval(one.gain),
            number(one.doubt),
            str(len(one.alike)),
        ]
        for one in plan.offers
    ]
    per = _per(plan)
    header = ["settings", "contacts", "budget " + per, "spends " + per, score_name(plan.units),
              "gain over the line above (dB)", "doubt (dB)", "may be as good"]  # fmt: skip
    return table(header, rows, range(1, 8))


def _bytes(plan: FleetPlan, per_tick: float) -> str:
    """Write bytes without the time in which they are spent: that is in the head of the column."""
    return plan.in_time(per_tick).partition("/")[0]


def _per(plan: FleetPlan) -> Markup:
    return Markup("/<wbr>").join(["", *plan.in_time(0.0).split("/")[1:]])


def _tried(plan: FleetPlan, some: Sequence[Tried]) -> Markup:
    rows = [
        [
            code(one.candidate),
            _bytes(plan, one.payload),
            interval(one.score),
            interval(one.behind),
            str(one.worlds),
            "" if one.dropped is None else f"after round {one.dropped}",
        ]
        for one in some
    ]
    header = [
        "candidate",
        "spends " + _per(plan),
        score_name(plan.units),
        "behind the winner (dB)",
        "worlds",
        "dropped",
    ]
    return table(header, rows, [1, 2, 3, 4])
