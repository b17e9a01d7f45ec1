"""The expected recursion E[w], matrix-free, at full size.

The expectation of a tick as the reference engine runs it, under the independence that the paper
assumes too (a sample does not depend on the models it meets): a client learns
(I - mu R_k) w + mu r_k, merges with the probability of its contacts, and what it sends is the mean
given that it is available: merged, then learned. The server: paofed.theory.weights.

All is periodic in the tick with the period of the windows, so whether it converges is decided by
its growth over periods (its spectral radius), not by a bound.
"""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from paofed.algorithms.base import Algorithm, Settled
from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.metrics import decibels
from paofed.core.selection import Windows
from paofed.core.staleness import weight_of
from paofed.errors import InputError
from paofed.memory import require_memory
from paofed.theory.cost import picked_share
from paofed.theory.fleet import FleetInTheory
from paofed.theory.weights import ExpectedWeights

_STRETCH = 20  # ticks between two normalisations: no overflow in between
_THREADS = 2  # products with R_k are bound by memory: more would gain nothing


@dataclass(frozen=True, eq=False)
class Prediction:
    """Where the mean of the server's model goes; A algorithms, P points, D features."""

    names: list[str]
    ticks: IntArray  # (P,), 0-based
    models: FloatArray  # (A, P, D)
    mse: FloatArray  # (A, P), of the mean model on the test set

    def ticks_to_each_db(self, name: str) -> dict[int, int]:
        """The first of the ticks at which the error is at or below each whole number of dB."""
        curve = decibels(self.mse[self.names.index(name)])
        seen = curve[np.isfinite(curve)]
        if not seen.size:
            return {}
        levels = range(math.floor(seen[0]), math.ceil(seen.min()) - 1, -1)
        return {level: int(self.ticks[np.argmax(curve <= level)]) for level in levels}


def predict(
    fleet: FleetInTheory,
    methods: Sequence[Algorithm],
    settings: Settled,
    points: IntArray,
    report: Callable[[float], None] = lambda _: None,
) -> Prediction:
    """Follow the means of all algorithms at once, noting them after the ticks `points`."""
    recursion = MeanRecursion(fleet, methods, settings, int(points[-1]) + 1)
    models = np.empty((len(methods), points.size, fleet.z_test.shape[1]))
    begin = 0
    for point, tick in enumerate(points.tolist()):
        recursion.advance(begin, tick + 1)
        models[:, point] = [row.w for row in recursion.rows]
        report((tick + 1) / (int(points[-1]) + 1))
        begin = tick + 1
    with np.errstate(over="ignore", invalid="ignore"):
        mse = np.mean((fleet.y_test - models @ fleet.z_test.T) ** 2, axis=-1)
    return Prediction([method.name for method in methods], points, models, mse)


def growth(
    fleet: FleetInTheory,
    methods: Sequence[Algorithm],
    settings: Settled,
    ticks: int = 1000,
    report: Callable[[float], None] = lambda _: None,
) -> FloatArray:
    """The factor per tick by which deviations from the fixed point grow in the end, (A,).

    By power iteration: above 1 the mean diverges. Where R_k is nearly singular (Fourier features of
    smooth data) some modes hardly move, and the factor is just below 1.
    """
    recursion = MeanRecursion(fleet, methods, settings, ticks + _STRETCH, driven=False)
    logs = []
    for begin in range(0, ticks, _STRETCH):
        recursion.advance(begin, begin + _STRETCH)
        logs.append([row.normalise() for row in recursion.rows])
        report(min((begin + _STRETCH) / ticks, 1.0))
    late = logs[len(logs) // 2 :]  # when the slowest mode has taken over
    per_tick: FloatArray = np.exp(np.mean(late, axis=0) / _STRETCH)
    return per_tick


class MeanRecursion:
    """The means of several algorithms' models in one fleet, tick by tick.

    It is followed for `ticks` at most: what is later on its way does not arrive. Not `driven`, it
    is the recursion of deviations from the fixed point, started at random.
    """

    def __init__(
        self,
        fleet: FleetInTheory,
        methods: Sequence[Algorithm],
        settings: Settled,
        ticks: int,
        *,
        driven: bool = True,
    ) -> None:
        if driven and fleet.drifts:
            raise InputError(
                f"the target changes (drifts: {fleet.drifts}), and theory follows the mean to one: "
                f"leave the drifts out; step sizes and traffic are the same without them"
            )
        extents = [_Extent.of(fleet, method, settings, ticks) for method in methods]
        K, D = fleet.moments.r.shape
        require_memory(
            sum(extent.bytes(K, D) for extent in extents),
            f"theory of {K} clients with {D} features, {len(methods)} algorithms and messages of "
            f"up to {max(extent.longest for extent in extents)} ticks on their way",
            "lower max_age, or take a smaller fleet with the same groups",
        )
        self._R = fleet.moments.R
        self._x, self._Rx = (np.empty((K, len(methods), D)) for _ in range(2))
        self._parts = [slice(K * i // _THREADS, K * (i + 1) // _THREADS) for i in range(_THREADS)]
        self._pool = ThreadPoolExecutor(_THREADS)
        self.rows = [
            _Row(fleet, method, extent, driven=driven)
            for method, extent in zip(methods, extents, strict=True)
        ]

    def advance(self, begin: int, end: int) -> None:
        """Run the ticks from `begin` up to `end`."""
        with np.errstate(over="ignore", invalid="ignore"):
            for n in range(begin, end):
                for a, row in enumerate(self.rows):
                    self._x[:, a] = row.learns_from(n)
                list(self._pool.map(self._multiply, self._parts))
                for a, row in enumerate(self.rows):
                    row.tick(n, self._Rx[:, a])

    def _multiply(self, part: slice) -> None:
        with np.errstate(over="ignore", invalid="ignore"):  # in a thread of the pool's
            np.matmul(self._x[part], self._R[part], out=self._Rx[part])


class _Extent(NamedTuple):
    """How much one algorithm has to remember."""

    mu: float
    counts: BoolArray  # which ages of the fleet's messages count
    ages: IntArray  # (L,), those
    period: int  # of the windows (P)
    live: bool

    @classmethod
    def of(cls, fleet: FleetInTheory, method: Algorithm, settings: Settled, ticks: int) -> Self:
        """Of an algorithm that theory knows, over so many ticks."""
        parts = method.require_paper_parts("theory")
        D = fleet.moments.r.shape[1]
        method.require_fits(D)
        sizes = [windows.size(D) for windows in (parts.downlink, parts.uplink)]
        mu, max_age = method.settled(**settings._asdict())
        ages = fleet.contacts.ages
        counts = (ages <= max_age) & (ages < ticks)
        period = math.lcm(*(D // math.gcd(size, D) for size in sizes))
        return cls(mu, counts, ages[counts], period, method.exchange == "live")

    @property
    def longest(self) -> int:
        """The highest age that counts."""
        return int(self.ages.max(initial=0))

    @property
    def cells(self) -> IntArray:
        """What is on its way for l ticks takes l + 1 cells, used in turn: how many, by age."""
        return self.ages + 1

    def bytes(self, K: int, D: int) -> float:
        """What it takes at least: windows, weights, what is on its way, what "live" answers."""
        windows, weights = self.period * K * D, 2 * self.period * self.ages.size * D
        waiting = int(self.cells.sum()) * D
        answers = (self.longest + 1) * K * D if self.live else 0
        return 8.0 * (windows + weights + waiting + answers)


class _Row:
    """One algorithm: its mean models, and what is on its way as sums by sending tick and age."""

    def __init__(
        self, fleet: FleetInTheory, method: Algorithm, extent: _Extent, *, driven: bool
    ) -> None:
        R, r = fleet.moments.R, fleet.moments.r
        K, D = r.shape
        down, up, server = method.require_paper_parts("theory")
        self._mu, counts, ages, self._period, live = extent
        self._up_coordinates = _coordinates(up, self._period, K, D)
        self._up = _masks(self._up_coordinates, D)
        self._down = _masks(_coordinates(down, self._period, K, D), D)
        self._R, self._r = R, r * driven
        self._exchange, self._away = method.exchange, method.learns_while_away
        contacts = fleet.contacts
        self._contact = (contacts.available * picked_share(method))[:, None]
        self._alone = contacts.data[:, None] - self._contact  # a sample, but no contact
        self._weights = ExpectedWeights(
            ages,
            np.array([weight_of(server.staleness, age) for age in ages.tolist()]),
            self._contact.T * contacts.late[:, counts].T,
            self._up,
            by_coverage=server.divisor == "coverage" and not up.coordinated,
        )
        start = np.random.default_rng(0).standard_normal((K + 1, D)) * (not driven)
        self.w, self.W = start[0], start[1:]
        # What was sent, by age and by tick modulo its cells; where the cells of each age begin.
        self._cells = extent.cells
        self._begins = np.cumsum(self._cells) - self._cells
        self._pulls = np.zeros((int(self._cells.sum()), D))
        # By how much a client that sends has learned more than the mean; for "live" answers.
        self._surplus = np.zeros((extent.longest + 1, K, D) if live else (1, 1, 1))

    def learns_from(self, n: int) -> FloatArray:
        """What must be multiplied by R_k at tick n, (K, D)."""
        if self._exchange != "paper":
            return self.W
        merged = np.where(self._down[n % self._period], self.w, self.W)
        return self._alone * self.W + self._contact * merged if self._away else merged

    def tick(self, n: int, Rx: FloatArray) -> None:
        """Move on by one tick, given the product with R_k."""
        contact = self._paper if self._exchange == "paper" else self._one_exchange
        sent = contact(n, Rx)
        phase, now, then = n % self._period, n % self._cells, (n - self._weights.ages) % self._cells
        pulls = self._weights.pulls(phase, np.where(self._up[phase], sent, 0.0))
        self._pulls[self._begins + now] = pulls
        arriving = self._pulls[self._begins + then]
        if self._exchange == "live":
            self._answer(n)
        self.w = self._weights.move(self.w, n, arriving)

    def _paper(self, n: int, Rx: FloatArray) -> FloatArray:
        """Merge, learn, send."""
        phase, mu, r = n % self._period, self._mu, self._r
        merged = np.where(self._down[phase], self.w, self.W)
        if not self._away:
            sent = merged - mu * (Rx - r)
            self.W = self.W + self._contact * (sent - self.W)
            return sent
        # Rx is that of the mean over both cases; what is sent concerns one of them.
        sent = np.zeros_like(self.W)
        k = np.arange(len(sent))[:, None]
        j = self._up_coordinates[phase]
        product = np.matmul(self._R[k, j], merged[:, :, None])[:, :, 0]
        sent[k, j] = merged[k, j] - mu * (product - r[k, j])
        learns = self._alone + self._contact
        self.W = self.W + self._contact * (merged - self.W) - mu * (Rx - learns * r)
        return sent

    def _one_exchange(self, n: int, Rx: FloatArray) -> FloatArray:
        """Learn, send; the answer overwrites at once ("single") or when it arrives ("live")."""
        learned = self.W - self._mu * (Rx - self._r)
        learns = self._contact + (self._alone if self._away else 0.0)
        if self._exchange == "live":
            self._surplus[n % len(self._surplus)] = (1 - learns) * (learned - self.W)
            self.W = self.W + learns * (learned - self.W)
        else:
            answered = np.where(self._down[n % self._period], self.w, learned)
            alone = learns - self._contact
            self.W = self.W + alone * (learned - self.W) + self._contact * (answered - self.W)
        return learned

    def _answer(self, n: int) -> None:
        """Overwrite where a message arrives; who sent one has learned, so the others have less."""
        begun = self._weights.ages <= n
        ages, q = self._weights.ages[begun], self._weights.q[begun]
        quiet = np.prod(1 - q, axis=0)
        kept = quiet[:, None] * self.W
        for i, age in enumerate(ages.tolist()):
            alone = q[i] * np.prod(1 - np.delete(q, i, axis=0), axis=0)
            kept -= alone[:, None] * self._surplus[(n - age) % len(self._surplus)]
        answered = (1 - quiet)[:, None] * self.w + kept
        self.W = np.where(self._down[n % self._period], answered, self.W)

    def normalise(self) -> float:
        """Scale everything so that the longest model has length 1; return the log of its length."""
        length = max(float(np.linalg.norm(self.w)), float(np.linalg.norm(self.W, axis=1).max()))
        if length > 0:
            for state in (self.w, self.W, self._pulls, self._surplus):
                state /= length
        with np.errstate(divide="ignore"):
            return float(np.log(length))


def _coordinates(windows: Windows, period: int, clients: int, features: int) -> IntArray:
    """Which coordinates travel, (P, K, m)."""
    return np.array(
        [[windows(k, n, features) for k in range(clients)] for n in range(period)], dtype=np.int64
    )


def _masks(coordinates: IntArray, features: int) -> BoolArray:
    """The same as truth values, (P, K, D)."""
    masks = np.zeros((*coordinates.shape[:2], features), dtype=bool)
    np.put_along_axis(masks, coordinates, values=True, axis=-1)
    return masks
