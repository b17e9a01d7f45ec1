"""What a device must compute before it predicts or learns, for the page of a table."""

from collections.abc import Iterator, Mapping
from typing import Any

from paofed.report.shared.markup import heading, note, preformatted
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


def on_device(result: Result) -> Iterator[str]:
    """Yield what a device must know and compute; only for runs over a table."""
    table, scenario = result.provenance.get("table"), result.provenance["scenario"]
    if table is None:
        return
    yield heading("On the device")
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
