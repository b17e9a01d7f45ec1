"""A comparison in short, for a page that is about more: who is best with each budget."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from paofed.report.comparison.judged import Judged, digest, summary, worlds
from paofed.report.shared.markup import drawn, page
from paofed.table import COUNT, ESTIMATE, NAME, ShownColumn, ShownTable, number, numeric
from paofed.words import MEAN_DB, size


def in_short(found: Sequence[Judged], drawings: Mapping[str, tuple[str, str]]) -> Markup:
    """Return what is found for a page that is about more: a line for every budget."""
    return page(
        "comparison.html.j2",
        summary=summary(found),
        worlds=worlds(found),
        figures=[*drawn(drawings).values()],
        digest=digest_table(found),
    )


def _error_and_bytes(one: Judged) -> str:
    return f"{number(one.error.mean)}, {size(one.bytes)}"


def digest_table(found: Sequence[Judged]) -> ShownTable:
    """Return a line for every budget: what PAO-Fed reaches, and what reaches the least error."""
    reached = numeric(_error_and_bytes)
    columns = (
        ShownColumn("where", "setting, tariff, budget"),
        ShownColumn("ours", f"PAO-Fed: {MEAN_DB}, sent", reached, missing="none fits"),
        ShownColumn("best", "least error", NAME),
        ShownColumn("its", f"its {MEAN_DB}, sent", reached),
        ShownColumn("behind", "behind PAO-Fed", ESTIMATE, "dB"),
        ShownColumn("ahead", f"clearly better ({worlds(found)})", COUNT),
    )
    rows = [
        [f"{best.setting}, {best.purse.tariff}, {best.purse.budget}", ours, best.word, best,
         None if best is ours else best.behind, len(ahead)]
        for ours, best, ahead in digest(found)
    ]  # fmt: skip
    return ShownTable(columns, rows)
