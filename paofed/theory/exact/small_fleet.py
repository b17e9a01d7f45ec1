"""What second moments say of an algorithm: its learning curve, where it ends, whether it blows up.

The error is split into what no model could avoid and what this model adds. Noise of the samples
enters second moments linearly and means not at all, so its share is the difference from the same
fleet without noise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from paofed.algorithms.base import Algorithm, Settled
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.metrics import decibels
from paofed.errors import InputError
from paofed.theory.exact import krylov
from paofed.theory.exact.recursion import SecondMoments
from paofed.theory.exact.sample_moments import SampleMoments
from paofed.theory.fleet import Contacts

_NOT_GROWING = 1e-8  # a growth within this above 1 counts as 1: some features may never be seen


class SmallFleet(NamedTuple):
    """A small fleet with all that second moments need."""

    samples: SampleMoments
    contacts: Contacts  # chances of every tick, independent of all other ticks
    z_test: FloatArray  # (T, D)
    y_test: FloatArray  # (T,), targets as they are judged, but without the noise of `test_noise`
    test_noise: float = 0.0  # variance of the noise added to these targets


class ErrorParts(NamedTuple):
    """An expected squared error, split into parts.

    The parts that depend on the tick have P entries.
    """

    test_noise: float  # from the noise of the targets that models are judged by
    residual: float  # from what the features cannot express of the targets
    of_mean: FloatArray  # (P,), from the distance of the mean model to the best model
    of_inputs: FloatArray  # (P,), from the spread due to which samples came and who was there when
    of_noise: FloatArray  # (P,), from the spread due to the noise of samples

    @property
    def mse(self) -> FloatArray:
        """The sum of all parts, (P,): the learning curve."""
        total: FloatArray = (
            self.test_noise + self.residual + self.of_mean + self.of_inputs + self.of_noise
        )
        return total

    @property
    def db(self) -> FloatArray:
        """The learning curve in dB."""
        return decibels(self.mse)


@dataclass(frozen=True, eq=False)
class SecondOrder:
    """Mean and covariance of the server's model after some ticks; P ticks, D features."""

    ticks: IntArray  # (P,), 0-based
    models: FloatArray  # (P, D), means
    of_inputs: FloatArray  # (P, D, D), covariance if samples were without noise
    of_noise: FloatArray  # (P, D, D), covariance that the noise of samples adds

    @property
    def covariance(self) -> FloatArray:
        """The whole covariance, with inputs and noise."""
        return self.of_inputs + self.of_noise

    def error(self, fleet: SmallFleet) -> ErrorParts:
        """The expected error on the test set of a fleet."""
        z, y = fleet.z_test, fleet.y_test
        best = np.linalg.lstsq(z, y, rcond=None)[0]
        second = z.T @ z / len(y)
        away = self.models - best
        return ErrorParts(
            test_noise=fleet.test_noise,
            residual=float(np.mean((y - z @ best) ** 2)),
            of_mean=np.einsum("pi,ij,pj->p", away, second, away),
            of_inputs=np.einsum("ij,pij->p", second, self.of_inputs),
            of_noise=np.einsum("ij,pij->p", second, self.of_noise),
        )


def second_order(
    fleet: SmallFleet,
    method: Algorithm,
    settings: Settled,
    points: IntArray,
    report: Callable[[float], None] = lambda _: None,
) -> SecondOrder:
    """Follow mean and second moments from zero models, noting them after the ticks `points`."""
    noisy, quiet = _recursions(fleet, method, settings)
    states = [noisy.start(), quiet.start()]
    noted = []
    begin, end = 0, int(points[-1]) + 1
    with np.errstate(over="ignore", invalid="ignore"):
        for tick in points.tolist():
            for n in range(begin, tick + 1):
                states = [noisy.tick(states[0], n), quiet.tick(states[1], n)]
                report((n + 1) / end)
            begin = tick + 1
            noted.append(_servers(noisy, states))
        return _second_order(points, noted)


def steady_state(fleet: SmallFleet, method: Algorithm, settings: Settled) -> SecondOrder:
    """Return mean and second moments in the end, after each tick of one period of the windows.

    Refused where there is no end: with a step size that is too large in the mean square.
    """
    growth = growth_in_square(fleet, method, settings)
    if growth > 1 + _NOT_GROWING:
        raise InputError(
            f"{method.name} has no steady state: squares of deviations grow by {growth:.6g} per "
            f"tick; take a smaller step size"
        )
    noisy, quiet = _recursions(fleet, method, settings)
    # Once every age has been reached, the chances of messages on their way no longer change.
    period = noisy.period
    lead = period * -(-noisy.vector.oldest // period)
    states = []
    for recursion in (noisy, quiet):
        begun = _over(recursion, 0, lead)(recursion.start())
        free = np.ones_like(begun)
        free[:, 0, 0] = 0.0
        states.append(krylov.fixed_point(_over(recursion, 0, period), begun, free))
    noted = []
    for n in range(period):
        states = [noisy.tick(states[0], n), quiet.tick(states[1], n)]
        noted.append(_servers(noisy, states))
    return _second_order(np.arange(period), noted)


def growth_in_square(fleet: SmallFleet, method: Algorithm, settings: Settled) -> float:
    """Return the factor per tick by which squares of deviations grow in the end.

    Below 1 the algorithm is stable in the mean square; above 1 its learning curve blows up.
    """
    samples = fleet.samples.without_target()
    recursion = SecondMoments(samples, fleet.contacts, method, settings)
    over_period = _over(recursion, 0, recursion.period)
    over_all = krylov.radius(over_period, recursion.deviations())
    return float(over_all ** (1 / recursion.period))


def _recursions(
    fleet: SmallFleet, method: Algorithm, settings: Settled
) -> tuple[SecondMoments, SecondMoments]:
    """Return the recursion with the noise of samples, and the one without."""
    noisy = SecondMoments(fleet.samples, fleet.contacts, method, settings)
    return noisy, noisy.with_samples(fleet.samples.without_noise())


def _over(recursion: SecondMoments, begin: int, end: int) -> krylov.Map:
    """Return the map that some ticks apply to the moments."""

    def ticks(S: FloatArray) -> FloatArray:
        for n in range(begin, end):
            S = recursion.tick(S, n)
        return S

    return ticks


def _servers(recursion: SecondMoments, states: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return the moments of (1, server's model), with noise and without."""
    both = slice(0, recursion.vector.server.stop)
    noisy, quiet = (S[:, both, both].sum(axis=0) for S in states)
    return noisy, quiet


def _second_order(ticks: IntArray, noted: list[tuple[FloatArray, FloatArray]]) -> SecondOrder:
    noisy, quiet = (np.stack(moments) for moments in zip(*noted, strict=True))
    models = quiet[:, 0, 1:]
    of_inputs = quiet[:, 1:, 1:] - models[:, :, None] * models[:, None, :]
    return SecondOrder(ticks, models, of_inputs, noisy[:, 1:, 1:] - quiet[:, 1:, 1:])
