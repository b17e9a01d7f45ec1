"""What theory says of a fleet: mean recursion, second moments on request, and runs beside them."""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.core.tariffs import Tariff
from paofed.errors import InputError
from paofed.experiments.paper.theory import CURVES, GAP, PARTS, PREDICTED, Beside, of_step_sizes
from paofed.simulate.results.outcome import versions
from paofed.table import (
    ERROR,
    NAME,
    NUMBER,
    ShownColumn,
    ShownTable,
    give_or_take,
    known,
    number,
    number_or,
    numeric,
)
from paofed.theory.bounds import NEVER_EXPANDS
from paofed.theory.fleet import FleetInTheory
from paofed.theory.foresight import Check, Foresight, Outlook
from paofed.theory.gap import Gap
from paofed.theory.second.curve import LearningCurve
from paofed.theory.second.horizon import BestStep
from paofed.theory.second.stability import StableStep

if TYPE_CHECKING:
    from paofed.simulate.average import Average

_GAPS = (GAP, "gap_db", "lost_db")  # how the names of gaps end
# Shows how far one part of the work, which is named, has come.
ShownPart = Callable[[str], AbstractContextManager[Callable[[float], None]]]


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
    progress: ShownPart,
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


def _record(name: str, found: Foreseen, beside: Beside) -> dict[str, Any]:
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


def _of_second_moments(records: dict[str, dict[str, Any]]) -> ShownTable:
    """Return a line for each algorithm: its curve after the last tick, its steps, the gaps."""
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
    return ShownTable([ShownColumn("algorithm", "algorithm"), *shown], rows, title)


_OR_REFUSED, _OR_NONE = number_or("refused"), number_or("none")
_GAP = numeric(lambda gap: give_or_take(gap[0], gap[1], sign="+"))  # with its standard error
_PART = numeric(lambda value: number(value, 4))


def _value(record: dict[str, Any], key: str) -> Any:
    """Return a number or, of a gap, the number and its standard error; NaN where there is none."""
    error = f"{key.removesuffix('_db')}_standard_error"
    value = record.get(key, math.nan)
    return (value, record.get(error, math.nan)) if key.endswith(_GAPS) else value


def _warnings(found: dict[str, Foreseen], beside: Beside) -> list[str]:
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


@dataclass
class Foretold:
    """What theory says of a fleet, as far as it is computed, and the average of runs beside it."""

    foresight: Foresight
    title: str  # what was asked about: the name or the file of a scenario, or of a trace
    seed: int
    world: int
    outlook: Outlook
    second: dict[str, Foreseen] | None = None  # by algorithm
    simulated: "Average | None" = None
    remarks: list[str] = field(default_factory=list)  # warnings beside those of theory itself

    @property
    def beside(self) -> Beside:
        """Predicted and simulated curves, beside each other."""
        curves = None if self.second is None else {n: one.curve for n, one in self.second.items()}
        return Beside(self.outlook.prediction, self.simulated, curves)

    @property
    def warnings(self) -> list[str]:
        """What to worry about, one sentence each."""
        of_second = _warnings(self.second or {}, self.beside)
        return [*self.outlook.warnings(), *of_second, *self.remarks]

    def add_second_moments(
        self,
        methods: Sequence[Algorithm],
        progress: ShownPart,
        *,
        every: int,
        best: bool = False,
        steady: bool = False,
        check: Check = "tell",
    ) -> None:
        """Predict the learning curves of methods, and what else is asked for, one by one."""
        self.second = {}
        for method in methods:
            self.second[method.name] = predicted(
                self.foresight, method, every=every, best=best, steady=steady, check=check,
                progress=progress,
            )  # fmt: skip

    def as_json(self, tariff: Tariff) -> dict[str, Any]:
        """Return everything in plain values; NaN is None. Bytes are those of a tariff."""
        lines, records = _lines(self.outlook, self.beside, tariff), self._records()
        if self.second is not None:
            for line in lines:
                line["second_moments"] = records.get(line["algorithm"])
        found, moments = self.outlook, self.foresight.fleet.moments
        return {
            "scenario": self.title,
            "seed": self.seed,
            "world": self.world,
            "versions": versions(),
            "bound": found.steps.bound,
            "bound_set_by_client": found.steps.client,
            "expands_on_average_above": found.steps.typical,
            "never_expands_up_to": NEVER_EXPANDS,
            "guaranteed_below": found.steps.guaranteed,
            "tariff": tariff.name,
            "moments_standard_error": max(moments.R_error, moments.r_error),
            "warnings": self.warnings,
            "algorithms": [known(line) for line in lines],
        }

    def as_text(self, tariff: Tariff) -> str:
        """Return everything for people. Bytes are those of a tariff."""
        fleet, records = self.foresight.fleet, self._records()
        where = "as recorded" if fleet.moments.R_error else f"world {self.world}"
        lines = _lines(self.outlook, self.beside, tariff)
        text = _as_text(self.title, where, self.outlook, lines, fleet)
        return "\n\n".join([text, *([_of_second_moments(records).text()] if records else [])])

    def _records(self) -> dict[str, dict[str, Any]]:
        second, beside = self.second or {}, self.beside
        return {name: _record(name, one, beside) for name, one in second.items()}


def _lines(found: Outlook, beside: Beside, tariff: Tariff) -> list[dict[str, Any]]:
    """Return one record per algorithm: the end of the run, and what a client sends per tick."""
    return [
        {
            "algorithm": name,
            "step_size": mu,
            "growth_per_tick": float(factor),
            **{key: curve[-1] for key, curve in beside.curves(name).items() if key in CURVES},
            "contacts_per_tick": cost.contacts,
            "coordinates_per_tick": cost.coordinates_up + cost.coordinates_down,
            "bytes_per_tick": tariff.wire(cost).both,
            "ticks_to_each_db": found.prediction.ticks_to_each_db(name),
        }
        for name, mu, factor, cost in zip(
            beside.names, found.mu, found.growth, found.costs, strict=True
        )
    ]


def _as_text(
    scenario: str, where: str, found: Outlook, lines: list[dict[str, Any]], fleet: FleetInTheory
) -> str:
    steps, moments = found.steps, fleet.moments
    clients, features = moments.r.shape
    parts = [
        f"{scenario}, {where}: {clients} clients, {features} features",
        of_step_sizes(steps).text(),
        _of_lines(lines).text(),
    ]
    if moments.R_error:
        parts.insert(
            1,
            f"moments estimated from samples: standard error {moments.R_error:.2g} of an entry "
            f"of R, {moments.r_error:.2g} of r",
        )
    for line in lines:
        reached = ", ".join(f"{db} dB {n}" for db, n in line["ticks_to_each_db"].items())
        parts.append(f"{line['algorithm']}, tick after which its mean is at: {reached or 'none'}")
    return "\n\n".join(parts)


def _of_lines(lines: list[dict[str, Any]]) -> ShownTable:
    """Return the mean of the models, its growth, and the traffic of one client."""
    columns = [
        ShownColumn("algorithm", "algorithm", NAME),
        ShownColumn("step_size", "step size", numeric(lambda mu: f"{mu:g}")),
        ShownColumn("growth_per_tick", "growth per tick", numeric(lambda factor: f"{factor:.6f}")),
        *(
            ShownColumn(key, key.removesuffix("_db").replace("_", " "), ERROR, "dB")
            for key in CURVES
            if key in lines[0]
        ),
        ShownColumn("contacts_per_tick", "contacts per tick", numeric(lambda rate: f"{rate:.4f}")),
        ShownColumn("bytes_per_tick", "bytes per tick", numeric(lambda rate: f"{rate:.3g}")),
    ]
    return ShownTable(columns, [[line[column.keys[0]] for column in columns] for line in lines])
