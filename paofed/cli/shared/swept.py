"""What a sweep found, for a terminal: in words and a table, or as JSON."""

from typing import Any

from paofed.cli.shared.outputs import plain
from paofed.core.tariffs import Tariff
from paofed.racing.record import with_half
from paofed.report.sweep.panels import said, settings
from paofed.report.sweep.words import (
    FLATTERED,
    BestLine,
    best_lines,
    sentences,
    unfinished,
)
from paofed.sweeping.swept import Swept
from paofed.words import MEAN_DB, size, table


def as_text(swept: Swept, tariff: Tariff) -> str:
    """Return what a sweep found for people: the best of each method, and how sure that is."""
    lines = best_lines(swept, tariff)
    asked = swept.provenance["fresh_requested"]
    flattered = f"{FLATTERED}{'' if asked else ': --fresh N runs the best in N of them'}."
    told = "\n".join(sentences(swept, lines))
    parts = unfinished(swept), _table(swept, lines), told, flattered if lines else ""
    return "\n\n".join(filter(None, parts))


def _table(swept: Swept, lines: list[BestLine]) -> str:
    """Return the best of each method as a table for people."""
    if not lines:
        return ""
    where, judged = bool(swept.conditions), swept.fresh_points is not None
    header = ["method", *(["where"] * where), "best", MEAN_DB, *([f"fresh {MEAN_DB}"] * judged)]
    rows = [
        [
            method,
            *([said(case)] * where),
            settings(best.point, case),
            with_half(best.found.score),
            *(["" if best.fresh is None else with_half(best.fresh)] * judged),
            size(sent),
            f"{len(best.near)} of {best.among - 1}",
        ]
        for method, case, best, sent in lines
    ]
    return table([*header, "sent", "as good"], rows, left=(0, 1, 2) if where else (0, 1))


def as_json(swept: Swept, tariff: Tariff) -> Any:
    """Return the best of each method as JSON can hold it."""
    found = {
        "points": len(swept.points),
        "finished": int(swept.finished.all(axis=1).sum()),
        "best": [
            {
                "method": method,
                "given": case,
                "values": dict(best.point.values),
                "algorithm": swept.algorithm(best.point),
                **best.found.score._asdict(),
                "standard_error": best.found.standard_error,
                "among": best.among,
                "diverged": best.diverged,
                "near": [str(one.point) for one in best.near],
                "at_most": best.at_most,
                "fresh": None if best.fresh is None else best.fresh._asdict(),
                "bytes": sent,
            }
            for method, case, best, sent in best_lines(swept, tariff)
        ],
    }
    return plain(found)
