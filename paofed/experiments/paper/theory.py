"""Theory beside simulation: predicted curves, and the average of many simulated runs.

The simulator's kernels must be compiled before the first run, which keeps one core busy. Theory
needs no kernels, so its answers for the study come from a second process from the start.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import cloudpickle
import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.algorithms.setup import resolve
from paofed.core.arrays import FloatArray
from paofed.core.metrics import curve_ticks, decibels
from paofed.errors import InputError, unknown, whole
from paofed.simulate.engines.workers import Worker
from paofed.simulate.stopping import Report, ignored, parts_of
from paofed.table import ShownColumn, ShownTable, numeric
from paofed.theory.bounds import NEVER_EXPANDS, StepSizes, step_sizes
from paofed.theory.foresight import Check, Foresight
from paofed.theory.gap import Gap
from paofed.theory.mean import Prediction, predict
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


def of_step_sizes(steps: StepSizes) -> ShownTable:
    """Return which step sizes are safe, as far as theory says."""
    rows = [
        [steps.bound, f"bound of Theorem I, set by client {steps.client}"],
        [steps.typical, "above this, single steps expand on average"],
        [NEVER_EXPANDS, "up to this, no single step expands"],
    ]
    if steps.guaranteed is not None:
        rows.append([steps.guaranteed, "below this, any sharing converges in the mean"])
    size = ShownColumn("step_size", "step size", numeric(lambda step: f"{step:.3g}"))
    return ShownTable([size, ShownColumn("meaning", "")], rows)


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


# Ticks; predictions of fewer are finished before a second process would have started.
_WORTH_A_PROCESS = 100


class AskedOfTheory(NamedTuple):
    """A question to theory: what to predict in one world of a scenario."""

    scenario: Scenario
    methods: Sequence[str | Algorithm]  # the algorithms whose mean model is predicted
    learning: Sequence[str]  # names of the algorithms whose learning curve is predicted, too
    every: int  # ticks between two points of a curve
    world: int = 0
    check: Check = "none"  # what is done about the error of learning curves; runs beside say it too

    @property
    def takes_long(self) -> bool:
        """Whether a second process gains time."""
        return self.scenario.ticks > _WORTH_A_PROCESS


class SaidByTheory(NamedTuple):
    """The answer of theory for one world: mean models, learning curves by name, step sizes."""

    mean: Prediction
    second: Mapping[str, LearningCurve]
    steps: StepSizes


# Returns theory's answer when it is there; the argument is told the progress where it is known.
Answer = Callable[[Report], SaidByTheory]


def foresee(question: AskedOfTheory, seed: int, report: Report = ignored) -> SaidByTheory:
    """Predict the mean models, the learning curves asked for, and the bounds of the step size."""
    scenario, methods, learning, every, world, check = question
    foresight = Foresight.of(scenario, seed=seed, world=world)
    fleet, modes = foresight.fleet, foresight.modes

    records = {record.name: record for record in map(resolve, methods)}
    ticks = curve_ticks(scenario.ticks, every)
    told, *later = parts_of(report, [1] * (1 + len(learning)))
    mean = predict(fleet, list(records.values()), foresight.settings, ticks, told, modes)
    second = {
        name: foresight.learning_curve(records[name], every=every, check=check, report=told)
        for name, told in zip(learning, later, strict=True)
    }
    return SaidByTheory(mean, second, step_sizes(fleet.moments, modes))


@contextmanager
def foreseeing(
    questions: Mapping[str, AskedOfTheory], seed: int, workers: int | None
) -> Iterator[Mapping[str, Answer]]:
    """While inside, answer questions in a second process; yield the answers by label.

    Where there is one core, or where no question takes long, there is no second process, and each
    question is answered when its answer is called. Both ways give the same answers. The process
    ends with the `with` block, finished or not.
    """
    long = any(question.takes_long for question in questions.values())
    if not long or (workers or os.cpu_count() or 1) == 1:
        yield {label: _now(question, seed) for label, question in questions.items()}
        return
    worker = Worker(cloudpickle.dumps(foresee))
    pool = ThreadPoolExecutor(1)
    try:
        futures = {
            label: pool.submit(worker.do, question=question, seed=seed)
            for label, question in questions.items()
        }
        yield {label: _waited_for(future) for label, future in futures.items()}
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        worker.kill()
        pool.shutdown()
        worker.close()


def _now(question: AskedOfTheory, seed: int) -> Answer:
    return lambda report: foresee(question, seed, report)


def _waited_for(future: Future[SaidByTheory]) -> Answer:
    return lambda _: future.result()
