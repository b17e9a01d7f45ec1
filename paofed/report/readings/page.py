"""One self-contained page: what each reading makes of the disputed statements."""

import html
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from paofed.report.readings.readings import DEFAULT, READINGS
from paofed.report.readings.study import LABELS, Judged, Study
from paofed.report.shared.markup import (
    bullets,
    document,
    figure,
    interval,
    note,
    number,
    preformatted,
    table,
)

_WHAT = (
    "The paper leaves some of its experiment open, and several of its statements do not reproduce "
    "under the reading that this project takes. Here each of them is judged again under every "
    "other reading, one at a time and in combinations that could matter together."
)
_HOW_JUDGED = (
    "Differences are taken run by run in the same world, in dB, positive where they support the "
    "statement; 95 % intervals. A tie is an interval inside ±0.1 dB. Step sizes are chosen on "
    "other worlds than those that are judged."
)


def build(study: Study, drawings: Mapping[str, tuple[str, str]], command: str) -> str:
    """Write the page; drawings come as name -> (caption, SVG)."""
    about = study.results[DEFAULT.key]["setting-1"].provenance
    parts = [
        "<h1>Every reading of the paper: which verdicts change</h1>",
        f"<p>{_WHAT}</p>",
        bullets(f"{key}: {told}" for key, told in changes(study)),
        note(_HOW_JUDGED),
        *(figure(*drawing) for drawing in drawings.values()),
        "<h2>The readings</h2>",
        table(["reading", "what is read otherwise"], [[_code(r.key), html.escape(r.words)]
                                                      for r in READINGS], []),
        "<h2>Statement by statement</h2>",
        *_statements(study),
        "<h2>Step sizes that were chosen</h2>",
        note("The last column is the error over the first tenth of the ticks in judged worlds."),
        table(["reading", "setting", "algorithm", "step size", "start (dB)"],
              [[_code(r), s, _code(a), f"{step:.3g}", number(db)]
               for r, s, a, step, db in study.steps()], [3, 4]),
        "<h2>To run it again</h2>",
        preformatted(command),
        preformatted(json.dumps(about["versions"], indent=1)),
    ]  # fmt: skip
    return document("Every reading of the paper", parts)


def changes(study: Study) -> Iterator[tuple[str, str]]:
    """For each comparison, under which readings its verdict is another than by default."""
    for claim, judged in groupby(study.judged(), key=lambda one: one.claim):
        default, *others = judged
        usual = default.found.verdict
        turned: dict[str, list[str]] = {}
        for other in others:
            if other.found.verdict != usual:
                turned.setdefault(other.found.verdict, []).append(other.reading.key)
        told = "; ".join(f"{verdict} under {', '.join(keys)}" for verdict, keys in turned.items())
        yield LABELS[claim.key], f"{usual} by default; {told or 'the same under every reading'}"


def _statements(study: Study) -> Iterable[str]:
    for statement, group in groupby(study.judged(), key=lambda one: one.claim.statement):
        found = list(group)
        keys = list(dict.fromkeys(one.claim.key for one in found))
        by = {(one.reading.key, one.claim.key): one for one in found}
        rows = [[_code(r.key), *(_cell(by[r.key, key]) for key in keys)] for r in READINGS]
        yield f"<h3>{html.escape(statement)}</h3>"
        yield table(["reading", *(LABELS[key] for key in keys)], rows, [])


def _cell(judged: Judged) -> str:
    kind = judged.found.verdict.replace(" ", "-")
    return f"<span class='verdict {kind}'>{interval(judged.found)}</span>"


def _code(text: str) -> str:
    return f"<code>{html.escape(text)}</code>"
