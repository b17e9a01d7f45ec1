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
    Column,
    Form,
    Table,
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


def _front(plan: FleetPlan) -> Table:
    def settings(one: Offer) -> str:
        chosen = " <strong>chosen</strong>" if one is plan.chosen else ""
        return f"{code(one.candidate.word)}{chosen}"

    spent = _of_bytes(plan)
    columns = (
        Column("candidate", "settings", Form(str, settings, is_number=False)),
        Column("contacts", "contacts", numeric(lambda count: f"{count:.3g}/{plan.period}")),
        Column("most", f"budget {_per(plan)}", spent),
        Column("spends", f"spends {_per(plan)}", spent),
        Column("error", score_name(plan.units), ESTIMATE),
        Column("gain", "gain over the line above", ESTIMATE, "dB"),
        Column("doubt", "doubt", NUMBER, "dB"),
        Column("alike", "may be as good", COUNT),
    )
    rows = [
        [one, one.contacts * plan.ticks, one.most, one.spends, one.error, one.gain, one.doubt,
         len(one.alike)]
        for one in plan.offers
    ]  # fmt: skip
    return Table(columns, rows)


def _of_bytes(plan: FleetPlan) -> Form:
    """Return the form of bytes without the time in which they are spent: the heading has that."""
    return numeric(lambda per_tick: plan.in_time(per_tick).partition("/")[0])


def _per(plan: FleetPlan) -> str:
    return f"/{plan.in_time(0.0).partition('/')[2]}"


def _tried(plan: FleetPlan, some: Sequence[Tried]) -> Table:
    columns = (
        Column("candidate", "candidate", NAME),
        Column("payload", f"spends {_per(plan)}", _of_bytes(plan)),
        Column("score", score_name(plan.units), ESTIMATE),
        Column("behind", "behind the winner", ESTIMATE, "dB"),
        Column("worlds", "worlds", COUNT),
        Column("dropped", "dropped"),
    )
    rows = [
        [one.candidate, one.payload, one.score, one.behind, one.worlds,
         None if one.dropped is None else f"after round {one.dropped}"]
        for one in some
    ]  # fmt: skip
    return Table(columns, rows)
