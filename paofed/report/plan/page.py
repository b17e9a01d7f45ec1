"""A plan as a page: what to use, why, and everything that was tried."""

import html
from collections.abc import Sequence

from paofed.planning.record import FleetPlan
from paofed.planning.use import FILE, advice, commands
from paofed.racing.record import Tried, score_name
from paofed.report.shared.markup import (
    bullets,
    code,
    document,
    figure,
    heading,
    interval,
    lead,
    note,
    number,
    preformatted,
    table,
)

_SHOWN = 60  # how many candidates the table shows
_HOW = (
    "Candidates met in the same worlds, in rounds. After each round a candidate was dropped if, "
    "within every budget that it fits in, some other candidate was clearly better. The errors of "
    "the winners are from worlds that took no part in the choice. The doubt is by how many dB "
    "other settings that were tried within a budget can be better than its winner; with 95 % "
    "confidence, all doubts are right at once. They are about what was tried, in this scenario."
)


def build(plan: FleetPlan, drawing: tuple[str, str], command: str) -> str:
    """Return the whole page."""
    parts = [
        heading("What to do"),
        preformatted("\n".join(commands(plan, FILE))),
        *([note(html.escape(said))] if (said := advice(plan)) else []),
        heading("What bytes buy"),
        _front(plan),
        f"<p>{_HOW}</p>",
        bullets(plan.remarks),
        heading("What was tried"),
        _tried(plan, plan.tried[:_SHOWN]),
        note(f"{min(_SHOWN, len(plan.tried))} of {len(plan.tried)}, the best within the whole "
             f"budget first; all are in plan.json"),
        heading("To run it again"),
        preformatted(command),
    ]  # fmt: skip
    top = [lead(f"{plan.sentence}."), figure(*drawing)]
    return document(f"A plan for {plan.scenario.name}", top, parts)


def _front(plan: FleetPlan) -> str:
    rows = [
        [
            code(one.candidate.word) + (" <strong>chosen</strong>" if one is plan.chosen else ""),
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
    header = ["settings", "contacts", f"budget {per}", f"spends {per}", score_name(plan.units),
              "gain over the line above (dB)", "doubt (dB)", "may be as good"]  # fmt: skip
    return table(header, rows, range(1, 8))


def _bytes(plan: FleetPlan, per_tick: float) -> str:
    """Write bytes without the time in which they are spent: that is in the head of the column."""
    return html.escape(plan.in_time(per_tick).partition("/")[0])


def _per(plan: FleetPlan) -> str:
    return html.escape(f"/{plan.in_time(0.0).partition('/')[2]}").replace("/", "/<wbr>")


def _tried(plan: FleetPlan, some: Sequence[Tried]) -> str:
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
        f"spends {_per(plan)}",
        score_name(plan.units),
        "behind the winner (dB)",
        "worlds",
        "dropped",
    ]
    return table(header, rows, [1, 2, 3, 4])
