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

MOST_GAP = 0.5  # dB; a predicted learning curve that is further from the simulated one is refused
_BEGUN = 50  # the tick from which on gaps count


class Gap(NamedTuple):
    """The largest distance of a predicted learning curve from the simulated one."""

    db: float  # predicted minus simulated at `tick`; not finite if only one of them diverged
    tick: int
    error: float  # standard error of the simulated curve at `tick`, in dB; NaN for a single run

    @property
    def refused(self) -> bool:
        """Whether the predicted curve is too far off to be shown."""
        return not abs(self.db) <= MOST_GAP


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
        """Return the largest gap from tick 50 on; None where either learning curve is missing."""
        predicted = (self.second or {}).get(name)
        if predicted is None or self.simulated is None:
            return None
        a = self.names.index(name)
        learning, errors = self.simulated.learning[a], self.simulated.learning_errors[a]
        with np.errstate(invalid="ignore", divide="ignore"):
            simulated = decibels(learning)
            any_left = np.isfinite(predicted.db) | np.isfinite(simulated)
            gaps = np.where(any_left, predicted.db - simulated, 0.0)  # diverged, as predicted: none
            relative = errors / learning
        late = predicted.ticks >= min(_BEGUN, predicted.ticks[-1])
        at = int(np.argmax(np.where(late, np.abs(gaps), -1.0)))  # argmax takes NaN for the largest
        per_db = 10.0 / np.log(10.0)
        return Gap(float(gaps[at]), int(predicted.ticks[at]), float(per_db * relative[at]))

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
            if self.simulated is not None:
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
    said = foresee(AskedOfTheory(scenario, records, followed, every, world), seed)
    if runs == 0:
        return Beside(said.mean, None, said.second)
    from paofed.simulate.average import average  # and the engine, which takes a second

    simulated = average(scenario, records, runs=runs, seed=seed, world=world, every=every)
    return Beside(said.mean, simulated, said.second)
