"""Second moments on request: learning curves, stable and best step sizes, by algorithm."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.cli.shared.progress import Progress
from paofed.errors import InputError
from paofed.report.paper.theory import GAP, MOST_GAP, PARTS, PREDICTED, Beside, Gap
from paofed.theory.foresight import Foresight
from paofed.theory.second.curve import LearningCurve
from paofed.theory.second.horizon import BestStep
from paofed.theory.second.stability import StableStep
from paofed.words import table


class Foreseen(NamedTuple):
    """What second moments say of one algorithm in one fleet."""

    curve: LearningCurve
    stable: StableStep
    best: BestStep | None  # None where it was not asked for
    # None where it was not asked for; a text says why there is none.
    steady: LearningCurve | str | None


def predicted(
    foresight: Foresight, method: Algorithm, *, every: int, best: bool, steady: bool, title: str
) -> Foreseen:
    """Compute what second moments say, with a line of progress for each part."""

    def progress(part: str) -> Progress:
        return Progress(f"{title}, {method.name}: {part}")

    with progress("learning curve") as report:
        curve = foresight.learning_curve(method, every=every, report=report)
    with progress("largest stable step") as report:
        stable = foresight.stable_step(method, report=report)
    found = Foreseen(curve, stable, None, None)
    if best:
        with progress("best step") as report:
            found = found._replace(best=foresight.best_step(method, report=report))
    if steady:
        with progress("steady state") as report:
            found = found._replace(steady=_steady(foresight, method, report))
    return found


def _steady(
    foresight: Foresight, method: Algorithm, report: Callable[[float], None]
) -> LearningCurve | str:
    """Return where the curve ends, or say why it has no end: the rest can still be shown."""
    try:
        return foresight.steady_state(method, report=report)
    except InputError as refusal:
        return str(refusal)


def as_record(name: str, found: Foreseen, beside: Beside) -> dict[str, Any]:
    """Return a record for programs, of the end of the run; NaN for what was refused."""
    curves, gap = beside.curves(name), beside.gap(name)
    record: dict[str, Any] = {key: curves[key][-1] for key in (PREDICTED, *PARTS)}
    record |= {"stable_step": found.stable.step, "stable_step_set_by_client": found.stable.client}
    if found.best is not None:
        record["best_step"] = found.best.step
        record["best_step_db"] = float(found.best.curve.db[-1])
    if found.steady is not None:
        end = np.nan if isinstance(found.steady, str) else float(found.steady.db[-1])
        record["steady_state_db"] = end
    if gap is not None:
        record |= {
            GAP: gap.db,
            "largest_gap_at_tick": gap.tick,
            "largest_gap_standard_error": gap.error,
            "refused": gap.refused,
        }
    return record


def as_table(records: dict[str, dict[str, Any]]) -> str:
    """Return a table for people; one line per algorithm."""
    first = next(iter(records.values()))
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
        "steady_state_db": "steady state (dB)",
    }
    keys = [key for key in columns if key in first]
    rows = [
        [name, *(_cell(key, record[key], refused=record.get("refused", False)) for key in keys)]
        for name, record in records.items()
    ]
    return "second moments, after the last tick\n\n" + table(
        ["algorithm", *(columns[key] for key in keys)], rows
    )


def _cell(key: str, value: float, *, refused: bool) -> str:
    if refused and key in (PREDICTED, *PARTS):
        return "refused" if key == PREDICTED else "-"
    if not np.isfinite(value):
        return "none" if key == "steady_state_db" else "diverged"
    if key in PARTS:
        return f"{value:.4f}"
    return f"{value:+.2f}" if key == GAP else f"{value:.2f}"


def warnings(
    found: dict[str, Foreseen], beside: Beside, mu: Sequence[float], *, memory: bool
) -> list[str]:
    """Say what to worry about, one sentence each; `memory`: consecutive samples may be alike."""
    told = []
    for name, step in zip(beside.names, mu, strict=True):
        if name in found and step > found[name].stable.step:
            told.append(
                f"{name}: step size {step:g} is above {found[name].stable.step:.2f}, from where on "
                f"it is not stable in the mean square"
            )
        if name in found and isinstance(found[name].steady, str):
            told.append(str(found[name].steady))
        gap = beside.gap(name)
        if gap is not None and gap.refused:
            told.append(f"{name}: {_refusal(gap, memory=memory)}")
    if memory and found and beside.simulated is None:
        told.append(
            "second moments take samples as independent in time, and these may not be: --runs says "
            "how far predicted learning curves are off"
        )
    return told


def _refusal(gap: Gap, *, memory: bool) -> str:
    if not np.isfinite(gap.db):
        return (
            f"the predicted learning curve is refused: at tick {gap.tick} either it or the runs "
            f"diverged, and not both"
        )
    if not abs(gap.db) - 2 * gap.error > MOST_GAP:
        why = "so few runs may be as far off themselves: give more --runs"
    elif memory:
        why = "its samples are not independent in time, as theory takes them"
    else:
        why = "an approximation of docs/theory.md does not hold here"
    return (
        f"the predicted learning curve is refused: at tick {gap.tick} it is {gap.db:+.2f} dB from "
        f"the runs, more than {MOST_GAP:g}; {why}"
    )
