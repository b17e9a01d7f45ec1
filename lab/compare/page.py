"""A comparison as a page: what to do, the figures, every entrant."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from paofed.report.comparison.page import (
    Judged,
    digest_table,
    found_in_order,
    place,
    summary,
    worlds,
)
from paofed.report.shared.pages import drawn, page
from paofed.table import BYTES, ESTIMATE, NAME, NUMBER, ShownColumn, ShownTable
from paofed.words import MEAN_DB, size


def build(
    found: Sequence[Judged], drawings: Mapping[str, tuple[str, str]], command: str, judged_on: str
) -> str:
    """Return the whole page."""
    return page(
        "compare.html.j2",
        "lab.compare",
        title="Methods at equal bytes",
        summary=summary(found),
        figures=[*drawn(drawings).values()],
        digest=digest_table(found),
        worlds=worlds(found),
        judged_on=judged_on,
        places={
            f"{setting}, {tariff}": _table(list(group))
            for (setting, tariff), group in groupby(found_in_order(found), key=place)
        },
        command=command,
    )


def _table(group: Sequence[Judged]) -> ShownTable:
    columns = (
        ShownColumn("budget", "budget"),
        ShownColumn("entrant", "entrant with its settings", NAME),
        ShownColumn("sent", "sent", BYTES),
        ShownColumn("error", MEAN_DB, NUMBER),
        ShownColumn("behind", "behind PAO-Fed", ESTIMATE, "dB"),
        ShownColumn("verdict", "against PAO-Fed"),
        ShownColumn("front", "front"),
    )
    rows = [
        [f"{one.purse.budget}, {size(one.purse.bytes)}", one.word, one.bytes, one.error.mean,
         one.behind, one.verdict, "yes" if one.on_front else ""]
        for one in group
    ]  # fmt: skip
    return ShownTable(columns, rows)
