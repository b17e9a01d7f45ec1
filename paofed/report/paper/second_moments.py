"""Second moments on request: learning curves, stable and best step sizes, by algorithm."""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.errors import InputError
from paofed.report.paper.theory import GAP, PARTS, PREDICTED, Beside
from paofed.table import NUMBER, CellForm, ShownColumn, ShownTable, number, numeric
from paofed.theory.foresight import Check, Foresight
from paofed.theory.gap import Gap
from paofed.theory.second.curve import LearningCurve
from paofed.theory.second.horizon import BestStep
from paofed.theory.second.stability import StableStep

_GAPS = (GAP, "gap_db", "lost_db")  # how the names of gaps end
# Shows how far one part of the work, which is named, has come.
Shown = Callable[[str], AbstractContextManager[Callable[[float], None]]]


class Foreseen(NamedTuple):
    """What second moments say of one algorithm in one fleet."""

    curve: LearningCurve
    stable: StableStep
    best: BestStep | None  # None where it was not asked for
    # None where it was not asked for; a text says why there is none.
    steady: LearningCurve | str | None


def predicted(
    foresight: Foresight,
    method: Algorithm,
    *,
    every: int,
    best: bool,
    steady: bool,
    check: Check,
    progress: Shown,
) -> Foreseen:
    """Compute what second moments say of a method in the fleet of a foresight.

    `every` is the ticks between two points of the learning curve, and `check` says what is done
    about its error: "none" where runs are made beside it. `best` and `steady` ask for the best step
    size and the steady state. `progress` shows each part of the work.
    """
    with progress(f"{method.name}: learning curve") as report:
        curve = foresight.learning_curve(method, every=every, check=check, report=report)
    with progress(f"{method.name}: largest stable step") as report:
        stable = foresight.stable_step(method, report=report)
    found = Foreseen(curve, stable, None, None)
    if best:
        with progress(f"{method.name}: best step") as report:
            found = found._replace(best=foresight.best_step(method, check="tell", report=report))
    if steady:
        with progress(f"{method.name}: steady state") as report:
            found = found._replace(steady=_steady(foresight, method, report))
    return found


def _steady(
    foresight: Foresight, method: Algorithm, report: Callable[[float], None]
) -> LearningCurve | str:
    """Return where the curve ends, or say why it has no end: the rest can still be shown."""
    try:
        curve = foresight.steady_state(method, check="tell", report=report)
    except InputError as refusal:
        return str(refusal)
    if curve.gap is not None and curve.gap.refused:
        return f"{method.name}: {curve.gap.refusal('its steady state')}"
    return curve


def as_record(name: str, found: Foreseen, beside: Beside) -> dict[str, Any]:
    """Return a record for programs, of the end of the run; NaN for what was refused."""
    curves, gap = beside.curves(name), beside.gap(name)
    record: dict[str, Any] = {key: curves[key][-1] for key in (PREDICTED, *PARTS)}
    record |= {"stable_step": found.stable.step, "stable_step_set_by_client": found.stable.client}
    if (best := found.best) is not None:
        refused = best.refusal() is not None
        record["best_step"] = np.nan if refused else best.step
        record["best_step_db"] = np.nan if refused else float(best.curve.db[-1])
        record |= _of_gap("best_step_gap", best.curve.gap)
        record |= _of_gap("best_step_lost", best.lost)
    if isinstance(steady := found.steady, LearningCurve):
        record["steady_state_db"] = float(steady.db[-1])
        record |= _of_gap("steady_state_gap", steady.gap)
    elif steady is not None:
        record["steady_state_db"] = np.nan
    if gap is not None:
        at = {"largest_gap_at_tick": gap.tick, "largest_gap_runs": gap.runs, "refused": gap.refused}
        record |= _of_gap("largest_gap", gap) | at
    return record


def _of_gap(what: str, gap: Gap | None) -> dict[str, float]:
    """Return a gap and its standard error by name; nothing where there is none."""
    return {} if gap is None else {f"{what}_db": gap.db, f"{what}_standard_error": gap.error}


def as_table(records: dict[str, dict[str, Any]]) -> str:
    """Return a table for people; one line per algorithm."""
    columns = [
        ShownColumn(PREDICTED, "learning curve", _OR_REFUSED, "dB"),
        ShownColumn(GAP, "largest gap", _GAP, "dB"),
        ShownColumn("test_noise", "noise of tests", _PART),
        ShownColumn("residual", "residual of the map", _PART),
        ShownColumn("of_mean", "distance of the mean", _PART),
        ShownColumn("of_spread", "spread", _PART),
        ShownColumn("stable_step", "largest stable step", NUMBER),
        ShownColumn("best_step", "best step", _OR_REFUSED),
        ShownColumn("best_step_db", "learning curve there", NUMBER, "dB"),
        ShownColumn("best_step_gap_db", "gap there", _GAP, "dB"),
        ShownColumn("best_step_lost_db", "lost by it", _GAP, "dB"),
        ShownColumn("steady_state_db", "steady state", _OR_NONE, "dB"),
        ShownColumn("steady_state_gap_db", "gap of that", _GAP, "dB"),
    ]
    shown = [one for one in columns if any(one.keys[0] in record for record in records.values())]
    rows = [
        [name, *(_value(record, one.keys[0]) for one in shown)] for name, record in records.items()
    ]
    title = "second moments, after the last tick"
    return ShownTable([ShownColumn("algorithm", "algorithm"), *shown], rows, title).text()


def _or(word: str) -> CellForm:
    """Return a form of numbers in which a word stands for one that there is not."""
    return numeric(lambda value: number(value) if math.isfinite(value) else word)


def _gap(value: tuple[float, float]) -> str:
    """Write a gap with its standard error."""
    gap, error = value
    return f"{gap:+.2f} ± {error:.2f}" if math.isfinite(error) else "-"


_OR_REFUSED, _OR_NONE, _GAP = _or("refused"), _or("none"), numeric(_gap)
_PART = numeric(lambda value: number(value, 4))


def _value(record: dict[str, Any], key: str) -> Any:
    """Return a number or, of a gap, the number and its standard error; NaN where there is none."""
    error = f"{key.removesuffix('_db')}_standard_error"
    value = record.get(key, math.nan)
    return (value, record.get(error, math.nan)) if key.endswith(_GAPS) else value


def warnings(found: dict[str, Foreseen], beside: Beside) -> list[str]:
    """Say what to worry about, one sentence each."""
    told = []
    for name, one in found.items():
        gap = beside.gap(name)
        if gap is not None and gap.refused:
            told.append(f"{name}: {gap.refusal('the predicted learning curve')}")
        if one.best is not None and (why := one.best.refusal()) is not None:
            told.append(f"{name}: {why}")
        if isinstance(one.steady, str):
            told.append(one.steady)
    return told
