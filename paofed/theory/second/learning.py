"""What samples do to covariances between two exchanges.

A member with a sample learns (I - mu z z^T) w + mu z y. Covariances of its model with anything else
are multiplied by I - mu d R. The covariance of its model also gets what the randomness of samples
adds:

    mu^2 (d E[z z^T ((y - z^T m)^2 + z^T C z + noise)] - d^2 (g g^T + R C R)),  g = r - R m

with the mean m and the covariance C of the model. The expectation is a sum over points of the
member's law, so the fourth moments of features are never formed.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Self

import numpy as np

from paofed.core.arrays import FloatArray
from paofed.theory.fleet import FleetInTheory
from paofed.theory.models import ModelsInModes
from paofed.theory.modes import THREADS
from paofed.theory.sample_points import sum_of_squares
from paofed.theory.second.covariances import Covariances
from paofed.theory.second.groups import Detail, Groups

_SETTLED = 20  # strides after which noise changes so slowly that it is computed more seldom


class SampleNoise(NamedTuple):
    """What the randomness of samples adds to the covariance of a member's model."""

    of_tick: FloatArray  # (F, D, D), at a tick that may bring a sample
    of_sample: FloatArray  # (F, D, D), at a tick that brings a sample

    def drawn_on(self, before: Self, share: float) -> Self:
        """Extrapolate from an earlier noise to this one and beyond, by a share of the way."""
        steps = (now + share * (now - then) for now, then in zip(self, before, strict=True))
        return type(self)(*steps)


class Learning:
    """The steps of `stride` ticks at once, for typical members of classes and groups."""

    def __init__(
        self,
        fleet: FleetInTheory,
        groups: Groups,
        mu: float,
        detail: Detail,
        *,
        away: bool,
    ) -> None:
        """`away`: members learn at every sample, not at contacts alone."""
        stride, precision = detail.stride, detail.precision
        self._mu, self._stride, self._seldom = mu, stride, detail.seldom
        self.rate = groups.data if away else groups.contact
        self._fleet, self._R = fleet, fleet.moments.R
        mean_R = groups.means(self._R)
        learned = mu * self.rate[:, None, None] * mean_R
        power = np.linalg.matrix_power
        step = np.eye(mean_R.shape[1]) - learned
        self._of_class = power(step, stride).astype(precision)
        self._of_group = power(groups.by_group(step), stride).astype(precision)
        # What the randomness of samples adds during the stride is contracted by half of the stride.
        self._half = power(step, (stride - 1) // 2).astype(precision)
        self._mean_R = mean_R.astype(precision)
        everyone = np.arange(len(self._R))
        samples = fleet.samples(everyone, detail.points)
        self._z, self._weights = samples.z.astype(precision), samples.weights.astype(precision)
        targets = fleet.targets_after_drifts(everyone, detail.points)
        self._targets = [y.astype(precision) for y in targets]
        self._target_noise = samples.noise.astype(precision)
        self._members = [np.flatnonzero(groups.of_client == f) for f in range(groups.size.size)]
        self._pool = ThreadPoolExecutor(THREADS)
        # The noise in use; the noise as it was computed last, and when.
        self._noise = self._known = SampleNoise(*np.zeros((2, *mean_R.shape), precision))
        self._at = 0

    def noise(self, n: int, means: ModelsInModes, own: FloatArray) -> SampleNoise:
        """Return what the randomness of samples adds at tick n; `own` are members' covariances.

        The noise is computed in the middle of strides, and more seldom later in a run. Between, it
        is extrapolated in a straight line to the middle of the ticks for which it is used: else it
        would lag behind an error that falls. A target that has changed is a new beginning.
        """
        since_change = n - self._fleet.last_change(n)
        late = since_change >= _SETTLED * self._stride
        ticks = self._stride * (self._seldom if late else 1)
        if since_change and (n - self._stride // 2) % ticks:
            return self._noise
        before, since = self._known, n - self._at
        self._noise = self._known = self.of_samples(n, means.clients(), own)
        if late:
            ahead = (ticks - self._stride) / 2
            self._noise = self._known.drawn_on(before, ahead / since)
        self._at = n
        return self._noise

    def of_samples(self, n: int, means: FloatArray, own: FloatArray) -> SampleNoise:
        """Return what the randomness of tick n's samples adds to members of covariances `own`.

        `own` has shape (F, D, D); `means` are the mean models of all clients, (K, D).
        """
        y = self._fleet.at(n, self._targets)
        r = self._fleet.at(n, list(self._fleet.r_after_drifts))
        noise = SampleNoise(np.empty_like(own), np.empty_like(own))

        def of_class(f: int) -> None:
            clients = self._members[f]
            local, z = means[clients], self._z[clients]
            miss = y[clients] - np.matmul(z, local[:, :, None].astype(z.dtype))[:, :, 0]
            gradient = r[clients] - np.matmul(self._R[clients], local[:, :, None])[:, :, 0]
            points = z.reshape(-1, z.shape[2])
            spread = np.einsum("id,id->i", points @ own[f], points)
            squares = (miss**2 + self._target_noise[clients, None]).ravel() + spread
            weights = self._weights[clients].ravel() * squares / clients.size
            square = sum_of_squares(points, weights)
            R, rate = self._mean_R[f], self.rate[f]
            mean_square = gradient.T @ gradient / clients.size + R @ own[f] @ R
            noise.of_tick[f] = self._mu**2 * (rate * square - rate**2 * mean_square)
            noise.of_sample[f] = self._mu**2 * (square - mean_square)

        list(self._pool.map(of_class, range(len(own))))
        return noise

    def advance(self, state: Covariances, added: FloatArray) -> None:
        """Learn for the stride; `added` is what the randomness of samples adds at one tick."""

        def of_class(f: int) -> None:
            step, half = self._of_class[f], self._half[f]
            state.cross[f] = state.cross[f] @ step.T
            state.own[f] = step @ state.own[f] @ step.T
            state.own[f] += self._stride * (half @ added[f] @ half.T)

        def of_pair(pair: tuple[int, int]) -> None:
            g, h = pair
            both = self._of_group[g] @ state.pairs[g, h] @ self._of_group[h].T
            state.pairs[g, h], state.pairs[h, g] = both, both.T

        groups = len(state.pairs)
        list(self._pool.map(of_class, range(len(state.own))))
        list(self._pool.map(of_pair, [(g, h) for g in range(groups) for h in range(g, groups)]))
