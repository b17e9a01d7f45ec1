"""How large a step may be in the mean square.

Deviations with the covariance X that a client meets alone become, at a sample,

    X - mu (R X + X R) + mu^2 E[z z^T (z^T X z)]

and where the server averages the steps of several senders, a share s = E[1 / (number of senders)]
of the last term is of that kind, and the rest is mu^2 (1 - s) R X R. Deviations neither grow nor
shrink where

    R X + X R - mu (1 - s) R X R = mu s E[z z^T (z^T X z)]

With points z_i of weights p_i this is a problem of the numbers q_i = z_i^T X z_i alone, in the
modes of R with eigenvalues r:

    q = mu B q,   B_ij = s p_j sum_ab z_ia z_ib z_ja z_jb / (r_a + r_b - mu (1 - s) r_a r_b)

B has no negative entries, so the largest stable step is where mu times its largest eigenvalue is 1.

Where windows travel, the client that is the first to blow up between two contacts decides (s = 1):
contacts set a few of its coordinates right, and come seldom. Where whole models travel, the server
decides. Messages that are late do not change where a step becomes unstable, only how fast models
blow up then: each of them is one such step from an older model.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from paofed.algebra import one_thread_algebra
from paofed.algorithms.base import Algorithm, Settled
from paofed.core.arrays import FloatArray
from paofed.errors import InputError
from paofed.theory.fleet import FleetInTheory
from paofed.theory.reach import Reach, picked_share
from paofed.theory.second.groups import Detail, Groups
from paofed.theory.second.shares import Shares

_POINTS = 512  # points in all, of the client that may be the first to blow up or of the whole fleet
_CANDIDATES = 4  # clients with the longest features, which blow up first
_ROUNDING = 1e-10  # relative size of eigenvalues that are taken for 0
_ACCURACY = 1e-3  # relative accuracy of the step size


class StableStep(NamedTuple):
    """The largest step size that is stable in the mean square."""

    step: float
    # The first client to blow up above this step; None: the server's model itself.
    client: int | None


def stable_step(
    fleet: FleetInTheory,
    method: Algorithm,
    settings: Settled,
    report: Callable[[float], None] = lambda _: None,
) -> StableStep:
    """Return the step size above which the algorithm's learning curve blows up.

    `settings` are for what the algorithm leaves open; its own step size plays no part.
    """
    D = fleet.moments.r.shape[1]
    reach = Reach.of(fleet, method, settings, ticks=int(fleet.contacts.ages[-1]) + 1)
    with one_thread_algebra():
        if reach.sizes == (D, D):
            return StableStep(_of_server(fleet, method, reach, report), None)
        lengths = np.trace(fleet.moments.R, axis1=1, axis2=2)
        candidates = np.argsort(-lengths)[:_CANDIDATES].tolist()
        found = []
        for number, k in enumerate(candidates, start=1):
            points = fleet.samples(np.array([k]), _POINTS)
            weights = points.weights[0]
            found.append(StableStep(largest_step(points.z[0], weights, weights), k))
            report(number / len(candidates))
    return min(found)


def require_stable(fleet: FleetInTheory, method: Algorithm, settings: Settled) -> None:
    """Refuse an algorithm whose learning curve blows up.

    The largest stable step takes seconds in a large fleet. It need not be known where no sample
    makes an error longer, that is, up to 2 / |z|^2 of the longest.
    """
    mu = method.settled(**settings._asdict()).step_size
    z = fleet.samples(np.arange(len(fleet.moments.r)), Detail().points).z
    if mu * float(np.einsum("kpd,kpd->kp", z, z).max()) <= 2.0:
        return
    limit = stable_step(fleet, method, settings).step
    if mu >= limit:
        raise InputError(
            f"{method.name} has no learning curve with step size {mu:g}: from {limit:.3g} on it is "
            f"not stable in the mean square; take a smaller step size"
        )


def largest_step(
    z: FloatArray,
    weights: FloatArray,
    squares: FloatArray,
    report: Callable[[float], None] = lambda _: None,
) -> float:
    """Return the largest stable step where samples are the points z, (P, D), with `weights`, (P,).

    `squares` (P,) are the expected squares of the weight of one sender's step: the weights
    themselves where there is one sender, and less where several are averaged.
    """
    share = float(squares.sum())
    rates, Q = np.linalg.eigh((z * weights[:, None]).T @ z)
    seen = rates > _ROUNDING * rates[-1]
    rates, modes = rates[seen], z @ Q[:, seen]
    if share >= 1 - _ROUNDING:  # then B does not depend on the step
        return 1.0 / _growth(modes, rates, squares, 0.0)
    low, high = 0.0, float(2.0 / rates[-1])  # above `high` the mean itself diverges
    steps = int(np.ceil(np.log2(1.0 / _ACCURACY)))
    for number in range(1, steps + 1):
        step = (low + high) / 2
        grows = step * _growth(modes, rates, squares, step * (1 - share)) > 1
        low, high = (low, step) if grows else (step, high)
        report(number / steps)
    return (low + high) / 2


def _growth(modes: FloatArray, rates: FloatArray, squares: FloatArray, mean: float) -> float:
    """Return the largest eigenvalue of B, for mean = mu (1 - s)."""
    inverse = 1.0 / (rates[:, None] + rates - mean * np.outer(rates, rates))
    B = np.empty((len(modes), len(modes)))
    for i, one in enumerate(modes):
        both = modes[i:] * one
        B[i, i:] = B[i:, i] = np.einsum("ja,ja->j", both @ inverse, both)
    # The same eigenvalues as those of B times the squares, of a matrix that is symmetric.
    halves = np.sqrt(squares)
    return float(np.linalg.eigvalsh(halves[:, None] * B * halves)[-1])


def _of_server(
    fleet: FleetInTheory, method: Algorithm, reach: Reach, report: Callable[[float], None]
) -> float:
    """Return the largest stable step of whole models: clients are weighted as at the server."""
    K = len(fleet.moments.r)
    groups = Groups.of(fleet, picked_share(method), reach.counts, Detail())
    senders = Shares.of(groups, np.ones(reach.ages.size)).senders
    points = fleet.samples(np.arange(K), max(1, _POINTS // K))
    first, square = (values[groups.of_client, None] * points.weights for values in senders)
    z = points.z.reshape(-1, points.z.shape[2])
    return largest_step(z, first.ravel(), square.ravel(), report)
