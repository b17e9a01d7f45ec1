"""What a figure says of itself: title, names, step sizes, and what its bands are."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from paofed.report.shared.looks import method_name
from paofed.simulate.results.result import Result
from paofed.words import counted

_MOST = 12  # curves that the eye can tell apart
_EXTREMES = 5  # of more curves, so many of the best and of the worst have names


class Cast(NamedTuple):
    """Which algorithms a figure names, and which it only draws."""

    named: list[str]
    others: list[str]

    @property
    def others_label(self) -> str:
        """The legend's label of algorithms without a name."""
        return f"{counted(len(self.others), 'other')}, between these"


def cast(errors: Mapping[str, float]) -> Cast:
    """Choose who is named: all where they can be told apart, else the best and the worst.

    `errors` are final errors in dB; NaN is the error of an algorithm that has diverged.
    """
    if len(errors) <= _MOST:
        return Cast(list(errors), [])
    order = sorted(errors, key=lambda name: rank(errors[name]))
    between = set(order[_EXTREMES:-_EXTREMES])
    return Cast(
        [name for name in errors if name not in between],
        [name for name in errors if name in between],
    )


def rank(db: float) -> float:
    """Return what to sort errors by: NaN, of an algorithm that has diverged, comes last."""
    return math.inf if math.isnan(db) else db


def best_places(values: Sequence[float], *, most: bool = False) -> set[int]:
    """Return where the least of some numbers stands, or the `most`; nowhere if none is to compare.

    >>> best_places([3.0, 1.0, math.nan, 1.0]), best_places([math.nan, 1.0])
    ({1, 3}, set())
    """
    known = [value for value in values if math.isfinite(value)]
    best = (max if most else min)(known, default=math.nan)
    return {i for i, value in enumerate(values) if value == best and len(known) > 1}


def default_title(result: Result, names: Iterable[str] | None = None) -> str:
    """Say what was run, with the step size and kernel width that hold for all that is shown."""
    scenario = result.provenance["scenario"]
    said = counted(result.runs, "run"), step_size(result, names), _kernel_width(scenario)
    return f"{scenario['name']}: {', '.join(filter(None, said))}"


def _kernel_width(scenario: Mapping[str, Any]) -> str:
    """Say the kernel width, where there is one for all runs."""
    if "kernel_width" not in scenario:  # worlds of one's own have none
        return ""
    width = float(f"{scenario['kernel_width']:.4g}")  # the width of a table has all its digits
    return f"kernel width {width}"


def step_size(result: Result, names: Iterable[str] | None = None) -> str:
    """Say the step size: that of all that is shown, or of those whose name has none."""
    used, usual = _used(result, names), result.provenance["scenario"]["step_size"]
    if len(used) == 1:
        return f"step size {used.pop()}"
    return f"step size {usual} where none is named" if usual in used else ""


def entries(result: Result, names: Sequence[str]) -> dict[str, str]:
    """Return what a legend calls algorithms: their methods, with step sizes where these differ."""
    own, differ = _own(result), len(_used(result, names)) > 1

    def untold(name: str) -> bool:
        return differ and name in own and "step_size=" not in name

    return {
        name: f"{method_name(name)}, step size {own[name]}" if untold(name) else method_name(name)
        for name in names
    }


def bands(runs: int) -> str:
    """Say what the bands are."""
    return f"bands: 95 % intervals\nof the mean of {counted(runs, 'run')}"


def _own(result: Result) -> dict[str, float]:
    """Return the step sizes of algorithms that do not leave it to the scenario."""
    described = result.provenance["algorithms"]
    return {d["name"]: d["step_size"] for d in described if d.get("step_size") is not None}


def _used(result: Result, names: Iterable[str] | None) -> set[float]:
    """Return the step sizes in a figure; over a table, baselines have the scenario's."""
    own, usual = _own(result), result.provenance["scenario"]["step_size"]
    used = {own.get(name, usual) for name in (result.algorithms if names is None else names)}
    return used if result.progressive is None else used | {usual}
