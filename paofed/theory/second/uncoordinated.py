"""Contacts where every client has a window of its own: all coordinates change a little at a tick.

Members of a class are in different places of the cycle of windows, and each passes through all of
them. Instead of following that, a window is taken as drawn anew at every contact. Messages move the
server when they are sent, with the weights of their ages.
"""

from typing import NamedTuple, Self

import numpy as np

from paofed.algorithms.base import PaperParts
from paofed.core.arrays import FloatArray
from paofed.theory.fleet import FleetInTheory
from paofed.theory.second.covariances import Covariances, Offers, TickOfMeans
from paofed.theory.second.groups import Detail, Groups
from paofed.theory.second.shares import Shares, of_presence


class _Windows(NamedTuple):
    """How likely a window holds coordinates."""

    held: float  # the share of the coordinates that a window holds
    both: FloatArray  # (D, D), the chance that a window holds two coordinates
    same: FloatArray  # (D, D), the chance that it holds one, given that it holds the other

    @classmethod
    def of(cls, width: int, features: int) -> Self:
        """Compute the chances over all windows."""
        starts = np.unique(width * np.arange(features) % features)
        holds = np.zeros((starts.size, features))
        np.put_along_axis(holds, (starts[:, None] + np.arange(width)) % features, 1.0, axis=1)
        both = holds.T @ holds / starts.size
        return cls(width / features, both, both * features / width)


class _Weights(NamedTuple):
    """Moments of the weights of messages at a coordinate, over all ages."""

    first: FloatArray  # (F,), mean weight of one member
    square: FloatArray  # (F,), mean square, of one member whose window holds the coordinate
    chance: FloatArray  # (F,), the part of that square which is due to its presence
    apart: FloatArray  # (F, F), of two members, at coordinates that no window holds together
    together: FloatArray  # (F, F), of two members, at coordinates of one window

    @classmethod
    def of(cls, groups: Groups, alpha: FloatArray, held: float, *, by_coverage: bool) -> Self:
        """`alpha` are the weights of the ages, `held` is the share of coordinates in a window."""
        shares = Shares.of(groups, alpha, counted=held if by_coverage else 1.0)
        # A coordinate that a newer message holds is not changed by older ones.
        missed = np.prod((1 - held * groups.arriving) ** groups.size, axis=1)
        newest = np.cumprod([1.0, *missed[:-1]])
        by_age = held * newest[:, None] * shares.first  # (L, F)
        first = by_age.sum(axis=0)
        of_two_ages = np.outer(first, first) - by_age.T @ by_age
        return cls(
            first,
            square=newest @ shares.square,
            chance=newest @ (shares.square - shares.first**2),
            apart=np.tensordot((held * newest) ** 2, shares.product, 1) + of_two_ages,
            together=np.tensordot(held**2 * newest, shares.product, 1),
        )


class _Said(NamedTuple):
    """Covariances of what all messages of a tick say together."""

    square: FloatArray  # (D, D), of the sum of messages
    with_members: FloatArray  # (F, D, D), with a member's model
    with_server: FloatArray  # (D, D), with the server in the rows
    # (F, D, D), summed squares of the differences between members and the server.
    scatter: FloatArray


class Uncoordinated:
    """One algorithm's contacts and arrivals; members exchange with the server once per stride."""

    _said: _Said  # as of the middle of the stride

    def __init__(
        self,
        groups: Groups,
        fleet: FleetInTheory,
        parts: PaperParts,
        alpha: FloatArray,
        mu: float,
        detail: Detail,
    ) -> None:
        """`alpha` are the weights of the ages."""
        features, stride = fleet.moments.r.shape[1], detail.stride
        self._groups, self._fleet, self._mu, self._stride = groups, fleet, mu, stride
        # A window just received holds the server's values and one step: only the step moves the
        # server.
        self._steps = parts.uplink.ahead == 0
        self._step = (mu * groups.means(fleet.moments.R)).astype(detail.precision)
        windows = _Windows.of(parts.uplink.size(features), features)
        by_coverage = parts.server.divisor == "coverage"
        self._weights = _Weights.of(groups, alpha, windows.held, by_coverage=by_coverage)
        self._windows = windows
        self._server_keeps(detail.precision)
        self._members_keep(detail.precision)

    def _server_keeps(self, precision: type[np.floating]) -> None:
        """Compute how much of its values the server keeps, and how much it takes from messages."""
        weights, windows, groups = self._weights, self._windows, self._groups
        members = groups.size
        ordered = np.outer(members, members) - np.diag(members)
        self._apart, self._together = (
            groups.sum_by_group(groups.sum_by_group(product * ordered).T).astype(precision)
            for product in (weights.apart, weights.together)
        )
        total = weights.first * members  # (F,), of a class
        moved = float(total.sum())
        alone = weights.square * members
        square = (
            (1 - windows.same) * self._apart.sum()
            + windows.same * self._together.sum()
            + windows.both * alone.sum()
        )  # fmt: skip
        if self._steps:
            moved, kept, pulled = 0.0, np.ones_like(square), np.ones_like(square)
        else:
            # E[(1 - weight_i) (1 - weight_j)], and the same of one factor with a message, (D, D).
            kept = 1 - 2 * moved + square
            pulled = 1 - square / moved if moved else np.zeros_like(square)
        self._moved = moved
        self._kept, self._pulled = kept.astype(precision), pulled.astype(precision)
        self._total, self._alone = total.astype(precision), alone.astype(precision)
        self._group_total = groups.sum_by_group(total).astype(precision)
        self._single = weights.first.astype(precision)[:, None, None]
        self._both, self._same = windows.both.astype(precision), windows.same.astype(precision)

    def _members_keep(self, precision: type[np.floating]) -> None:
        """Compute the chances that a stride leaves a member's coordinates alone."""
        groups, stride, (held, both, _) = self._groups, self._stride, self._windows
        p = groups.contact[:, None, None]
        self._untouched = ((1 - p * held) ** stride).astype(precision)
        self._group_untouched = ((1 - groups.by_group(p) * held) ** stride).astype(precision)
        self._both_untouched = ((1 - p * (2 * held - both)) ** stride).astype(precision)
        self._chance = stride * p * (1 - p) / groups.size[:, None, None]

    def before_learning(self, state: Covariances, tick: TickOfMeans) -> None:
        """Do nothing: what members take over from the server is summed up at the end of strides."""

    def after_learning(self, state: Covariances, tick: TickOfMeans) -> None:
        """Move the server at every tick; at the end of a stride members take over its values."""
        if tick.n == 0 or tick.n % self._stride == self._stride // 2:
            self._said = self._say(state, tick)
        said = self._said.with_server if self._steps else self._with_server(state.cross)
        state.server = self._kept * state.server + self._said.square
        state.server += self._pulled * (said + said.T)
        state.cross *= 1 - self._moved
        state.cross += self._said.with_members
        if (tick.n + 1) % self._stride == 0:
            self._take_over(state)

    def _say(self, state: Covariances, tick: TickOfMeans) -> _Said:
        """Sum up what members offer."""
        offers = self._offers(state, tick.noise)
        clients = tick.means.clients()
        away = clients - tick.means.w
        own_group = self._groups.of_class
        apart = np.tensordot(self._apart, offers.mutual, 2)
        together = np.tensordot(self._together, offers.mutual, 2)
        alone = np.tensordot(self._alone, offers.own, 1)
        square = (1 - self._same) * apart + self._same * together + self._both * alone
        square += self._of_presence(self._pulls(tick.n, clients) if self._steps else away)
        heard = np.tensordot(self._group_total, offers.with_others, 1)[own_group]
        by_sender = offers.with_sender - offers.with_others[own_group, own_group]
        return _Said(
            square,
            with_members=heard + self._single * by_sender,
            with_server=self._with_server(offers.with_server.swapaxes(1, 2)),
            scatter=self._groups.squares(away),
        )

    def _with_server(self, cross: FloatArray) -> FloatArray:
        """Return the covariance of server and messages, from server and members, (F, D, D)."""
        with_server: FloatArray = np.tensordot(self._total, cross, 1)
        return with_server

    def _pulls(self, n: int, clients: FloatArray) -> FloatArray:
        """Return the mean steps at tick n of clients with these mean models, (K, D)."""
        R = self._fleet.moments.R
        r = self._fleet.at(n, list(self._fleet.r_after_drifts))
        steps: FloatArray = self._mu * (r - np.matmul(R, clients[:, :, None])[:, :, 0])
        return steps

    def _of_presence(self, pulls: FloatArray) -> FloatArray:
        """Return what the randomness of who is there adds; `pulls` are by client, (K, D)."""
        first, _, chance, *products = self._weights
        apart, together = (
            of_presence(self._groups, pulls, first, first**2, product) for product in products
        )
        alone = np.tensordot(chance, self._groups.squares(pulls), 1)
        added: FloatArray = (1 - self._same) * apart + self._same * together + self._both * alone
        return added

    def _offers(self, state: Covariances, noise: FloatArray) -> Offers:
        """Return what members would send if a message held everything: values, or one step."""
        with_server = state.cross.swapaxes(1, 2)
        if not self._steps:
            return Offers(with_server, state.pairs, state.own, state.pairs, state.own)
        step, by_group = self._step, self._groups.by_group(self._step)
        with_others = -np.matmul(by_group[:, None], state.pairs)
        with_sender = -np.matmul(step, state.own)
        return Offers(
            -np.matmul(step, with_server),
            with_others,
            with_sender,
            mutual=-np.matmul(with_others, by_group.swapaxes(1, 2)[None]),
            own=noise - np.matmul(with_sender, step.swapaxes(1, 2)),
        )

    def _take_over(self, state: Covariances) -> None:
        alone, neither = self._untouched, self._both_untouched
        state.own *= neither
        state.own += (1 - 2 * alone + neither) * state.server
        state.own += (alone - neither) * (state.cross + state.cross.transpose(0, 2, 1))
        state.own += self._chance * self._both * self._said.scatter
        by_group = self._group_untouched
        cross = self._groups.by_group(state.cross)
        state.pairs *= by_group[:, None]
        state.pairs += (1 - by_group)[:, None] * cross[None]
        state.cross *= alone
        state.cross += (1 - alone) * state.server
        cross = self._groups.by_group(state.cross)
        state.pairs *= by_group[None]
        state.pairs += (1 - by_group)[None] * cross.transpose(0, 2, 1)[:, None]
