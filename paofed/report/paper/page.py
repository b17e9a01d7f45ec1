"""The study's page: figures, verdicts and maps as one HTML file that loads nothing."""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from markupsafe import Markup

from paofed.experiments.paper.claims import (
    ACCURATE,
    COORDINATED,
    FEWER,
    GROWS,
    LOCAL,
    POOR,
    SAVED,
    TENFOLD,
    UNCOORDINATED,
    WEIGHT,
    Claim,
)
from paofed.experiments.paper.study import Cell, Study
from paofed.experiments.paper.theory import CURVES, PREDICTED, Beside, of_step_sizes
from paofed.report.shared.pages import drawn, finals, interval, number, page
from paofed.simulate.results.estimates import Estimate, Verdict
from paofed.table import NAME, NUMBER, ShownColumn, ShownTable, number_or
from paofed.words import counted

# Why each statement might be true or not: mechanisms, not results.
REASONS: Mapping[str, str] = {
    LOCAL: "A client that learns between contacts sends a model refined by samples the server "
    "has not seen. The versions ending in 0 overwrite that learning before it is sent.",
    UNCOORDINATED: "With coordinated windows, everything that arrives at a tick concerns the "
    "same few parameters, and a late message meets parameters that have moved on.",
    COORDINATED: "When nothing is late and everyone is there, coordinated windows average each "
    "parameter over the whole fleet at once.",
    ACCURATE: "Online-FedSGD sends 50 times as much and its clients rest while away. Which of "
    "the two counts more depends on how often clients are there.",
    POOR: "Every client left out is a contact lost, but each of the others still sends a whole "
    "model. A fraction of 0.02 sends exactly as much as PAO-Fed with 4 of 200 parameters.",
    FEWER: "A larger window moves more of the server's model per message: faster learning, and "
    "more for one late message to disturb.",
    WEIGHT: "A late update says less about the present. Giving it a smaller weight keeps few "
    "stragglers from overwriting what many clients agreed on.",
    GROWS: "Setting II has longer delays, so more weight is taken from more messages.",
    SAVED: "Counted, not estimated: 4 of 200 parameters in both directions at every contact.",
    TENFOLD: "The traffic of both until they first reach an error that both reach in the end.",
}
_TITLE = "PAO-Fed, reproduced: what holds, what does not, and where"
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


class Beyond(NamedTuple):
    """What a page about the paper says of other methods."""

    in_short: Markup
    command: str  # what made these numbers,
    version: str  # and with which paofed


class Map(NamedTuple):
    """A claim over the grid: a row for every kernel width, a cell for every step size."""

    claim: Claim
    steps: list[float]
    rows: list[tuple[float, list[tuple[Verdict, str, str]]]]


class Statement(NamedTuple):
    """A statement of the paper with the comparisons that test it."""

    words: str
    found: list[tuple[Claim, str, Verdict]]
    told: str  # why it might hold or not, and in how many comparisons it does
    maps: list[Map]


def build(
    study: Study,
    drawings: Mapping[str, tuple[str, str]],
    command: str,
    beyond: Beyond | None = None,
    *,
    interrupted: bool = False,
) -> str:
    """Return the page of a study as far as it is; `drawings` are (caption, SVG) by name.

    Where the work was `interrupted`, the page says that the parts still missing will not come.
    """
    return page(
        "paper.html.j2",
        under_way=bool(study.coming) and not interrupted,
        title=_TITLE,
        coming=study.coming,
        figures=[*drawn(drawings).values()],
        results={name: finals(result) for name, result in study.results.items()},
        beyond=beyond,
        command=command,
        theory=_theory(study) if study.theory else "",
        steps=of_step_sizes(study.steps) if study.steps is not None else "",
        best=study.best_table() if len({cell.step_size for cell in study.grid}) > 1 else "",
        **(_judged(study) if study.results else {}),
    )


def _judged(study: Study) -> dict[str, Any]:
    """Return what is said once there is a result."""
    about = next(iter(study.results.values())).provenance
    runs = {setting: result.runs for setting, result in study.results.items()}
    verdicts = Counter(found.verdict for _, found in study.verdicts())
    return {
        "about": about,
        "runs": counted(min(runs.values()), "run"),
        "counts": {verdict: verdicts[verdict] for verdict in _SYMBOLS if verdicts[verdict]},
        "conditions": f"{_conditions(about, runs)}{_tried(study)}",
        "statements": [*_statements(study)],
        "exchanges": study.exchange_table(),
    }


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


def _conditions(about: Mapping[str, Any], runs: Mapping[str, int]) -> str:
    scenario = about["scenario"]
    done = ", ".join(f"{counted(count, 'run')} of {setting}" for setting, count in runs.items())
    return (
        f"{done}; {scenario['clients']} clients, {scenario['ticks']} ticks, "
        f"{scenario['features']} features, step size {scenario['step_size']}, kernel width "
        f"{scenario['kernel_width']}, seed {about['seed']}."
    )


def _statements(study: Study) -> Iterator[Statement]:
    for words, group in groupby(study.verdicts(), key=lambda judged: judged[0].statement):
        found = dict(group)
        claims = list(found)
        maps = {claim: study.map_of(claim) for claim in claims if claim.on_grid and study.grid}
        cells = [e for cells in maps.values() for e in cells.values()]
        told = [
            REASONS[words],
            _tally(found.values(), "At the defaults"),
        ]
        if cells:
            runs = counted(cells[0].runs, "run")
            told.append(_tally(cells, f"Over the grid, with {runs} in each cell"))
        yield Statement(
            words,
            [(claim, _shown(claim, one), one.verdict) for claim, one in found.items()],
            " ".join(told),
            [_map(claim, cells) for claim, cells in maps.items()],
        )


def _shown(claim: Claim, found: Estimate) -> str:
    return interval(claim.shown(found), digits=1 if claim.is_ratio else 2)


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


def _map(claim: Claim, cells: Mapping[Cell, Estimate]) -> Map:
    widths = sorted({cell.kernel_width for cell in cells})
    steps = sorted({cell.step_size for cell in cells})

    def cell(found: Estimate) -> tuple[Verdict, str, str]:
        return found.verdict, _SYMBOLS[found.verdict], number(claim.shown(found).mean, 1)

    rows = [(width, [cell(cells[Cell(width, step)]) for step in steps]) for width in widths]
    return Map(claim, steps, rows)


def _theory(study: Study) -> ShownTable:
    """Return the errors after the last tick, and the gap of a predicted learning curve, if any."""
    rows = [
        [label, name, *(beside.curves(name)[key][-1] for key in CURVES), *_predicted(beside, name)]
        for label, beside in study.theory.items()
        for name in beside.names
    ]
    columns = (
        ShownColumn("inputs", "inputs"),
        ShownColumn("algorithm", "algorithm", NAME),
        ShownColumn("mean", "mean model, predicted", NUMBER),
        ShownColumn("averaged", "averaged model", NUMBER),
        ShownColumn("learning", "learning curve", NUMBER),
        ShownColumn("predicted", "learning curve, predicted", number_or("refused")),
        ShownColumn("gap", "gap", NUMBER),
    )
    return ShownTable(columns, rows)


def _predicted(beside: Beside, name: str) -> Sequence[float | None]:
    """Return the end of a predicted learning curve and its gap, if it was predicted."""
    gap = beside.gap(name)
    if gap is None:
        return None, None
    return math.nan if gap.refused else beside.curves(name)[PREDICTED][-1], gap.db
