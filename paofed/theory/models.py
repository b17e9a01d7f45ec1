"""The mean models of one algorithm, server and clients, from tick to tick.

What clients do is linear, so it is followed in the modes of their R_k (paofed.theory.modes). Where
whole models travel, clients that rest while away need not be followed one by one.
"""

from typing import Protocol

import numpy as np

from paofed.algorithms.base import Algorithm
from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.selection import Windows
from paofed.core.staleness import weight_of
from paofed.theory.fleet import FleetInTheory
from paofed.theory.modes import Modes
from paofed.theory.reach import Reach, picked_share
from paofed.theory.weights import ExpectedWeights


class MeanModels(Protocol):
    """What MeanRecursion needs of the mean models of one algorithm."""

    @property
    def w(self) -> FloatArray:
        """The server's mean model, (D,)."""
        ...

    def tick(self, n: int) -> None:
        """Move on by tick n."""
        ...

    def state(self, n: int) -> FloatArray:
        """Return all that tick n and later ones depend on, one vector; not for "live" answers."""
        ...

    def restore(self, n: int, state: FloatArray) -> None:
        """Set all that tick n and later ones depend on."""
        ...

    def normalise(self) -> float:
        """Scale everything so that the longest model has length 1; return the log of its length."""
        ...


def mean_models(
    fleet: FleetInTheory, modes: Modes, method: Algorithm, reach: Reach, *, driven: bool
) -> MeanModels:
    """Return the mean models of an algorithm at the start, followed in the way that costs least."""
    if reach.by_sums:
        return _WholeModels(fleet, method, reach, driven=driven)
    return ModelsInModes(fleet, modes, method, reach, driven=driven)


class _ServerModel:
    """The server's mean model, and sums of what is on its way, by sending tick and age."""

    def __init__(self, weights: ExpectedWeights, cells: IntArray, start: FloatArray) -> None:
        self.w = start
        self._weights = weights
        # The sums sent, by age and by tick modulo the number of cells of that age, and where the
        # cells of each age begin.
        self._cells = cells
        self._begins = np.cumsum(cells) - cells
        self._pulls = np.zeros((int(cells.sum()), start.size))

    def move(self, n: int, pulls: FloatArray) -> None:
        """Put the pulls (L, D) of tick n on their way, and apply those that arrive at tick n."""
        self._pulls[self._begins + n % self._cells] = pulls
        arriving = self._pulls[self._begins + (n - self._weights.ages) % self._cells]
        self.w = self._weights.move(self.w, n, arriving)

    def state(self, n: int) -> FloatArray:
        """Return the model and what is on its way before tick n, one vector."""
        return np.concatenate([self.w, self._pulls[self._waiting(n)].ravel()])

    def restore(self, n: int, state: FloatArray) -> FloatArray:
        """Set the model and what is on its way before tick n; return the rest of `state`."""
        features, waiting = self.w.size, self._waiting(n)
        own = features * (1 + waiting.size)
        self.w = state[:features].copy()
        self._pulls[waiting] = state[features:own].reshape(-1, features)
        return state[own:]

    def _waiting(self, n: int) -> IntArray:
        """Return the cells of what was sent before tick n and has not arrived, by age."""
        sent = [(n - 1 - np.arange(cells - 1)) % cells for cells in self._cells.tolist()]
        return np.concatenate([b + at for b, at in zip(self._begins, sent, strict=True)])

    def shrink(self, length: float) -> None:
        """Divide everything by a length."""
        self.w /= length
        self._pulls /= length


class ModelsInModes:
    """Any algorithm: the clients' mean models in the modes of their R_k."""

    def __init__(
        self, fleet: FleetInTheory, modes: Modes, method: Algorithm, reach: Reach, *, driven: bool
    ) -> None:
        K, D = fleet.moments.r.shape
        down, up, _ = method.require_paper_parts("theory")
        contact, alone = _chances(fleet, method)
        self._modes, self._exchange, self._period = modes, method.exchange, reach.period
        self._up, self._down = (_coordinates(link, reach.period, K, D) for link in (up, down))
        self._weights = _weights(fleet, method, reach, _masks(self._up, D))
        w, W = _start(K, D, driven=driven)
        self._server = _ServerModel(self._weights, reach.cells, w)
        self._v = modes.of_models(W)
        # An LMS step is v <- stay v + gain, by mode; without contact only some algorithms learn.
        self._stay = 1 - reach.mu * modes.rates
        self._fleet = fleet
        self._gains = [reach.mu * modes.of_models(r * driven) for r in fleet.r_after_drifts]
        self._contact, self._learns = contact, contact + alone
        self._stay_alone = 1 - contact - alone + alone * self._stay
        self._alone = alone
        # What clients in contact sent at the last tick, (K, m), in the order of rising coordinates.
        self.sent = np.zeros((K, reach.sizes[1]))
        # By how much a client that sends has learned more than the mean client; for "live" answers.
        self._surplus = np.zeros((reach.longest + 1, K, D) if reach.live else (1, 1, 1))

    @property
    def w(self) -> FloatArray:
        """The server's mean model, (D,)."""
        return self._server.w

    def clients(self, window: IntArray | None = None) -> FloatArray:
        """Return the clients' mean models on a window, (K, m), or whole, (K, D)."""
        coordinates = np.arange(self.w.size) if window is None else window
        return self._modes.seen(
            self._v, np.broadcast_to(coordinates, (len(self._v), coordinates.size))
        )

    def tick(self, n: int) -> None:
        """Move on by tick n."""
        phase = n % self._period
        down, up = self._down[phase], self._up[phase]
        merges = self._exchange == "paper"
        merged = self._modes.overwritten(self._v, down, self.w[down]) if merges else self._v
        told = self._stay * merged  # becomes the model of a client that has a contact
        gain = self._fleet.at(n, self._gains)
        told += gain
        self.sent = self._modes.seen(told, up)
        sent = np.zeros_like(self._v)
        np.put_along_axis(sent, up, self.sent, axis=1)
        if self._exchange == "single":
            told = self._modes.overwritten(told, down, self.w[down])
        if self._exchange == "live":
            self._surplus[n % len(self._surplus)] = (1 - self._learns) * (told - self._v)
        self._v *= self._stay_alone
        self._v += self._alone * gain
        told *= self._contact
        self._v += told
        if self._exchange == "live":
            self._answer(n, down)
        self._server.move(n, self._weights.pulls(phase, sent))

    def state(self, n: int) -> FloatArray:
        """Return all that tick n and later ones depend on, one vector; not for "live" answers."""
        return np.concatenate([self._server.state(n), self._v.ravel()])

    def restore(self, n: int, state: FloatArray) -> None:
        """Set all that tick n and later ones depend on."""
        self._v = self._server.restore(n, state).reshape(self._v.shape).copy()

    def _answer(self, n: int, down: IntArray) -> None:
        """Overwrite the window where a message arrives.

        A client that sent one has learned, so the mean over the other clients has learned less.
        """
        begun = self._weights.ages <= n
        ages, q = self._weights.ages[begun], self._weights.q[begun]
        quiet = np.prod(1 - q, axis=0)[:, None]
        kept = quiet * self._v
        for i, age in enumerate(ages.tolist()):
            alone = q[i] * np.prod(1 - np.delete(q, i, axis=0), axis=0)
            kept -= alone[:, None] * self._surplus[(n - age) % len(self._surplus)]
        # On the window, the part that is kept plus the server's values for the rest.
        answer = (1 - quiet) * self.w[down]
        self._v = kept + self._modes.overwritten(self._v - kept, down, answer)

    def normalise(self) -> float:
        """Scale everything so that the longest model has length 1; return the log of its length."""
        length = _longest(self.w, self._v)
        if length > 0:
            self._server.shrink(length)
            self._v /= length
            self._surplus /= length
        return _log(length)


class _WholeModels:
    """Whole models travel, and clients rest while away: a client holds what it once heard.

    A contact replaces a client's model by (I - mu R_k) w + mu r_k. The server moves by a weighted
    sum of these over the clients, for which the weighted sum of the R_k is computed once. What a
    client holds is that expression for the mean of what it heard, and is computed only where its
    length is asked for.
    """

    def __init__(
        self, fleet: FleetInTheory, method: Algorithm, reach: Reach, *, driven: bool
    ) -> None:
        R, r = fleet.moments.R, fleet.moments.r * driven
        K, D = r.shape
        self._contact, _ = _chances(fleet, method)
        weights = _weights(fleet, method, reach, np.ones((1, K, D), dtype=bool))
        w, self._W = _start(K, D, driven=driven)
        self._server = _ServerModel(weights, reach.cells, w)
        self._R, self._r, self._mu = R, r, reach.mu
        shares = weights.pulls(0, np.eye(K))
        self._share = shares.sum(axis=1)[:, None]
        self._learned = np.tensordot(shares, R, 1).reshape(-1, D)  # (L D, D)
        self._fleet = fleet
        self._gained = [shares @ (r * driven) for r in fleet.r_after_drifts]
        self._heard = np.zeros((K, D))  # mean of what a client heard since W was computed
        self._kept = np.ones((K, 1))  # chance that the client has heard nothing since then

    @property
    def w(self) -> FloatArray:
        """The server's mean model, (D,)."""
        return self._server.w

    def tick(self, n: int) -> None:
        """Move on by tick n."""
        w = self.w
        self._heard += self._contact * (w - self._heard)
        self._kept *= 1 - self._contact
        learned = (self._learned @ w).reshape(-1, w.size)
        gained = self._fleet.at(n, self._gained)
        self._server.move(n, self._share * w - self._mu * (learned - gained))

    def state(self, n: int) -> FloatArray:
        """Return all that tick n and later ones depend on: clients hold what they heard."""
        return self._server.state(n)

    def restore(self, n: int, state: FloatArray) -> None:
        """Set all that tick n and later ones depend on."""
        self._server.restore(n, state)

    def normalise(self) -> float:
        """Scale everything so that the longest model has length 1; return the log of its length."""
        heard, kept = self._heard, self._kept
        Rx = np.matmul(heard[:, None, :], self._R)[:, 0]
        self._W = kept * self._W + heard - self._mu * (Rx - (1 - kept) * self._r)
        self._heard, self._kept = np.zeros_like(heard), np.ones_like(kept)
        length = _longest(self.w, self._W)
        if length > 0:
            self._server.shrink(length)
            self._W /= length
        return _log(length)


def _chances(fleet: FleetInTheory, method: Algorithm) -> tuple[FloatArray, FloatArray]:
    """Return by client, (K, 1), the chance of a contact at a tick and of learning without one."""
    contact = (fleet.contacts.available * picked_share(method))[:, None]
    alone = (fleet.contacts.data[:, None] - contact) * method.learns_while_away
    return contact, alone


def _weights(
    fleet: FleetInTheory, method: Algorithm, reach: Reach, held: BoolArray
) -> ExpectedWeights:
    """Return the weights of an algorithm whose messages hold the coordinates `held`, (P, K, D)."""
    _, up, server = method.require_paper_parts("theory")
    contact, _ = _chances(fleet, method)
    return ExpectedWeights(
        reach.ages,
        np.array([weight_of(server.staleness, age) for age in reach.ages.tolist()]),
        contact.T * fleet.contacts.late[:, reach.counts].T,
        held,
        # Where all messages hold the same coordinates, "coverage" is the same as "class".
        by_coverage=server.divisor == "coverage" and not up.coordinated and not held.all(),
    )


def _start(K: int, D: int, *, driven: bool) -> tuple[FloatArray, FloatArray]:
    """Return the models of server (D,) and clients (K, D): zeros, or random deviations."""
    start = np.random.default_rng(0).standard_normal((K + 1, D)) * (not driven)
    return start[0], start[1:]


def _longest(w: FloatArray, local: FloatArray) -> float:
    return max(float(np.linalg.norm(w)), float(np.linalg.norm(local, axis=1).max()))


def _log(length: float) -> float:
    with np.errstate(divide="ignore"):
        return float(np.log(length))


def _coordinates(windows: Windows, period: int, clients: int, features: int) -> IntArray:
    """Return which coordinates travel, (P, K, m), rising."""
    travel = [[windows(k, n, features) for k in range(clients)] for n in range(period)]
    return np.sort(np.array(travel, dtype=np.int64), axis=-1)


def _masks(coordinates: IntArray, features: int) -> BoolArray:
    """Return coordinates as truth values, (P, K, D)."""
    masks = np.zeros((*coordinates.shape[:2], features), dtype=bool)
    np.put_along_axis(masks, coordinates, values=True, axis=-1)
    return masks
