"""A comparison in short, for a page that is about more: who is best with each budget."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from paofed.report.comparison.judged import Judged, digest, summary, worlds
from paofed.report.shared.markup import code, drawn, interval, number, page, table
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


def digest_table(found: Sequence[Judged]) -> Markup:
    """Return a line for every budget: what PAO-Fed reaches, and what reaches the least error."""
    rows = [
        [
            f"{best.setting}, {best.purse.tariff}, {best.purse.budget}",
            "none fits" if ours is None else f"{number(ours.error.mean)}, {size(ours.bytes)}",
            code(best.word),
            f"{number(best.error.mean)}, {size(best.bytes)}",
            "" if best.behind is None or best is ours else interval(best.behind),
            str(len(ahead)),
        ]
        for ours, best, ahead in digest(found)
    ]
    header = ["setting, tariff, budget", f"PAO-Fed: {MEAN_DB}, sent", "least error",
              f"its {MEAN_DB}, sent", "behind PAO-Fed (dB)",
              f"clearly better ({worlds(found)})"]  # fmt: skip
    return table(header, rows, [1, 3, 4, 5])
