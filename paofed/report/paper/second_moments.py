"""Second moments on request: learning curves, stable and best step sizes, by algorithm."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.errors import InputError
from paofed.report.paper.theory import GAP, PARTS, PREDICTED, Beside
from paofed.theory.foresight import Check, Foresight
from paofed.theory.gap import Gap
from paofed.theory.second.curve import LearningCurve
from paofed.theory.second.horizon import BestStep
from paofed.theory.second.stability import StableStep
from paofed.words import table

# Shows how far one part of the work, which is named, has come.
Shown = Callable[[str], AbstractContextManager[Callable[[float], None]]]
# What stands for a number that is refused or that there is not; a dash stands for all others.
_REFUSED = {PREDICTED: "refused", "best_step": "refused", "steady_state_db": "none"}


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
    columns = {
        PREDICTED: "learning curve (dB)",
        GAP: "largest gap (dB)",
        "test_noise": "noise of tests",
        "residual": "residual of the map",
        "of_mean": "distance of the mean",
        "of_spread": "spread",
        "stable_step": "largest stable step",
        "best_step": "best step",
        "best_step_db": "learning curve there (dB)",
        "best_step_gap_db": "gap there (dB)",
        "best_step_lost_db": "lost by it (dB)",
        "steady_state_db": "steady state (dB)",
        "steady_state_gap_db": "gap of that (dB)",
    }
    keys = [key for key in columns if any(key in record for record in records.values())]
    rows = [[name, *(_cell(key, record) for key in keys)] for name, record in records.items()]
    return "second moments, after the last tick\n\n" + table(
        ["algorithm", *(columns[key] for key in keys)], rows
    )


def _cell(key: str, record: dict[str, Any]) -> str:
    """Write a number; gaps with their standard error."""
    value = record.get(key, np.nan)
    if key in PARTS and np.isfinite(value):
        return f"{value:.4f}"
    if f"{key.removesuffix('_db')}_standard_error" in record:
        return f"{value:+.2f} ± {record[key.removesuffix('_db') + '_standard_error']:.2f}"
    if np.isfinite(value):
        return f"{value:.2f}"
    return _REFUSED.get(key, "-")


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
