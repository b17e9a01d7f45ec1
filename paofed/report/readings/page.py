"""One self-contained page: what each reading makes of the disputed statements."""

import html
import json
from collections.abc import Iterable, Iterator, Mapping

from paofed.report.readings.study import ReadingStudy
from paofed.report.shared.markup import (
    bullets,
    code,
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
from paofed.simulate.results.estimates import Estimate

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


def build(study: ReadingStudy, drawings: Mapping[str, tuple[str, str]], command: str) -> str:
    """Write the page; drawings come as name -> (caption, SVG)."""
    about = next(iter(next(iter(study.results.values())).values())).provenance
    parts = [
        heading("Which verdicts change"),
        bullets(f"{key}: {told}" for key, told in changes(study)),
        note(_HOW_JUDGED),
        heading("The readings"),
        table(["reading", "what is read otherwise"], [[code(r.key), html.escape(r.words)]
                                                      for r in study.results], []),
        heading("Statement by statement"),
        *_statements(study),
        heading("Step sizes that were chosen"),
        note("The last column is the error over the first tenth of the ticks in judged worlds."),
        table(["reading", "setting", "algorithm", "step size", "start (dB)"],
              [[code(r), s, code(a), f"{step:.3g}", number(db)]
               for r, s, a, step, db in study.steps()], [3, 4]),
        heading("To run it again"),
        preformatted(command),
        preformatted(json.dumps(about["versions"], indent=1)),
    ]  # fmt: skip
    top = [lead(_WHAT), *(figure(*drawing) for drawing in drawings.values())]
    return document("Every reading of the paper: which verdicts change", top, parts)


def changes(study: ReadingStudy) -> Iterator[tuple[str, str]]:
    """Yield for each comparison the readings under which its verdict differs from the default's."""
    for group in study.groups():
        for place, label in enumerate(group.labels):
            verdicts = {r.key: found[place].verdict for r, found in group.rows.items()}
            usual, *others = dict.fromkeys(verdicts.values())
            told = "; ".join(
                f"{verdict} under {', '.join(key for key in verdicts if verdicts[key] == verdict)}"
                for verdict in others
            )
            yield label, f"{usual} by default; {told or 'the same under every reading'}"


def _statements(study: ReadingStudy) -> Iterable[str]:
    for statement, labels, rows in study.groups():
        cells = [[code(reading.key), *map(_cell, found)] for reading, found in rows.items()]
        yield f"<h3>{html.escape(statement)}</h3>"
        yield table(["reading", *labels], cells, [])


def _cell(found: Estimate) -> str:
    kind = found.verdict.replace(" ", "-")
    return f"<span class='verdict {kind}'>{interval(found)}</span>"
