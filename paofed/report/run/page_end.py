"""How the page of a table ends: what a device must compute, and what to do."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from paofed.report.run.advice import Advice
from paofed.report.run.advice_words import fleet_command, sentences
from paofed.report.shared.markup import bullets, note, preformatted
from paofed.simulate.results.estimates import TIE
from paofed.simulate.results.result import Result

_RECIPES = "What a device computes from its readings before it predicts or learns, in this order:"
_LINEAR = (
    "The last {terms} of its {features} features are linear terms: each input x, clipped to its "
    "range, as (2 x - low - high) / (high - low) / √{terms}, and a constant, 1 / √{terms}."
)
_START = (
    "It begins with the fit of the calibration period: {features} numbers, which it has before its "
    "first reading."
)
_BEHIND = (
    f"95 % intervals are paired over devices, as if these were independent. What is within {TIE} "
    f"dB is a tie. advice.csv has the numbers."
)


def on_device(result: Result) -> Iterator[str]:
    """Yield what a device must know and compute; only for runs over a table."""
    table, scenario = result.provenance.get("table"), result.provenance["scenario"]
    if table is None:
        return
    yield "<h2>On the device</h2>"
    yield note(_RECIPES)
    yield preformatted("\n".join(table["recipes"]))
    if scenario.get("linear"):
        terms = len(table["inputs"]) + 1
        yield note(_LINEAR.format(terms=terms, features=scenario["features"]))
        if ranges := list(_ranges(table)):
            yield preformatted("\n".join(ranges))
    if scenario.get("start") == "calibration":
        yield note(_START.format(features=scenario["features"]))


def _ranges(table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the range of each input, where the run has kept it."""
    for label, (low, high) in zip(table["inputs"], table.get("ranges", ()), strict=False):
        yield f"{label}: low = {low:.6g}, high = {high:.6g}"


def what_to_do(advice: Advice, saved: Path | None) -> Iterator[str]:
    """Yield the advice, and the command that follows it where the result was saved."""
    yield "<h2>What to do</h2>"
    yield bullets(sentences(advice))
    yield note(_BEHIND)
    if saved is not None:
        yield note("A fleet with these settings is made by")
        yield preformatted(fleet_command(advice, saved))
