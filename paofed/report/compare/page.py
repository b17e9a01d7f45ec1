"""The comparison as a page, and who is best in words."""

import html
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from paofed.report.compare.judged import Judged
from paofed.report.compare.lineup import PAO_FED
from paofed.report.shared.markup import document, figure, interval, note, number, table
from paofed.words import listed, size

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
    """What is found: in words, drawn, and in numbers."""
    yield f"<p>{html.escape(summary(found))}</p>"
    for caption, drawing in drawings.values():
        yield figure(caption, drawing)
    for (setting, tariff), group in groupby(found_in_order(found), key=_place):
        yield f"<h3>{html.escape(setting)}, {html.escape(tariff)}</h3>"
        yield _table(list(group))


def found_in_order(found: Sequence[Judged]) -> list[Judged]:
    """By setting and tariff as they were run, then by budget, the best first."""
    places = list(dict.fromkeys(_place(one) for one in found))
    budgets = list(dict.fromkeys(one.purse.budget for one in found))
    return sorted(
        found,
        key=lambda one: (
            places.index(_place(one)), budgets.index(one.purse.budget), one.error.mean
        ),
    )  # fmt: skip


def _place(one: Judged) -> tuple[str, str]:
    return one.setting, one.purse.tariff


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


def summary(found: Sequence[Judged]) -> str:
    """Say in how many comparisons anything beats PAO-Fed at equal bytes, and what does."""
    held = [one for one in found if one.entrant not in PAO_FED and one.behind is not None]
    better = [one for one in held if one.verdict == "better"]
    if not better:
        return f"Nothing beats PAO-Fed clearly in any of {len(held)} comparisons at equal bytes."
    counts = {name: sum(one.entrant == name for one in better) for one in better
              for name in [one.entrant]}  # fmt: skip
    most = sorted(counts, key=lambda name: -counts[name])
    named = listed([f"{name} in {counts[name]}" for name in most])
    return (
        f"In {len(better)} of {len(held)} comparisons at equal bytes something beats PAO-Fed "
        f"clearly: {named}."
    )
