"""The comparison as a page, and who is best in words."""

import html
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from paofed.report.compare.digest import digest, summary, worlds
from paofed.report.compare.judged import Judged, found_in_order, place
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
_CHOOSE = "For each budget: what PAO-Fed reaches, and what reaches the least error."


def build(
    found: Sequence[Judged], drawings: Mapping[str, tuple[str, str]], command: str, units: str
) -> str:
    """Return the whole page."""
    first, *others = [figure(*drawing) for drawing in drawings.values()] or [""]
    parts = [
        heading("What to do"),
        note(_CHOOSE),
        _digest(found),
        heading("How it was judged"),
        f"<p>{_how(found)}</p>",
        note(units),
        *([heading("Figures"), *others] if others else []),
        heading("Every entrant"),
        *_every(found),
        heading("To run it again"),
        preformatted(command),
    ]
    return document("Methods at equal bytes", [lead(summary(found)), first], parts)


def _how(found: Sequence[Judged]) -> str:
    return html.escape(_HOW.format(worlds=worlds(found)))


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


def in_short(found: Sequence[Judged], drawings: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """Yield what is found for a page that is about more: a line for every budget."""
    yield f"<p>{_how(found)}</p><p>{html.escape(summary(found))}</p>"
    for caption, drawing in drawings.values():
        yield figure(caption, drawing)
    yield _digest(found)


def _digest(found: Sequence[Judged]) -> str:
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
