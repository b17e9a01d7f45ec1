"""A comparison as a page: what to do, the figures, every entrant."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from paofed.report.comparison.digest import summary
from paofed.report.comparison.judged import Judged, found_in_order, place
from paofed.report.comparison.page import digest_table, how_judged
from paofed.report.shared.markup import (
    code,
    details,
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
from paofed.words import MEAN_DB, size

_CHOOSE = "For each budget: what PAO-Fed reaches, and what reaches the least error."


def build(
    found: Sequence[Judged], drawings: Mapping[str, tuple[str, str]], command: str, units: str
) -> str:
    """Return the whole page."""
    first, *others = [figure(*drawing) for drawing in drawings.values()] or [""]
    parts = [
        heading("What to do"),
        note(_CHOOSE),
        digest_table(found),
        heading("How it was judged"),
        f"<p>{how_judged(found)}</p>",
        note(units),
        *([heading("Figures"), *others] if others else []),
        heading("Every entrant"),
        *_every(found),
        heading("To run it again"),
        preformatted(command),
    ]
    return document("Methods at equal bytes", [lead(summary(found)), first], parts)


def _every(found: Sequence[Judged]) -> Iterator[str]:
    """Yield all numbers, a table for each setting and tariff."""
    for (setting, tariff), group in groupby(found_in_order(found), key=place):
        yield details(f"{setting}, {tariff}", _table(list(group)))


def _table(group: Sequence[Judged]) -> str:
    rows = [
        [
            f"{one.purse.budget}, {size(one.purse.bytes)}",
            code(one.word),
            size(one.bytes),
            number(one.error.mean),
            "" if one.behind is None else interval(one.behind),
            one.verdict,
            "yes" if one.on_front else "",
        ]
        for one in group
    ]
    header = ["budget", "entrant with its settings", "sent", MEAN_DB,
              "behind PAO-Fed (dB)", "against PAO-Fed", "front"]  # fmt: skip
    return table(header, rows, [2, 3, 4])
