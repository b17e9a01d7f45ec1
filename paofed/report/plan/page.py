"""A plan as a page: what to use, why, and everything that was tried."""

from collections.abc import Sequence

from paofed.planning.record import FleetPlan, Offer
from paofed.planning.use import FILE, advice, commands
from paofed.racing.record import Tried, score_name
from paofed.report.shared.markup import Illustration, page
from paofed.table import (
    COUNT,
    ESTIMATE,
    NAME,
    NUMBER,
    CellForm,
    ShownColumn,
    ShownTable,
    code,
    numeric,
)

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
        return f"{code(one.candidate.word)}{chosen}"

    spent = _of_bytes(plan)
    columns = (
        ShownColumn("candidate", "settings", CellForm(str, settings, is_number=False)),
        ShownColumn("contacts", "contacts", numeric(lambda count: f"{count:.3g}/{plan.period}")),
        ShownColumn("most", f"budget {_per(plan)}", spent),
        ShownColumn("spends", f"spends {_per(plan)}", spent),
        ShownColumn("error", score_name(plan.units), ESTIMATE),
        ShownColumn("gain", "gain over the line above", ESTIMATE, "dB"),
        ShownColumn("doubt", "doubt", NUMBER, "dB"),
        ShownColumn("alike", "may be as good", COUNT),
    )
    rows = [
        [one, one.contacts * plan.ticks, one.most, one.spends, one.error, one.gain, one.doubt,
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
        ShownColumn("score", score_name(plan.units), ESTIMATE),
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
