"""Whole models travel: a client in contact begins at the server's model, so only that is followed.

The newest messages that arrive at a tick decide alone. With messages of age l the server becomes

    (1 - alpha) w_n + alpha (the mean over their senders of w_{n-l} + mu z (y - z^T w_{n-l}))

so the covariances of the server's model with its own past, up to the age limit, are followed, in
the modes of the clients' mean R, where learning is a product entry by entry.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.linalg import get_blas_funcs

from paofed.core.arrays import FloatArray, IntArray
from paofed.theory.fleet import FleetInTheory
from paofed.theory.models import MeanModels
from paofed.theory.modes import THREADS
from paofed.theory.reach import Reach
from paofed.theory.sample_points import sum_of_squares
from paofed.theory.second.groups import Detail, Groups
from paofed.theory.second.shares import Shares


class WholeSpread:
    """The covariance of the server's model, tick by tick."""

    def __init__(
        self,
        fleet: FleetInTheory,
        reach: Reach,
        groups: Groups,
        alpha: FloatArray,
        means: MeanModels,
        detail: Detail,
    ) -> None:
        """`alpha` are the weights of the ages."""
        moments, precision = fleet.moments, detail.precision
        everyone = np.arange(len(moments.R))
        samples = fleet.samples(everyone, detail.points)
        self._fleet = fleet
        mu, ages = reach.mu, reach.ages
        self._models, self._mu, self._ages, self._every = means, mu, ages, detail.stride
        shares = Shares.of(groups, np.ones_like(alpha))
        self._chance, self._alpha = shares.decides * shares.moved, alpha  # (L,)
        first, square = shares.senders
        weight = first[groups.of_client]  # (K,), sums to 1
        rates, self._Q = np.linalg.eigh(np.tensordot(weight, moments.R, 1))
        self._rates = rates
        self._r = [self._Q.T @ (weight @ r) for r in fleet.r_after_drifts]
        self._stay = (1 - mu * rates).astype(precision)
        # For two senders: by class, and by group, whose typical member has the mean R of senders.
        self._pairs = shares.sender_pairs
        self._group_pairs = groups.sum_by_group(groups.sum_by_group(self._pairs).T).astype(
            precision
        )
        self._class_R = groups.means(moments.R)
        self._class_r = [groups.means(r) for r in fleet.r_after_drifts]
        sent = groups.sum_by_group(np.diag(first * groups.size)).T  # (G, F)
        often = sent.sum(axis=1, keepdims=True)
        sent /= np.where(often > 0, often, 1.0)
        group_R = np.tensordot(sent, self._class_R, 1)
        self._group_R = (self._Q.T @ group_R @ self._Q).astype(precision)
        weights = square[groups.of_client, None] * samples.weights  # (K, P)
        self._z = (samples.z.reshape(-1, rates.size) @ self._Q).astype(precision)
        self._points = weights.ravel().astype(precision)
        targets = fleet.targets_after_drifts(everyone, detail.points)
        self._y = [y.ravel().astype(precision) for y in targets]
        self._noise = np.repeat(samples.noise, samples.y.shape[1]).astype(precision)
        # past[a, b] is the covariance of the models of two ticks, in a circle of `size` ticks.
        self._size, D = int(ages[-1]) + 2, rates.size
        self._past = np.zeros((self._size, self._size, D, D), precision)
        self._means = np.zeros((self._size, D))
        # The mean of what clients send that began with the model of each tick.
        self._told = np.zeros((self._size, D))
        self._added = np.zeros((self._size, D, D), precision)
        self._known = np.zeros((D, D), precision)  # what samples add, as it was computed last
        self._now = 0
        self._plus = get_blas_funcs("axpy", dtype=precision)  # a x + y, in one pass
        self._pool = ThreadPoolExecutor(THREADS)

    @property
    def mean(self) -> FloatArray:
        """The server's mean model, (D,)."""
        return self._models.w

    @property
    def server(self) -> FloatArray:
        """The covariance of the server's model, (D, D)."""
        covariance: FloatArray = self._Q @ self._past[self._now, self._now] @ self._Q.T
        return covariance

    def tick(self, n: int) -> None:
        """Move on by tick n."""
        before = self._models.w
        self._models.tick(n)
        now, then = n % self._size, (n + 1) % self._size
        past, stay = self._past, self._stay
        self._means[now] = self._Q.T @ before
        self._told[now] = stay * self._means[now] + self._mu * self._fleet.at(n, self._r)
        since_change = n - self._fleet.last_change(n)
        if n % self._every == 0 or since_change == 0:
            added = self._of_samples(n, self._means[now], past[now, now])
            self._noise_now = self._drawn_on(added, since_change)
        self._added[now] = self._noise_now
        begun = self._ages <= n
        chance, alpha = self._chance[begun], self._alpha[begun]
        places = (n - self._ages[begun]) % self._size
        # Covariances of the new model with every earlier model.
        moved = (chance * alpha).astype(past.dtype)

        for lag in range(self._size):
            row = self._with_earlier(lag, now, moved, places)
            past[then, lag], past[lag, then] = row, row.T
        past[then, then] = self._square(chance, alpha, places, now)
        self._now = then

    def _with_earlier(self, lag: int, now: int, moved: FloatArray, places: IntArray) -> FloatArray:
        """The covariance of the new model with one earlier model: so much fits near a processor."""
        past, shape = self._past, self._known.shape
        told = np.zeros(self._known.size, past.dtype)
        for share, place in zip(moved, places, strict=True):
            told = self._plus(past[place, lag].ravel(), told, a=share)
        stepped = (told.reshape(shape) * self._stay[:, None]).ravel()
        row: FloatArray = self._plus(past[now, lag].ravel(), stepped, a=1 - moved.sum())
        return row.reshape(shape)

    def _drawn_on(self, added: FloatArray, since_change: int) -> FloatArray:
        """Return what is added from now on, extrapolated to the middle of a stride.

        Without this it would lag behind an error that falls. A target that has changed is a new
        beginning.
        """
        ahead = (self._every - 1) / 2 / self._every if since_change else 0.0
        drawn = added + ahead * (added - self._known)
        self._known = added
        return drawn

    def _square(
        self, chance: FloatArray, alpha: FloatArray, places: IntArray, now: int
    ) -> FloatArray:
        """Return the covariance of the new model: within each age that decides, and between."""
        past, stay = self._past, self._stay
        square = (1 - chance.sum()) * past[now, now]
        jumps = alpha[:, None] * (self._told[places] - self._means[now])  # (L, D)
        for c, a, place in zip(chance, alpha, places, strict=True):
            held = stay[:, None] * past[place, now]
            square += c * (1 - a) ** 2 * past[now, now] + c * a * (1 - a) * (held + held.T)
            square += c * a**2 * (np.outer(stay, stay) * past[place, place] + self._added[place])
        mean = chance @ jumps
        square += (jumps.T * chance) @ jumps - np.outer(mean, mean)
        covariance: FloatArray = square.astype(past.dtype)
        return covariance

    def _of_samples(self, n: int, means: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return what the randomness of samples and senders adds to the mean of what is sent."""
        targets, mean = self._fleet.at(n, self._y), means.astype(self._z.dtype)

        def of_points(part: slice) -> FloatArray:
            z = self._z[part]
            miss = targets[part] - z @ mean
            spread = np.einsum("id,id->i", z @ covariance, z)
            weights = self._points[part] * (miss**2 + self._noise[part] + spread)
            return sum_of_squares(z, weights)

        size = -(-len(self._z) // THREADS)
        parts = [slice(begin, begin + size) for begin in range(0, len(self._z), size)]
        square = sum(self._pool.map(of_points, parts))
        added: FloatArray = self._mu**2 * (square + self._of_two(n, means, covariance))
        return added

    def _of_two(self, n: int, means: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return what the steps of two senders have in common, less the square of the mean step."""
        class_r, r = (self._fleet.at(n, values) for values in (self._class_r, self._r))
        gradients = (class_r - self._class_R @ (self._Q @ means)) @ self._Q  # (F, D)
        mean, rates = r - self._rates * means, self._rates
        of_means = gradients.T @ self._pairs @ gradients - np.outer(mean, mean)
        one_side = self._group_R @ covariance  # (G, D, D)
        both = np.tensordot(self._group_pairs, self._group_R, 1)
        of_spread = np.matmul(one_side, both).sum(axis=0) - np.outer(rates, rates) * covariance
        common: FloatArray = of_means + of_spread
        return common
