"""The best of each method in sentences, rows and JSON, with what chance leaves open."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from paofed.core.tariffs import Tariff
from paofed.experiments.sweep.choice import IN_FILES, Best
from paofed.experiments.sweep.points import Point, worded
from paofed.experiments.sweep.swept import Swept
from paofed.table import (
    AT_MOST,
    BYTES,
    ESTIMATE,
    NAME,
    WHOLE,
    ShownColumn,
    ShownTable,
    at_most,
    estimated,
    in_files,
    known,
)
from paofed.words import MEAN_DB, counted, listed

FLATTERED = (
    "The best of many is a little lucky: on the worlds in which it was chosen, its error looks "
    "smaller than it is. Fresh worlds, which have no part in the choice, show its true error"
)

SAME_READINGS = (
    "All worlds replay the same readings of the table. Contacts, delays and the model's random "
    "features differ between them, so the intervals cover those, and not what other readings would "
    "do."
)


def said(values: Mapping[str, Any]) -> str:
    """Write values by key in words."""
    return " ".join(f"{key}={worded(value)}" for key, value in values.items())


def settings(point: Point, case: Mapping[str, Any]) -> str:
    """Say the values of a point's keys that can be chosen, in a case."""
    return said({k: v for k, v in point.values.items() if k not in case}) or "as it is"


class BestLine(NamedTuple):
    """The best of one method in one case."""

    method: str
    case: dict[str, Any]
    best: Best
    bytes: float  # of a whole run, up and down


def best_lines(swept: Swept, tariff: Tariff) -> list[BestLine]:
    """Return the best of each method, case by case."""
    return [
        BestLine(method, case, best, swept.bytes(best.point, tariff))
        for method, case, best in swept.bests()
    ]


def best_table(swept: Swept, lines: list[BestLine]) -> ShownTable:
    """Return the best of each method, with how sure that is."""
    columns = [
        ShownColumn("method", "method", NAME),
        ShownColumn("where", "where"),
        ShownColumn("best", "best"),
        ShownColumn("score", MEAN_DB, ESTIMATE),
        ShownColumn("fresh", f"fresh {MEAN_DB}", ESTIMATE),
        ShownColumn("bytes", "sent", BYTES),
        ShownColumn("near", "as good", WHOLE),
        ShownColumn("at_most", "nothing is better by more than", AT_MOST, "dB"),
    ]
    rows = [
        [
            method,
            said(case),
            settings(best.point, case),
            best.found.score,
            best.fresh,
            sent,
            f"{len(best.near)} of {best.among - 1}",
            best.at_most,
        ]
        for method, case, best, sent in lines
    ]
    empty = () if swept.conditions else ("where",)
    return ShownTable(columns, rows).without(
        *empty, *(("fresh",) if swept.fresh_points is None else ())
    )


def best_in_files(swept: Swept, lines: list[BestLine], tariff: Tariff) -> ShownTable:
    """Return the best of each method as files have it: every setting and every number."""
    keys = ("method", *swept.keys, "algorithm", *IN_FILES, "among", "diverged", "near", "at_most")
    fresh = ("fresh_db", "fresh_low", "fresh_high", "fresh_worlds")
    rows = [
        [method, *best.point.in_files(swept.keys), swept.algorithm(best.point),
         *best.found.in_files, best.among, best.diverged, len(best.near), best.at_most,
         best.fresh, sent, tariff.name]
        for method, _, best, sent in lines
    ]  # fmt: skip
    return in_files([*keys, fresh, "bytes", "tariff"], rows)


def sentences(swept: Swept, lines: list[BestLine]) -> Iterator[str]:
    """Say for every method what is best, among what, and how sure that is."""
    if swept.conditions and not swept.is_grid:
        yield (
            f"Nothing is called the best: no two points met the same conditions "
            f"({', '.join(swept.conditions)}), which nobody can choose and which were drawn at "
            f"random."
        )
    yield from map(_sentence, lines)
    if swept.over_table:
        yield SAME_READINGS


def lead_words(swept: Swept, lines: list[BestLine]) -> Iterator[str]:
    """Say what is best of all methods: in each case, where nature has several."""
    sound = [line for line in lines if not line.best.found.diverged]
    by_case = [[line for line in sound if line.case == case] for case in swept.cases()]
    found = [min(some, key=lambda line: line.best.found.score.mean) for some in by_case if some]
    yield from map(_sentence, found) if found else sentences(swept, lines)


def _sentence(line: BestLine) -> str:
    """Say what is best of one method, among what, and how sure that is."""
    where = f" ({said(line.case)})" if line.case else ""
    if line.best.found.diverged:
        return f"{line.method}{where}: all of {counted(line.best.among, 'point')} diverged."
    return (
        f"{line.method}{where}: {settings(line.best.point, line.case)}, "
        f"{estimated(line.best.found.score)} {MEAN_DB}{_doubt(line.best, line.case)}"
        f"{_judged(line.best)}."
    )


def _doubt(best: Best, case: Mapping[str, Any]) -> str:
    """Say how many others may be as good, and by how much anything can be better."""
    if best.among == 1:
        return ", the only one tried"
    gone = f", {best.diverged} of which diverged" if best.diverged else ""
    among = f", the best of {best.among}{gone}"
    if not math.isfinite(best.at_most) and best.near:
        return f"{among}; one world says nothing of how sure that is"
    if not best.near:
        others = "the other is" if best.among == 2 else "all others are"
        return f"{among}; {others} worse (95 %)"
    near = counted(len(best.near), "other")
    named = listed([settings(one.point, case) for one in best.near[:3]])
    more = f" (the nearest: {named})" if len(best.near) > 1 else f" ({named})"
    return (
        f"{among}; {near} cannot be told from it{more}, and nothing tried is better by more than "
        f"{at_most(best.at_most)} dB (95 %)"
    )


def _judged(best: Best) -> str:
    if best.fresh is None:
        return ""
    return f"; on {counted(best.fresh.runs, 'fresh world')} {estimated(best.fresh)} {MEAN_DB}"


def unfinished(swept: Swept) -> str:
    """Say what of a sweep was not run; empty where all was."""
    if swept.whole:
        return ""
    whole, begun = (int(n.sum()) for n in (swept.finished.all(axis=1), swept.finished.any(axis=1)))
    return (
        f"Not finished: {whole} of {counted(len(swept.points), 'point')} were run in all of "
        f"{counted(swept.finished.shape[1], 'world')}, {begun - whole} more in some of them. "
        f"Points with fewer worlds than others have no part in the choice."
    )


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
