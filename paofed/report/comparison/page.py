"""A comparison in short, for a page that is about more: who is best with each budget."""

import html
from collections.abc import Iterator, Mapping, Sequence

from paofed.report.comparison.digest import digest, summary, worlds
from paofed.report.comparison.judged import Judged
from paofed.report.shared.markup import code, figure, interval, number, table
from paofed.words import MEAN_DB, size

_HOW = (
    "Every entrant has its own best settings for every budget, chosen among equally many "
    "candidates on other worlds than those it is judged on. A budget is what the whole fleet and "
    "its server may send in a run, transport included; it is a multiple of what PAO-Fed-U1 sends "
    "with 4 of its parameters at every contact. PAO-Fed is the better of its coordinated and "
    "uncoordinated versions where settings were chosen. Mean dB is the mean over worlds of the "
    "error of each in dB; over a table, the error on all devices' samples. Differences are paired; "
    "however many there are, their intervals hold all together with 95 %. An "
    "entrant is on the front if nothing that costs no more is clearly ({worlds}) better."
)


def in_short(found: Sequence[Judged], drawings: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """Yield what is found for a page that is about more: a line for every budget."""
    yield f"<p>{how_judged(found)}</p><p>{html.escape(summary(found))}</p>"
    for caption, drawing in drawings.values():
        yield figure(caption, drawing)
    yield digest_table(found)


def how_judged(found: Sequence[Judged]) -> str:
    """Say how entrants were judged, for a page."""
    return html.escape(_HOW.format(worlds=worlds(found)))


def digest_table(found: Sequence[Judged]) -> str:
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
