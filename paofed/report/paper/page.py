"""The study's page: figures, verdicts and maps as one HTML file that loads nothing."""

import html
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import groupby
from typing import Any

from paofed.report.paper.claims import Claim
from paofed.report.paper.study import Cell, Study
from paofed.report.paper.theory import CURVES, PREDICTED, Beside, of_step_sizes
from paofed.report.shared.finals import finals
from paofed.report.shared.markup import (
    code,
    details,
    document,
    figure,
    heading,
    interval,
    note,
    number,
    preformatted,
    table,
)
from paofed.simulate.results.estimates import Estimate, Verdict
from paofed.words import counted

# Why each statement might be true or not, by how the keys of its claims begin: mechanisms, not
# results.
REASONS: Mapping[str, str] = {
    "local": "A client that learns between contacts sends a model refined by samples the server "
    "has not seen. The versions ending in 0 overwrite that learning before it is sent.",
    "uncoordinated": "With coordinated windows, everything that arrives at a tick concerns the "
    "same few parameters, and a late message meets parameters that have moved on.",
    "coordinated": "When nothing is late and everyone is there, coordinated windows average each "
    "parameter over the whole fleet at once.",
    "accurate": "Online-FedSGD sends 50 times as much and its clients rest while away. Which of "
    "the two counts more depends on how often clients are there.",
    "poor": "Every client left out is a contact lost, but each of the others still sends a whole "
    "model. A fraction of 0.02 sends exactly as much as PAO-Fed with 4 of 200 parameters.",
    "fewer": "A larger window moves more of the server's model per message: faster learning, and "
    "more for one late message to disturb.",
    "weight": "A late update says less about the present. Giving it a smaller weight keeps few "
    "stragglers from overwriting what many clients agreed on.",
    "grows": "Setting II has longer delays, so more weight is taken from more messages.",
    "saved": "Counted, not estimated: 4 of 200 parameters in both directions at every contact.",
    "tenfold": "The traffic of both until they first reach an error that both reach in the end.",
}
_TITLE = "PAO-Fed, reproduced: what holds, what does not, and where"
_WHAT = (
    "PAO-Fed, partial-sharing asynchronous online federated learning, is for devices that are "
    "often away: each keeps its data, and all learn one nonlinear model by sending a few of its "
    "numbers at each contact, late or not."
)
_HOW_JUDGED = (
    "Differences are taken run by run in the same world, positive where they support the "
    "statement. A tie is an interval inside ±0.1 dB; the last two statements are judged against "
    "the number they name."
)
_ONE_EXCHANGE = (
    "The paper's contact is two round trips: receive, learn, send. Sending first and receiving in "
    "the reply needs one. <code>single</code> answers at once, <code>live</code> when the message "
    "arrives. How much worse that is, in dB (negative: better):"
)
_STEPS = (
    "The paper's theorem bounds the step size so that the mean of the models converges. Models can "
    "blow up below it, and with partial sharing even the mean can diverge below it (the "
    "documentation has a fleet that does)."
)
_MEAN_MODEL = (
    "The mean of the server's model can be predicted at full size, without simulation. Here is its "
    "error at the end in dB, beside that of the average over runs in one world; the learning curve "
    "lies above both by the variance of the model, and is predicted from second moments for some. "
    "The gap is the largest between the two learning curves from tick 50 on; a prediction that is "
    "further off than 0.5 dB is refused. Theory assumes inputs that are independent in time. The "
    "paper's are not: the difference between the first two columns and the gap are what that costs."
)
_SYMBOLS: Mapping[Verdict, str] = {
    "holds": "✓",
    "does not hold": "✗",
    "tie": "=",
    "inconclusive": "?",
}
_WORDS: Mapping[Verdict, str] = {
    "holds": "it holds",
    "does not hold": "it does not hold",
    "tie": "a tie",
    "inconclusive": "undecided",
}


def build(
    study: Study,
    drawings: Mapping[str, tuple[str, str]],
    command: str,
    beyond: Iterable[str] = (),
    *,
    interrupted: bool = False,
) -> str:
    """Return the page of a study as far as it is; `drawings` are (caption, SVG) by name.

    `beyond` is HTML that follows the study. Where the work was `interrupted`, the page says that
    the parts still missing will not come.
    """
    first, *others = [figure(*drawing) for drawing in drawings.values()] or [""]
    top = [*_under_way(study, interrupted=interrupted), _lead(study), first]
    parts = [
        *_judged(study),
        *([heading("Figures"), *others] if others else []),
        *_details(study),
        *beyond,
        heading("To run it again"),
        preformatted(command),
        *_made_with(study),
    ]
    under_way = bool(study.coming) and not interrupted
    return document(_TITLE, top, parts, under_way=under_way)


def _under_way(study: Study, *, interrupted: bool) -> Iterable[str]:
    """Say what the page does not show yet, if anything."""
    if study.coming:
        parts = ", ".join(study.coming)
        told = (
            f"Interrupted before these were finished: {parts}. The command at the end of the page "
            f"runs everything."
            if interrupted
            else f"Under way. Still coming: {parts}. The page shows each of them when it is "
            f"finished, by itself."
        )
        yield f"<p><strong>{html.escape(told)}</strong></p>"


def _lead(study: Study) -> str:
    """Say what PAO-Fed is and, if there is a result yet, what came out."""
    return f"<p class='lead'>{_WHAT}{f' {_summary(study)}' if study.results else ''}</p>"


def _judged(study: Study) -> Iterable[str]:
    """Return the verdicts, if there is a result yet."""
    if study.results:
        runs = {setting: result.runs for setting, result in study.results.items()}
        yield heading("Verdicts")
        yield note(html.escape(f"{_conditions(_about(study), runs)}{_tried(study)}"))
        yield _verdicts(study)
        yield note(_HOW_JUDGED)


def _tried(study: Study) -> str:
    """Say at which other step sizes and kernel widths the claims are judged, as far as they are."""
    if not study.grid:
        return ""
    widths, steps = (len(set(values)) for values in zip(*study.grid, strict=True))
    told = [counted(widths, "kernel width"), counted(steps, "step size")]
    return (
        f" The paper states neither step size nor kernel width, so claims are also judged at "
        f"{' and '.join(told)}."
    )


def _details(study: Study) -> Iterable[str]:
    """Return the numbers behind the verdicts, theory and best step sizes, where there are any."""
    if study.results:
        yield heading("Final errors and traffic")
        for name, result in study.results.items():
            yield f"<h3>{html.escape(name)}</h3>{finals(result).html()}"
        yield heading("Claim by claim")
        yield from _claims(study)
        yield heading("One exchange per contact")
        yield f"<p>{_ONE_EXCHANGE}</p>"
        yield study.exchange_table().html()
    if study.theory:
        yield heading("Theory beside simulation")
        yield from _theory(study)
    if len({cell.step_size for cell in study.grid}) > 1:
        yield heading("Each algorithm at its own best step size")
        yield note("The best cell of the grid, by the mean final error of its few runs.")
        yield study.best_table().html()


def _about(study: Study) -> Mapping[str, Any]:
    """Return the provenance of the study's first result."""
    return next(iter(study.results.values())).provenance


def _made_with(study: Study) -> Iterable[str]:
    if study.results:
        about = _about(study)
        yield preformatted(json.dumps(about["versions"], indent=1))
        yield details("Scenario", preformatted(json.dumps(about["scenario"], indent=1)))


def _conditions(about: Mapping[str, Any], runs: Mapping[str, int]) -> str:
    scenario = about["scenario"]
    done = ", ".join(f"{counted(count, 'run')} of {setting}" for setting, count in runs.items())
    return (
        f"{done}; {scenario['clients']} clients, {scenario['ticks']} ticks, "
        f"{scenario['features']} features, step size {scenario['step_size']}, kernel width "
        f"{scenario['kernel_width']}, seed {about['seed']}."
    )


def _summary(study: Study) -> str:
    verdicts = [found.verdict for _, found in study.verdicts()]
    counts = [f"{verdicts.count(v)} {_badge(v)}" for v in _SYMBOLS if verdicts.count(v)]
    runs = counted(min(result.runs for result in study.results.values()), "run")
    return (
        f"Of {len(verdicts)} comparisons that test the paper's statements, each in {runs}: "
        f"{', '.join(counts)}."
    )


def _badge(verdict: str) -> str:
    return f"<span class='verdict {verdict.replace(' ', '-')}'>{verdict}</span>"


def _said(claim: Claim, found: Estimate) -> str:
    """Write what was found for a claim, with its unit."""
    shown = interval(claim.shown(found), digits=1 if claim.is_ratio else 2)
    return f"{shown} {html.escape(claim.shown_unit)}"


def _verdicts(study: Study) -> str:
    heads = "".join(f"<th scope='col'>{h}</th>" for h in ("comparison", "found [95 %]", "verdict"))
    rows = ""
    for statement, group in groupby(study.verdicts(), key=lambda judged: judged[0].statement):
        rows += f"<tr><th scope='colgroup' colspan=3>{html.escape(statement)}</th></tr>"
        for claim, found in group:
            cells = html.escape(claim.where), _said(claim, found), _badge(found.verdict)
            rows += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    return (
        f"<div class='scroll'><table class='verdicts'><thead><tr>{heads}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _claims(study: Study) -> Iterable[str]:
    for statement, group in groupby(study.verdicts(), key=lambda judged: judged[0].statement):
        found = dict(group)
        claims = list(found)
        maps = {claim: study.map_of(claim) for claim in claims if claim.on_grid and study.grid}
        cells = [e for cells in maps.values() for e in cells.values()]
        words = [
            REASONS[claims[0].key.partition("-")[0]],
            _tally(found.values(), "At the defaults"),
        ]
        if cells:
            runs = counted(cells[0].runs, "run")
            words.append(_tally(cells, f"Over the grid, with {runs} in each cell"))
        yield f"<h3>{html.escape(statement)}</h3><p>{html.escape(' '.join(words))}</p>"
        if maps:
            pictures = "".join(_map(claim, cells) for claim, cells in maps.items())
            yield f"<div class='maps'>{pictures}</div>"


def _tally(found: Collection[Estimate], where: str) -> str:
    """Say in words in how many comparisons a statement holds, does not hold, ..."""
    counts = Counter(e.verdict for e in found)
    if len(counts) > 1:
        told = ", ".join(f"{_WORDS[v]} in {counts[v]}" for v in _WORDS if counts[v])
        return f"{where}, of {len(found)} comparisons: {told}."
    verdict, count = counts.popitem()
    if count == 1:
        return f"{where}: {_WORDS[verdict]}."
    if verdict == "does not hold":
        return f"{where}: it holds in none of {count} comparisons."
    return f"{where}: {_WORDS[verdict]} in all of {count} comparisons."


def _map(claim: Claim, cells: Mapping[Cell, Estimate]) -> str:
    widths = sorted({cell.kernel_width for cell in cells})
    steps = sorted({cell.step_size for cell in cells})
    head = "".join(f"<th scope='col'>μ {step:g}</th>" for step in steps)
    rows = ""
    for width in widths:
        row = ""
        for step in steps:
            found = cells[Cell(width, step)]
            kind = found.verdict.replace(" ", "-")
            mean = number(claim.shown(found).mean, 1)
            row += f"<td class='{kind}'>{_SYMBOLS[found.verdict]} {mean}</td>"
        rows += f"<tr><th scope='row'>σ {width:g}</th>{row}</tr>"
    caption = html.escape(f"{claim.where} ({claim.shown_unit})")
    return f"<table><caption>{caption}</caption><tr><td></td>{head}</tr>{rows}</table>"


def _theory(study: Study) -> Iterable[str]:
    if study.steps is not None:
        yield f"<p>{_STEPS}</p>"
        yield of_step_sizes(study.steps).html()
    yield f"<p>{_MEAN_MODEL}</p>"
    rows = [
        [
            label,
            code(name),
            *_ends(beside, name),
        ]
        for label, beside in study.theory.items()
        for name in beside.names
    ]
    header = [
        "inputs", "algorithm", "mean model, predicted", "averaged model", "learning curve",
        "learning curve, predicted", "gap",
    ]  # fmt: skip
    yield table(header, rows, [2, 3, 4, 5, 6])


def _ends(beside: Beside, name: str) -> Iterable[str]:
    """Return the errors after the last tick, and the gap of a predicted learning curve, if any."""
    curves, gap = beside.curves(name), beside.gap(name)
    yield from (number(curves[key][-1]) for key in CURVES)
    if gap is None:
        yield from ("", "")
    else:
        yield "refused" if gap.refused else number(curves[PREDICTED][-1])
        yield number(gap.db)
