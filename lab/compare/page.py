"""A comparison as a page: what to do, the figures, every entrant."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from markupsafe import Markup

from paofed.report.comparison.judged import Judged, found_in_order, place, summary, worlds
from paofed.report.comparison.page import digest_table
from paofed.report.shared.markup import code, drawn, interval, number, page, table
from paofed.words import MEAN_DB, size


def build(
    found: Sequence[Judged], drawings: Mapping[str, tuple[str, str]], command: str, units: str
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
        units=units,
        places={
            f"{setting}, {tariff}": _table(list(group))
            for (setting, tariff), group in groupby(found_in_order(found), key=place)
        },
        command=command,
    )


def _table(group: Sequence[Judged]) -> Markup:
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
