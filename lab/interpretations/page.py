"""One self-contained page: what each interpretation makes of the disputed statements."""

from collections.abc import Iterator, Mapping

from markupsafe import Markup

from lab.interpretations.study import InterpretationStudy
from paofed.report.shared.markup import code, drawn, interval, number, page, table
from paofed.simulate.results.estimates import Estimate


def build(study: InterpretationStudy, drawings: Mapping[str, tuple[str, str]], command: str) -> str:
    """Write the page; drawings come as name -> (caption, SVG)."""
    about = next(iter(next(iter(study.results.values())).values())).provenance
    words = [[code(one.key), one.words] for one in study.results]
    steps = [
        [code(r), s, code(a), f"{step:.3g}", number(db)] for r, s, a, step, db in study.steps()
    ]
    return page(
        "interpretations.html.j2",
        "lab.interpretations",
        title="Every interpretation of the paper: which verdicts change",
        figures=[*drawn(drawings).values()],
        changes=[f"{key}: {told}" for key, told in changes(study)],
        interpretations=table(["interpretation", "what is read otherwise"], words, []),
        statements=_statements(study),
        steps=table(
            ["interpretation", "setting", "algorithm", "step size", "start (dB)"], steps, [3, 4]
        ),
        command=command,
        versions=about["versions"],
    )


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


def _statements(study: InterpretationStudy) -> dict[str, Markup]:
    """Return the verdicts under each interpretation, by statement."""
    return {
        statement: table(
            ["interpretation", *labels],
            [[code(one.key), *map(_cell, found)] for one, found in rows.items()],
            [],
        )
        for statement, labels, rows in study.groups()
    }


def _cell(found: Estimate) -> Markup:
    kind = found.verdict.replace(" ", "-")
    return Markup("<span class='verdict {}'>{}</span>").format(kind, interval(found))
