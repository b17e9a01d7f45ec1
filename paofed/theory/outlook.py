"""Everything theory says of algorithms in one fleet, in one place."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paofed.algorithms.base import Algorithm, Settled
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.metrics import Traffic, decibels
from paofed.theory.bounds import StepSizes, step_sizes
from paofed.theory.cost import expected
from paofed.theory.fleet import FleetInTheory
from paofed.theory.mean import Prediction, growth, predict, require_followed
from paofed.theory.modes import Modes

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


def outlook(
    fleet: FleetInTheory,
    methods: Sequence[Algorithm],
    settings: Settled,
    points: IntArray,
    report: Callable[[float], None] = lambda _: None,
    modes: Modes | None = None,
) -> Outlook:
    """Compute the outlook; `settings` are for what the algorithms leave open.

    `modes` are those of the fleet's R, if they are known already.
    """
    features = fleet.z_test.shape[1]
    costs = [expected(fleet.contacts, method, features) for method in methods]
    ticks = int(points[-1]) + 1
    iterations = min(ticks, 1000)
    require_followed(fleet, methods, settings, ticks, modes=modes)
    share = (1 - _APART) * ticks / (ticks + iterations)
    if modes is None:
        modes = Modes.of(fleet.moments.R, lambda done: report(_APART * done))
    prediction = predict(
        fleet, methods, settings, points, lambda done: report(_APART + share * done), modes
    )
    rest = 1 - _APART - share
    factors = growth(
        fleet, methods, settings, iterations, lambda done: report(1 - rest + rest * done), modes
    )
    mu = [method.settled(**settings._asdict()).step_size for method in methods]
    return Outlook(step_sizes(fleet.moments, modes), mu, factors, costs, prediction, modes)
