"""One self-contained page: what each interpretation makes of the disputed statements."""

from collections.abc import Iterator, Mapping

from lab.interpretations.study import InterpretationStudy
from paofed.report.shared.pages import drawn, interval, page
from paofed.simulate.results.estimates import Estimate
from paofed.table import NAME, NUMBER, CellForm, ShownColumn, ShownTable, estimated, numeric


def build(study: InterpretationStudy, drawings: Mapping[str, tuple[str, str]], command: str) -> str:
    """Write the page; drawings come as name -> (caption, SVG)."""
    about = next(iter(next(iter(study.results.values())).values())).provenance
    words = ShownTable(
        (_INTERPRETATION, ShownColumn("words", "what is read otherwise")),
        [[one.key, one.words] for one in study.results],
    )
    steps = (
        _INTERPRETATION,
        ShownColumn("setting", "setting"),
        ShownColumn("algorithm", "algorithm", NAME),
        ShownColumn("step_size", "step size", numeric(lambda step: f"{step:.3g}")),
        ShownColumn("start", "start", NUMBER, "dB"),
    )
    return page(
        "interpretations.html.j2",
        "lab.interpretations",
        title="Every interpretation of the paper: which verdicts change",
        figures=[*drawn(drawings).values()],
        changes=[f"{key}: {told}" for key, told in changes(study)],
        interpretations=words,
        statements=_statements(study),
        steps=ShownTable(steps, list(study.steps())),
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


def _statements(study: InterpretationStudy) -> dict[str, ShownTable]:
    """Return the verdicts under each interpretation, by statement."""
    return {
        statement: ShownTable(
            (_INTERPRETATION, *(ShownColumn(label, label, _VERDICT) for label in labels)),
            [[one.key, *found] for one, found in rows.items()],
        )
        for statement, labels, rows in study.groups()
    }


def _verdict(found: Estimate) -> str:
    kind = found.verdict.replace(" ", "-")
    return f"<span class='verdict {kind}'>{interval(found)}</span>"


_INTERPRETATION = ShownColumn("interpretation", "interpretation", NAME)
_VERDICT = CellForm(estimated, _verdict, is_number=False)
