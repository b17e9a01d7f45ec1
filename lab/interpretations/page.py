"""One self-contained page: what each interpretation makes of the disputed statements."""

import html
import json
from collections.abc import Iterable, Iterator, Mapping

from lab.interpretations.study import InterpretationStudy
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
    "under the interpretation that this project takes. Here each of them is judged again under "
    "every other interpretation, one at a time and in combinations that could matter together."
)
_HOW_JUDGED = (
    "Differences are taken run by run in the same world, in dB, positive where they support the "
    "statement; 95 % intervals. A tie is an interval inside ±0.1 dB. Step sizes are chosen on "
    "other worlds than those that are judged."
)


def build(study: InterpretationStudy, drawings: Mapping[str, tuple[str, str]], command: str) -> str:
    """Write the page; drawings come as name -> (caption, SVG)."""
    about = next(iter(next(iter(study.results.values())).values())).provenance
    parts = [
        heading("Which verdicts change"),
        bullets(f"{key}: {told}" for key, told in changes(study)),
        note(_HOW_JUDGED),
        heading("The interpretations"),
        table(["interpretation", "what is read otherwise"], [[code(r.key), html.escape(r.words)]
                                                      for r in study.results], []),
        heading("Statement by statement"),
        *_statements(study),
        heading("Step sizes that were chosen"),
        note("The last column is the error over the first tenth of the ticks in judged worlds."),
        table(["interpretation", "setting", "algorithm", "step size", "start (dB)"],
              [[code(r), s, code(a), f"{step:.3g}", number(db)]
               for r, s, a, step, db in study.steps()], [3, 4]),
        heading("To run it again"),
        preformatted(command),
        preformatted(json.dumps(about["versions"], indent=1)),
    ]  # fmt: skip
    top = [lead(_WHAT), *(figure(*drawing) for drawing in drawings.values())]
    return document("Every interpretation of the paper: which verdicts change", top, parts)


def changes(study: InterpretationStudy) -> Iterator[tuple[str, str]]:
    """Yield for each comparison the interpretations that lead to another verdict than usual."""
    for group in study.groups():
        for place, label in enumerate(group.labels):
            verdicts = {r.key: found[place].verdict for r, found in group.rows.items()}
            usual, *others = dict.fromkeys(verdicts.values())
            told = "; ".join(
                f"{verdict} under {', '.join(key for key in verdicts if verdicts[key] == verdict)}"
                for verdict in others
            )
            yield label, f"{usual} by default; {told or 'the same under every interpretation'}"


def _statements(study: InterpretationStudy) -> Iterable[str]:
    for statement, labels, rows in study.groups():
        cells = [
            [code(interpretation.key), *map(_cell, found)] for interpretation, found in rows.items()
        ]
        yield f"<h3>{html.escape(statement)}</h3>"
        yield table(["interpretation", *labels], cells, [])


def _cell(found: Estimate) -> str:
    kind = found.verdict.replace(" ", "-")
    return f"<span class='verdict {kind}'>{interval(found)}</span>"
