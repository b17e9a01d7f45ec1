"""Everything theory says of algorithms in one fleet, also asked by their names."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias, get_args

from paofed.algorithms.base import Algorithm, Settled
from paofed.algorithms.setup import resolve
from paofed.core.arrays import FloatArray
from paofed.core.metrics import curve_ticks, decibels
from paofed.core.traffic import Traffic
from paofed.errors import InputError, unknown
from paofed.simulate.stopping import Report, ignored, part_of
from paofed.theory.bounds import StepSizes, step_sizes
from paofed.theory.fleet import FleetInTheory
from paofed.theory.mean import Prediction, growth, predict, require_followed
from paofed.theory.modes import Modes
from paofed.theory.own_runs import OwnRuns
from paofed.theory.reach import expected
from paofed.theory.second.curve import LearningCurve, learning_curve
from paofed.theory.second.horizon import FOLLOWED, BestStep, best_step, steady_state
from paofed.theory.second.stability import StableStep, require_stable, stable_step
from paofed.world.scenario import Scenario
from paofed.world.trace import Trace

_APART = 0.2  # the part of the work that computes the modes, for progress


@dataclass(frozen=True, eq=False)
class Outlook:
    """What to expect before any run; lists go by algorithm."""

    steps: StepSizes
    mu: list[float]
    growth: FloatArray  # per tick, of deviations from the fixed point: above 1 the mean diverges
    costs: list[Traffic]  # per client and tick
    prediction: Prediction
    modes: Modes  # the modes of the fleet's R, for further use

    def __repr__(self) -> str:
        names, after = self.prediction.names, int(self.prediction.ticks[-1])
        lines = [
            f"  {name}: step size {mu:g}, deviations times {factor:.6f} per tick, mean model at "
            f"{db:.2f} dB after tick {after:,}"
            for name, mu, factor, db in zip(
                names, self.mu, self.growth, decibels(self.prediction.mse[:, -1]), strict=True
            )
        ]
        return "\n".join(
            [f"Outlook: bound of step sizes (Theorem I) {self.steps.bound:.3g}", *lines]
        )

    def warnings(self) -> list[str]:
        """What to worry about, one sentence each."""
        told = []
        for name, mu, factor in zip(self.prediction.names, self.mu, self.growth, strict=True):
            if factor > 1:
                told.append(f"{name}: the mean diverges, by a factor of {factor:.4f} per tick")
            if (warning := self.steps.warning(mu)) is not None:
                told.append(f"{name}: {warning}")
        return told


_FOR_TRACES = Settled(step_size=0.4, max_age=10)  # for traces, which hold no settings: the paper's

# What is done about the error of a prediction: runs estimate it, and one above 0.5 dB is refused;
# or it is told and nothing is refused; or no runs are made, and the error is not known.
Check: TypeAlias = Literal["refuse", "tell", "none"]
_PREDICTED = 0.5  # the part of the work that is prediction, where runs follow, for progress
_NEVERTHELESS = "; check='tell' returns it nevertheless"


def foresee(source: Scenario | Trace | str, *, seed: int = 0, world: int = 0) -> "Foresight":
    """Look at a fleet: a scenario (or its name or file) in one world, or a trace as recorded."""
    if isinstance(source, Trace):
        return Foresight.seen(source)
    scenario = Scenario.load(source) if isinstance(source, str) else source
    return Foresight.of(scenario, seed=seed, world=world)


class Foresight:
    """One fleet as theory sees it, with the settings for what algorithms leave open.

    Algorithms are records or names with options, as in "pao-fed-u1:shared=32,step_size=0.2".
    `report` is told the share of the work that is done. Predicted errors come with an estimate of
    their own error, from a few runs; `check` says what is done about it.
    """

    def __init__(
        self, fleet: FleetInTheory, settings: Settled, ticks: int, own_runs: OwnRuns
    ) -> None:
        """Take a fleet, what algorithms leave open, how far to look by default, and where to run.

        `own_runs` make the runs that estimate how far predictions are off.
        """
        self.fleet, self.settings, self.ticks = fleet, settings, ticks
        self._modes: Modes | None = None
        self._own_runs = own_runs

    @classmethod
    def of(cls, scenario: Scenario, *, seed: int = 0, world: int = 0) -> Self:
        """Return a scenario's fleet in one world, exact where its laws are."""
        fleet = FleetInTheory.of(scenario, seed=seed, world=world)
        settings = Settled(scenario.step_size, scenario.max_age)
        return cls(fleet, settings, scenario.ticks, OwnRuns(scenario, seed, world))

    @classmethod
    def seen(cls, trace: Trace) -> Self:
        """Return the fleet of a trace, estimated from it.

        Step size and age limit are the paper's.
        """
        return cls(FleetInTheory.seen(trace), _FOR_TRACES, trace.ticks, OwnRuns(trace))

    @property
    def modes(self) -> Modes:
        """The modes of the clients' correlation matrices, computed once: that may take seconds."""
        if self._modes is None:
            self._modes = Modes.of(self.fleet.moments.R)
        return self._modes

    def outlook(
        self,
        methods: str | Algorithm | Sequence[str | Algorithm],
        *,
        every: int = 50,
        report: Report = ignored,
    ) -> Outlook:
        """Return safe step sizes, where the mean of the model goes, and what that costs."""
        several = [methods] if isinstance(methods, str | Algorithm) else methods
        records = [resolve(method) for method in several]
        fleet, settings, ticks = self.fleet, self.settings, self.ticks
        points, iterations = curve_ticks(ticks, _at_least_one("every", every)), min(ticks, 1000)
        costs = [expected(fleet.contacts, record, fleet.z_test.shape[1]) for record in records]
        require_followed(fleet, records, settings, ticks, modes=self._modes)
        followed = _APART + (1 - _APART) * ticks / (ticks + iterations)
        if self._modes is None:
            self._modes = Modes.of(fleet.moments.R, part_of(report, 0.0, _APART))
        told = part_of(report, _APART, followed)
        prediction = predict(fleet, records, settings, points, told, self._modes)
        told = part_of(report, followed, 1.0)
        factors = growth(fleet, records, settings, iterations, told, self._modes)
        mu = [record.settled(**settings._asdict()).step_size for record in records]
        steps = step_sizes(fleet.moments, self._modes)
        return Outlook(steps, mu, factors, costs, prediction, self._modes)

    def learning_curve(
        self,
        method: str | Algorithm,
        *,
        ticks: int | None = None,
        every: int = 50,
        check: Check = "refuse",
        report: Report = ignored,
    ) -> LearningCurve:
        """Return the expected error of the server's model, each `every` ticks and the last."""
        horizon = self._horizon(ticks)
        predicting, running = self._stages(check, horizon, report)
        record = self._stable(method)
        points = curve_ticks(horizon, _at_least_one("every", every))
        curve = learning_curve(
            self.fleet, record, self.settings, points, modes=self.modes, report=predicting
        )
        return self._checked(record, curve, check, running)

    def stable_step(self, method: str | Algorithm, *, report: Report = ignored) -> StableStep:
        """Return the largest step size that is stable in the mean square."""
        return stable_step(self.fleet, resolve(method), self.settings, report)

    def best_step(
        self,
        method: str | Algorithm,
        *,
        ticks: int | None = None,
        check: Check = "refuse",
        report: Report = ignored,
    ) -> BestStep:
        """Return the step size with the least predicted error after `ticks`, and its curve.

        Runs with half and with twice the step say by how much it is not the best.
        """
        record, horizon = resolve(method), self._horizon(ticks)
        predicting, running = self._stages(check, horizon, report)
        found = best_step(self.fleet, record, self.settings, horizon, predicting)
        if check == "none":
            return found
        limit = self.stable_step(record).step
        found = self._own_runs.of_step(record, self.settings, found, limit, running)
        if check == "refuse" and (why := found.refusal()) is not None:
            raise InputError(f"{record.name}: {why}{_NEVERTHELESS}")
        return found

    def steady_state(
        self,
        method: str | Algorithm,
        *,
        ticks: int | None = None,
        check: Check = "refuse",
        report: Report = ignored,
    ) -> LearningCurve:
        """Return the end of the learning curve, followed for up to 16 times `ticks` ticks."""
        horizon = self._horizon(ticks)
        predicting, running = self._stages(check, FOLLOWED * horizon, report)
        record = self._stable(method)
        curve = steady_state(self.fleet, record, self.settings, horizon, predicting)
        return self._checked(record, curve, check, running)

    def _stages(self, check: Check, ticks: int, report: Report) -> tuple[Report, Report]:
        """Return what predicting and running report to; refuse runs that cannot be made."""
        if check not in get_args(Check):
            raise InputError(unknown("check", check, get_args(Check)))
        if check == "none":
            return report, ignored
        self._own_runs.require_room(ticks)
        return part_of(report, 0.0, _PREDICTED), part_of(report, _PREDICTED, 1.0)

    def _stable(self, method: str | Algorithm) -> Algorithm:
        """Return the record of an algorithm, or refuse it if its step size is not stable."""
        record = resolve(method)
        require_stable(self.fleet, record, self.settings)
        return record

    def _checked(
        self, method: Algorithm, curve: LearningCurve, check: Check, report: Report
    ) -> LearningCurve:
        """Return a curve with its gap to runs, or refuse it."""
        if check == "none":
            return curve
        told = self._own_runs.of_curve(method, self.settings, curve, report)
        if check == "refuse" and told.gap is not None and told.gap.refused:
            why = told.gap.refusal("the predicted learning curve")
            raise InputError(f"{method.name}: {why}{_NEVERTHELESS}")
        return told

    def _horizon(self, ticks: int | None) -> int:
        """Return how many ticks to follow."""
        return _at_least_one("ticks", self.ticks if ticks is None else ticks)


def _at_least_one(what: str, value: int) -> int:
    if value < 1:
        raise InputError(f"{what} is {value}: expected at least 1")
    return value
