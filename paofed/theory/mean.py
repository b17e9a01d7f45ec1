"""The expected recursion E[w], matrix-free, at full size.

This is the expectation of a tick as the reference engine runs it, under the independence that the
paper assumes too (a sample does not depend on the models that it meets). A client that learns has
(I - mu R_k) w + mu r_k; it merges with the probability of its contacts. What it sends is the mean
given that it is available: merged, then learned. The server's part is in paofed.theory.weights.

The recursion is periodic in the tick with the period of the windows, so whether it converges is
decided by its growth over periods (its spectral radius), not by a bound.

Where the mean models end is solved for instead of followed. The features of smooth data are nearly
dependent, so some modes are learned within ticks and others within millions of them. All that the
mean models do in a period of the windows is one affine map of a vector: the models, and what is on
its way. Its fixed point is where the means end, however slowly they would get there. Its matrix
takes a period of ticks for each entry of the vector: the fixed point is solved for where that is
worth its time and memory.
"""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from paofed.algebra import one_thread_algebra
from paofed.algorithms.base import Algorithm, Settled
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.metrics import decibels
from paofed.errors import InputError
from paofed.memory import has_memory, require_memory
from paofed.theory.fleet import FleetInTheory
from paofed.theory.models import MeanModels, mean_models
from paofed.theory.modes import THREADS, Modes
from paofed.theory.reach import Reach
from paofed.words import ShapesShown

_STRETCH = 20  # ticks between two normalisations: few enough that nothing overflows in between


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(ShapesShown):
    """Where the mean of the server's model goes; A algorithms, P points, D features."""

    names: list[str]
    ticks: IntArray  # (P,), 0-based
    models: FloatArray  # (A, P, D)
    mse: FloatArray  # (A, P), of the mean model on the test set

    def ticks_to_each_db(self, name: str) -> dict[int, int]:
        """Return the first tick at which the error is at or below each whole number of dB."""
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
    modes: Modes | None = None,
) -> Prediction:
    """Follow the means of all algorithms at once, noting them after the ticks `points`.

    `modes` are those of the fleet's R, if they are known already.
    """
    models = np.empty((len(methods), points.size, fleet.z_test.shape[1]))
    with one_thread_algebra():
        recursion = MeanRecursion(fleet, methods, settings, int(points[-1]) + 1, modes=modes)
        begin = 0
        for point, tick in enumerate(points.tolist()):
            recursion.advance(begin, tick + 1)
            models[:, point] = [row.w for row in recursion.rows]
            report((tick + 1) / (int(points[-1]) + 1))
            begin = tick + 1
    with np.errstate(over="ignore", invalid="ignore"):
        mse = np.mean((fleet.tests_at(points) - models @ fleet.z_test.T) ** 2, axis=-1)
    return Prediction([method.name for method in methods], points, models, mse)


def growth(
    fleet: FleetInTheory,
    methods: Sequence[Algorithm],
    settings: Settled,
    ticks: int = 1000,
    report: Callable[[float], None] = lambda _: None,
    modes: Modes | None = None,
) -> FloatArray:
    """Return the factor per tick by which deviations from the fixed point grow in the end, (A,).

    Computed by power iteration. Above 1 the mean diverges. Where R_k is nearly singular (Fourier
    features of smooth data) some modes hardly move, and the factor is just below 1. `modes` are
    those of the fleet's R, if they are known already.
    """
    logs, ahead = [], ticks + _STRETCH
    with one_thread_algebra():
        recursion = MeanRecursion(fleet, methods, settings, ahead, driven=False, modes=modes)
        for begin in range(0, ticks, _STRETCH):
            recursion.advance(begin, begin + _STRETCH)
            logs.append([row.normalise() for row in recursion.rows])
            report(min((begin + _STRETCH) / ticks, 1.0))
    late = logs[len(logs) // 2 :]  # when the slowest mode has taken over
    per_tick: FloatArray = np.exp(np.mean(late, axis=0) / _STRETCH)
    return per_tick


class MeanRecursion:
    """The means of several algorithms' models in one fleet, tick by tick.

    The recursion is followed for `ticks` at most: messages that would arrive later are left out.
    Without `driven`, it is the recursion of deviations from the fixed point, started at random.
    `modes` are those of the fleet's R, if they are known already.
    """

    def __init__(
        self,
        fleet: FleetInTheory,
        methods: Sequence[Algorithm],
        settings: Settled,
        ticks: int,
        *,
        driven: bool = True,
        modes: Modes | None = None,
    ) -> None:
        reaches = require_followed(fleet, methods, settings, ticks, driven=driven, modes=modes)
        known = Modes.of(fleet.moments.R) if modes is None else modes
        self.rows = [
            mean_models(fleet, known, method, reach, driven=driven)
            for method, reach in zip(methods, reaches, strict=True)
        ]
        self._pool = ThreadPoolExecutor(THREADS)

    def advance(self, begin: int, end: int) -> None:
        """Run the ticks from `begin` up to `end`."""
        for first in range(begin, end, _STRETCH):
            ticks = range(first, min(first + _STRETCH, end))
            list(self._pool.map(partial(_follow, ticks), self.rows))


def _follow(ticks: range, models: MeanModels) -> None:
    with np.errstate(over="ignore", invalid="ignore"):  # needed again here, in a thread of the pool
        for n in ticks:
            models.tick(n)


def require_followed(
    fleet: FleetInTheory,
    methods: Sequence[Algorithm],
    settings: Settled,
    ticks: int,
    *,
    driven: bool = True,
    modes: Modes | None = None,
) -> list[Reach]:
    """Refuse what theory cannot follow for so many ticks; return how far back algorithms reach."""
    if driven and fleet.drifts and fleet.drifting is None:
        raise InputError(
            f"the target of the trace changes (drifts: {fleet.drifts}), and its samples do not say "
            f"what it is when: theory follows drifts of a scenario alone; or simulate"
        )
    reaches = [Reach.of(fleet, method, settings, ticks) for method in methods]
    K, D = fleet.moments.r.shape
    require_memory(
        sum(reach.bytes(K, D) for reach in reaches) + (8.0 * K * D**2 if modes is None else 0.0),
        f"theory of {K} clients with {D} features, {len(methods)} algorithms and messages of "
        f"up to {max(reach.longest for reach in reaches)} ticks on their way",
        "lower max_age, or take a smaller fleet with the same groups",
    )
    return reaches


_MOST = 6000  # entries of the vector; the matrix and its factors then take 0.6 GB
# Ticks of the means alone for each tick of means and spread. A tick of the means takes a quarter of
# the time or so (in six fleets of 4 to 32 clients: 5 % of it to all of it).
_WORTH = 4
_CLOSE = 1e-6  # a solution that a period moves by more than this, relative to it, is not one


def begin_at_end(models: MeanModels, reach: Reach, ticks: int) -> None:
    """Set mean models to where they end, as they are before the first tick of a period.

    Nothing is done where the matrix does not fit into memory, takes longer than to follow means and
    spread for `ticks` ticks, or has no fixed point, and for "live" answers, whose state is more
    than `models.state`. The target must not change.
    """
    begin = reach.period * -(-reach.longest // reach.period)  # messages of all ages may arrive
    zeros = np.zeros_like(models.state(begin))
    size = zeros.size
    fits = size <= _MOST and has_memory(2 * 8.0 * size**2)
    if not fits or size * reach.period > _WORTH * ticks or reach.live:
        return
    end = _fixed_point(_over(models, begin, reach.period), size)
    models.restore(0, zeros if end is None else end)


def _fixed_point(affine: Callable[[FloatArray], FloatArray], size: int) -> FloatArray | None:
    """Return the vector that a map leaves as it is; None where there is none."""
    constant = affine(np.zeros(size))
    moves, unit = np.empty((size, size)), np.zeros(size)  # the identity less the map's matrix
    for i in range(size):
        unit[i] = 1.0
        moves[:, i] = unit - (affine(unit) - constant)
        unit[i] = 0.0
    try:
        found: FloatArray = np.linalg.solve(moves, constant).astype(np.float64)
    except np.linalg.LinAlgError:
        return None
    moved = float(np.linalg.norm(affine(found) - found))
    return found if moved <= _CLOSE * float(np.linalg.norm(found)) else None


def _over(models: MeanModels, begin: int, period: int) -> Callable[[FloatArray], FloatArray]:
    """Return what a period of ticks does to the state of mean models."""

    def ticks(state: FloatArray) -> FloatArray:
        models.restore(begin, state)
        for n in range(begin, begin + period):
            models.tick(n)
        return models.state(begin + period)

    return ticks
