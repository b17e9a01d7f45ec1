"""The learning curve of one algorithm in one fleet, predicted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from paofed.algebra import one_thread_algebra
from paofed.algorithms.base import Algorithm, Settled
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.metrics import decibels
from paofed.core.staleness import weight_of
from paofed.errors import InputError
from paofed.theory.fleet import FleetInTheory
from paofed.theory.gap import Gap
from paofed.theory.mean import begin_at_end, require_followed
from paofed.theory.models import ModelsInModes, mean_models
from paofed.theory.modes import Modes
from paofed.theory.reach import Reach, picked_share
from paofed.theory.second.coordinated import Coordinated
from paofed.theory.second.covariances import CovarianceExchange, Covariances, TickOfMeans
from paofed.theory.second.groups import Detail, Groups
from paofed.theory.second.learning import Learning
from paofed.theory.second.uncoordinated import Uncoordinated
from paofed.theory.second.whole import WholeSpread
from paofed.words import counted

_NEGLIGIBLE = 1e-10  # relative to the largest eigenvalue: smaller ones are modes that no data shows


class Spread(Protocol):
    """The server's model of one algorithm: its mean, and how it spreads around that."""

    @property
    def mean(self) -> FloatArray:
        """The server's mean model, (D,)."""
        ...

    @property
    def server(self) -> FloatArray:
        """The covariance of the server's model, (D, D)."""
        ...

    def tick(self, n: int) -> None:
        """Move on by tick n."""
        ...


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """An expected squared error on the test set, split into parts; P points."""

    name: str
    ticks: IntArray  # (P,), 0-based
    test_noise: float  # from the noise of the targets that the model is judged by, on average
    residual: FloatArray  # (P,), from what the best model of the clients' laws cannot express
    of_mean: FloatArray  # (P,), from the distance of the mean model to that best model
    # (P,), from the spread due to which samples came, who was there when, and noise.
    of_spread: FloatArray
    gap: Gap | None = None  # how far it is from runs that theory made; None: it made none

    def __repr__(self) -> str:
        off = "how far off is not known" if self.gap is None else f"{self.gap} dB from runs"
        return (
            f"LearningCurve of {self.name}: {counted(self.ticks.size, 'point')}, "
            f"{self.db[-1]:.2f} dB after tick {int(self.ticks[-1]):,} ({off}), "
            f"{self.of_spread[-1] / self.mse[-1]:.0%} of it by spread"
        )

    @property
    def mse(self) -> FloatArray:
        """The sum of all parts, (P,)."""
        total: FloatArray = self.test_noise + self.residual + self.of_mean + self.of_spread
        return total

    @property
    def db(self) -> FloatArray:
        """The learning curve in dB."""
        return decibels(self.mse)


def learning_curve(
    fleet: FleetInTheory,
    method: Algorithm,
    settings: Settled,
    points: IntArray,
    *,
    detail: Detail = Detail(),  # noqa: B008  (a tuple of numbers)
    from_end: bool = False,
    modes: Modes | None = None,
    report: Callable[[float], None] = lambda _: None,
) -> LearningCurve:
    """Follow mean and spread from zero models, noting the error after the ticks `points`.

    With `from_end`, means begin where they end, if it pays to solve for that: then the spread alone
    has to be followed. `modes` are those of the fleet's R, if they are known already.
    """
    ticks = int(points[-1]) + 1
    with one_thread_algebra():
        (reach,) = require_followed(fleet, [method], settings, ticks, modes=modes)
        known = Modes.of(fleet.moments.R) if modes is None else modes
        to_follow = ticks if from_end and fleet.drifting is None else 0
        spread = spread_of(fleet, known, method, reach, detail, to_follow)
        test_noise, y_test = float(fleet.test_noise), fleet.tests_at(points)
        least = _least_errors(fleet, points)
        second = fleet.z_test.T @ fleet.z_test / len(fleet.y_test)
        of_mean, of_spread = np.empty(points.size), np.empty(points.size)
        begin = 0
        with np.errstate(over="ignore", invalid="ignore"):
            for point, tick in enumerate(points.tolist()):
                for n in range(begin, tick + 1):
                    spread.tick(n)
                    report((n + 1) / ticks)
                begin = tick + 1
                of_mean[point] = np.mean((y_test[point] - fleet.z_test @ spread.mean) ** 2)
                of_spread[point] = np.sum(second * spread.server)
    return LearningCurve(
        method.name, points, test_noise, least - test_noise, of_mean - least, of_spread
    )


def spread_of(
    fleet: FleetInTheory,
    modes: Modes,
    method: Algorithm,
    reach: Reach,
    detail: Detail,
    to_follow: int,
) -> Spread:
    """Start to follow an algorithm in the way that fits what travels.

    Means begin where they end, if it pays to solve for that instead of following `to_follow` ticks;
    with 0 they begin at zero.
    """
    parts = method.require_paper_parts("theory")
    D = fleet.moments.r.shape[1]
    whole = reach.sizes == (D, D)
    if whole and method.exchange != "paper":
        raise InputError(
            f"{method.name} in the exchange {method.exchange!r}: with whole models theory knows "
            f"the spread of the exchange 'paper' alone; or simulate"
        )
    groups = Groups.of(fleet, picked_share(method), reach.counts, detail)
    alpha = np.array([weight_of(parts.server.staleness, age) for age in reach.ages.tolist()])
    if whole:
        means = mean_models(fleet, modes, method, reach, driven=True)
        begin_at_end(means, reach, to_follow)
        return WholeSpread(fleet, reach, groups, alpha, means, detail)
    in_modes = ModelsInModes(fleet, modes, method, reach, driven=True)
    begin_at_end(in_modes, reach, to_follow)
    return PartialSpread(fleet, method, reach, groups, alpha, in_modes, detail)


def _least_errors(fleet: FleetInTheory, points: IntArray) -> FloatArray:
    """Return the test error of the best model for the laws of all clients, by tick (P,)."""
    rates, Q = np.linalg.eigh(fleet.moments.R.mean(axis=0))
    seen = rates > _NEGLIGIBLE * rates[-1]
    inverse = (Q[:, seen] / rates[seen]) @ Q[:, seen].T
    best = [inverse @ r.mean(axis=0) for r in fleet.r_after_drifts]
    models = np.stack([fleet.at(n, best) for n in points.tolist()])
    least: FloatArray = np.mean((fleet.tests_at(points) - models @ fleet.z_test.T) ** 2, axis=1)
    return least


class PartialSpread:
    """The spread of one algorithm that shares windows, in one fleet."""

    def __init__(
        self,
        fleet: FleetInTheory,
        method: Algorithm,
        reach: Reach,
        groups: Groups,
        alpha: FloatArray,
        means: ModelsInModes,
        detail: Detail,
    ) -> None:
        """`alpha` are the weights of the ages that count."""
        parts = method.require_paper_parts("theory")
        moments, mu = fleet.moments, reach.mu
        self._exchange: CovarianceExchange = (
            Coordinated(groups, groups.means(moments.R), parts, reach.ages, alpha, mu)
            if parts.downlink.coordinated
            else Uncoordinated(groups, fleet, parts, alpha, mu, detail)
        )
        self._learning = Learning(fleet, groups, mu, detail, away=method.learns_while_away)
        self._means, self._stride = means, detail.stride
        classes, total = groups.size.size, groups.group_size.size
        self._state = Covariances.zero(classes, total, moments.r.shape[1], detail.precision)

    @property
    def mean(self) -> FloatArray:
        """The server's mean model, (D,)."""
        return self._means.w

    @property
    def server(self) -> FloatArray:
        """The covariance of the server's model, (D, D)."""
        return self._state.server

    def tick(self, n: int) -> None:
        """Move on by tick n."""
        learning, state, means = self._learning, self._state, self._means
        noise = learning.noise(n, means, state.own)
        tick = TickOfMeans(n, means.w, means, noise.of_sample)
        self._exchange.before_learning(state, tick)
        if n % self._stride == self._stride // 2:
            learning.advance(state, noise.of_tick)
        means.tick(n)
        self._exchange.after_learning(state, tick)
