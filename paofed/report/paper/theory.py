"""Theory beside simulation: predicted curves, and the average of many simulated runs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.algorithms.spec import resolve
from paofed.core.arrays import FloatArray
from paofed.core.metrics import decibels
from paofed.errors import InputError, unknown, whole
from paofed.report.paper.foreseen import AskedOfTheory, foresee
from paofed.table import Column, Table, numeric
from paofed.theory.bounds import NEVER_EXPANDS, StepSizes
from paofed.theory.foresight import Check
from paofed.theory.gap import Gap
from paofed.theory.mean import Prediction
from paofed.theory.second.curve import LearningCurve
from paofed.world.scenario import Scenario

if TYPE_CHECKING:  # theory alone need not wait for an engine
    from paofed.simulate.average import Average

CURVES = ("mean_model_db", "averaged_model_db", "learning_curve_db")
PREDICTED = "predicted_learning_curve_db"
GAP = "largest_gap_db"
PARTS = ("test_noise", "residual", "of_mean", "of_spread")  # of a predicted learning curve
COLUMNS = (*CURVES, PREDICTED, GAP, *PARTS)


class Beside(NamedTuple):
    """Prediction and simulation over the same ticks, of the same algorithms in the same world."""

    prediction: Prediction
    simulated: "Average | None"
    # Predicted learning curves of all algorithms or of some, by name; None where not asked for.
    second: Mapping[str, LearningCurve] | None = None

    @property
    def names(self) -> list[str]:
        """The names of the algorithms."""
        return self.prediction.names

    def gap(self, name: str) -> Gap | None:
        """Return the largest gap from tick 50 on, to the runs beside or else to theory's own.

        None where no learning curve was predicted, or where there were no runs.
        """
        predicted = (self.second or {}).get(name)
        if predicted is None or self.simulated is None:
            return None if predicted is None else predicted.gap
        a, seen = self.names.index(name), self.simulated
        return Gap.of_means(
            predicted.ticks, predicted.mse, seen.learning[a], seen.learning_errors[a], seen.runs
        )

    def shown(self, name: str) -> LearningCurve | None:
        """Return the predicted learning curve; None where there is none, or where it is refused."""
        gap = self.gap(name)
        refused = gap is not None and gap.refused
        return None if refused else (self.second or {}).get(name)

    def curves(self, name: str) -> dict[str, list[float]]:
        """Return an algorithm's curves in dB by name: one number for every tick of the prediction.

        They are the errors of the predicted mean model and of the model averaged over runs, and the
        mean error of the runs. Where learning curves were predicted, the predicted curve, its gap
        and its parts follow; curve and parts are NaN where the curve is refused or missing.
        """
        a = self.names.index(name)
        curves = [self.prediction.mse]
        if self.simulated is not None:
            curves += [self.simulated.mse, self.simulated.learning]
        found = dict(zip(CURVES, (decibels(curve[a]) for curve in curves), strict=False))
        if self.second is not None:
            curve, gap, points = self.shown(name), self.gap(name), self.prediction.ticks.size
            told: dict[str, FloatArray | float] = {PREDICTED: np.nan if curve is None else curve.db}
            if self.simulated is not None or any(map(self.gap, self.names)):
                told[GAP] = np.nan if gap is None else gap.db
            told |= {part: np.nan if curve is None else getattr(curve, part) for part in PARTS}
            found |= {key: np.broadcast_to(value, points) for key, value in told.items()}
        return {key: curve.tolist() for key, curve in found.items()}

    def rows(self) -> Iterator[list[object]]:
        """Yield the rows of a tidy table: algorithm, tick (0-based), and every curve there is."""
        for name in self.names:
            columns = self.curves(name).values()
            for tick, *values in zip(self.prediction.ticks.tolist(), *columns, strict=True):
                yield [name, tick, *values]


def of_step_sizes(steps: StepSizes) -> Table:
    """Return which step sizes are safe, as far as theory says."""
    rows = [
        [steps.bound, f"bound of Theorem I, set by client {steps.client}"],
        [steps.typical, "above this, single steps expand on average"],
        [NEVER_EXPANDS, "up to this, no single step expands"],
    ]
    if steps.guaranteed is not None:
        rows.append([steps.guaranteed, "below this, any sharing converges in the mean"])
    size = Column("step_size", "step size", numeric(lambda step: f"{step:.3g}"))
    return Table([size, Column("meaning", "")], rows)


def theory_beside(
    scenario: Scenario,
    methods: Sequence[str | Algorithm],
    *,
    runs: int = 0,
    learning: Sequence[str] | None = None,
    seed: int = 0,
    world: int = 0,
    every: int = 50,
) -> Beside:
    """Predict algorithms in one world of a scenario, and simulate `runs` runs there to compare.

    `learning` names the algorithms whose learning curve is predicted, too; None: all of them.
    """
    records = [resolve(method) for method in methods]
    names = [record.name for record in records]
    for name in learning or ():
        if name not in names:
            raise InputError(unknown("algorithm", name, names))
    whole("runs", runs, least=0)
    every = whole("every", every, least=1)
    followed = [name for name in names if learning is None or name in learning]
    check: Check = "none" if runs else "tell"  # without runs beside, theory makes its own
    said = foresee(AskedOfTheory(scenario, records, followed, every, world, check), seed)
    if runs == 0:
        return Beside(said.mean, None, said.second)
    from paofed.simulate.average import average  # and the engine, which takes a second

    simulated = average(scenario, records, runs=runs, seed=seed, world=world, every=every)
    return Beside(said.mean, simulated, said.second)
