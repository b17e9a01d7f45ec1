"""What a sweep found, for a terminal: in words and a table, or as JSON."""

from typing import Any

from paofed.core.tariffs import Tariff
from paofed.report.sweep.words import (
    FLATTERED,
    best_lines,
    best_table,
    sentences,
    unfinished,
)
from paofed.sweeping.swept import Swept
from paofed.table import known


def as_text(swept: Swept, tariff: Tariff) -> str:
    """Return what a sweep found for people: the best of each method, and how sure that is."""
    lines = best_lines(swept, tariff)
    asked = swept.provenance["fresh_requested"]
    flattered = f"{FLATTERED}{'' if asked else ': --fresh N runs the best in N of them'}."
    told = "\n".join(sentences(swept, lines))
    best = best_table(swept, lines).without("at_most").text() if lines else ""
    parts = unfinished(swept), best, told, flattered if lines else ""
    return "\n\n".join(filter(None, parts))


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
    return known(found)
