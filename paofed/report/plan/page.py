"""A plan as a page: what to use, why, and everything that was tried."""

import html
from collections.abc import Sequence

from paofed.planning.record import FleetPlan
from paofed.planning.use import FILE, advice, commands
from paofed.racing.record import Tried
from paofed.report.shared.markup import (
    bullets,
    document,
    figure,
    interval,
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
    title = f"A plan for {plan.scenario.name}"
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        f"<p>{html.escape(plan.sentence)}</p>",
        "<h2>To use it</h2>",
        preformatted("\n".join(commands(plan, FILE))),
        *([note(html.escape(said))] if (said := advice(plan)) else []),
        "<h2>What bytes buy</h2>",
        figure(*drawing),
        _front(plan),
        f"<p>{_HOW}</p>",
        bullets(plan.remarks),
        "<h2>What was tried</h2>",
        _tried(plan, plan.tried[:_SHOWN]),
        note(f"{min(_SHOWN, len(plan.tried))} of {len(plan.tried)}, the best within the whole "
             f"budget first; all are in plan.json"),
        note(html.escape(command)),
    ]  # fmt: skip
    return document(title, parts)


def _front(plan: FleetPlan) -> str:
    rows = [
        [
            f"<code>{html.escape(one.candidate.word)}</code>",
            "chosen" if one is plan.chosen else "",
            f"{one.contacts * plan.ticks:.3g}/{plan.period}",
            html.escape(plan.in_time(one.most)),
            html.escape(plan.in_time(one.spends)),
            interval(one.error),
            "" if one.gain is None else interval(one.gain),
            number(one.doubt),
            str(len(one.alike)),
        ]
        for one in plan.offers
    ]
    header = ["settings", "", "contacts", "budget", "spends", "error (dB)",
              "gain over the line above (dB)", "doubt (dB)", "may be as good"]  # fmt: skip
    return table(header, rows, [2, 3, 4, 5, 6, 7, 8])


def _tried(plan: FleetPlan, some: Sequence[Tried]) -> str:
    rows = [
        [
            f"<code>{html.escape(one.candidate)}</code>",
            html.escape(plan.in_time(one.payload)),
            interval(one.score),
            interval(one.behind),
            str(one.worlds),
            "" if one.dropped is None else f"after round {one.dropped}",
        ]
        for one in some
    ]
    header = ["candidate", "spends", "error (dB)", "behind the winner (dB)", "worlds", "dropped"]
    return table(header, rows, [1, 2, 3, 4])
