"""The comparison as a page, and who is best in words."""

import html
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from paofed.report.compare.digest import digest, summary
from paofed.report.compare.judged import Judged, found_in_order, place
from paofed.report.shared.markup import document, figure, interval, note, number, table
from paofed.words import size

_HOW = (
    "Every entrant has its own best settings for every budget, chosen among equally many "
    "candidates on other worlds than those it is judged on. A budget is what the whole fleet and "
    "its server may send in a run, transport included; it is a multiple of what PAO-Fed-U1 sends "
    "with 4 of its parameters at every contact. Differences are paired; intervals hold 95 %. An "
    "entrant is on the front if nothing that costs no more is clearly better."
)


def build(
    found: Sequence[Judged], drawings: Mapping[str, tuple[str, str]], command: str, units: str
) -> str:
    """Return the whole page."""
    parts = ["<h1>Methods at equal bytes</h1>", f"<p>{_HOW}</p>", *section(found, drawings)]
    return document("Methods at equal bytes", [*parts, note(html.escape(command)), note(units)])


def section(found: Sequence[Judged], drawings: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """Yield what is found: in words, drawn, and in numbers."""
    yield f"<p>{html.escape(summary(found))}</p>"
    for caption, drawing in drawings.values():
        yield figure(caption, drawing)
    for (setting, tariff), group in groupby(found_in_order(found), key=place):
        yield f"<h3>{html.escape(setting)}, {html.escape(tariff)}</h3>"
        yield _table(list(group))


def _table(group: Sequence[Judged]) -> str:
    rows = [
        [
            f"{one.purse.budget}, {size(one.purse.bytes)}",
            f"<code>{html.escape(one.word)}</code>",
            size(one.bytes),
            number(one.error.mean),
            "" if one.behind is None else interval(one.behind),
            one.verdict,
            "front" if one.on_front else "",
        ]
        for one in group
    ]
    header = ["budget", "entrant with its settings", "sent", "error (dB)",
              "behind PAO-Fed (dB)", "", ""]  # fmt: skip
    return table(header, rows, [2, 3, 4])


def in_short(found: Sequence[Judged], drawings: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """Yield what is found for a page that is about more: a line for every budget."""
    yield f"<p>{_HOW}</p><p>{html.escape(summary(found))}</p>"
    for caption, drawing in drawings.values():
        yield figure(caption, drawing)
    rows = [
        [
            f"{best.setting}, {best.purse.tariff}, {best.purse.budget}",
            "none fits" if ours is None else f"{number(ours.error.mean)}, {size(ours.bytes)}",
            f"<code>{html.escape(best.word)}</code>",
            f"{number(best.error.mean)}, {size(best.bytes)}",
            "" if best.behind is None or best is ours else interval(best.behind),
            str(len(ahead)),
        ]
        for ours, best, ahead in digest(found)
    ]
    header = ["setting, tariff, budget", "PAO-Fed: error (dB), sent", "least error",
              "its error (dB), sent", "behind PAO-Fed (dB)", "clearly better"]  # fmt: skip
    yield table(header, rows, [1, 3, 4, 5])
