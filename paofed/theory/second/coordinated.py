"""Contacts where all clients share the same window: a few rows and columns change at a tick.

A message holds values of the tick in which it was sent. Until it arrives, the covariances of these
values are kept as they were then, except those with the server's values in the same window: earlier
arrivals among the messages of that tick have changed these meanwhile.
"""

import numpy as np

from paofed.algorithms.base import PaperParts
from paofed.core.arrays import FloatArray, IntArray
from paofed.theory.second.covariances import Covariances, Offers, TickOfMeans
from paofed.theory.second.groups import Groups
from paofed.theory.second.shares import Shares, of_presence


class _OnItsWay:
    """The messages of one tick, weighted and summed by age (L)."""

    def __init__(
        self, window: IntArray, values: Offers, means: FloatArray, shares: Shares, groups: Groups
    ) -> None:
        """`values` are what members send, and `means` their mean values by client, (K, m)."""
        kind, own_group = values.own.dtype, groups.of_class
        self.window, self.means = window, means
        total, first = shares.total.astype(kind), shares.first.astype(kind)
        by_group = groups.sum_by_group(total)  # (L, G)
        by_pair = groups.sum_by_group(groups.sum_by_group(shares.pairs).swapaxes(1, 2))
        self.with_server = np.tensordot(total, values.with_server, 1)  # (L, m, D)
        by_sender = values.with_sender - values.with_others[own_group, own_group]
        of_others = np.tensordot(by_group, values.with_others, 1)  # (L, G, m, D)
        self.with_members = of_others[:, own_group] + first[:, :, None, None] * by_sender
        self.square = np.tensordot(by_pair.astype(kind), values.mutual, 2)  # (L, m, m)
        self.square += np.tensordot(shares.square.astype(kind) * groups.size, values.own, 1)
        # Two ages have distinct senders, since a message has one age.
        both = np.tensordot(by_group, values.mutual, 1)  # (L, G, m, m)
        self.between = np.tensordot(by_group, both, ((1,), (1,)))  # (L, L, m, m)

    def applied_before(self, age: int, moved: float) -> None:
        """Take into account that messages of another age, at index `age`, have moved the server."""
        later = self.with_server[age + 1 :]
        later[:, :, self.window] *= 1 - moved
        later[:, :, self.window] += self.between[age, age + 1 :]


class Coordinated:
    """One algorithm's contacts and arrivals, tick by tick."""

    def __init__(
        self,
        groups: Groups,
        mean_R: FloatArray,
        parts: PaperParts,
        ages: IntArray,
        alpha: FloatArray,
        mu: float,
    ) -> None:
        """`mean_R` is the mean R of each class, (F, D, D); `alpha` are the weights of the ages."""
        self._groups, self._mu, self._mean_R = groups, mu, mean_R
        self._group_contact = groups.by_group(groups.contact)
        self._down, self._up = parts.downlink, parts.uplink
        self._ages, self._alpha = ages, alpha
        self._shares = Shares.of(groups, alpha)
        self._sent: dict[int, _OnItsWay] = {}

    def before_learning(self, state: Covariances, tick: TickOfMeans) -> None:
        """Let members in contact overwrite the window of the tick with the server's values."""
        window = np.sort(self._down(0, tick.n, tick.server.size))
        away = tick.server[window] - tick.means.clients(window)
        scatter = self._groups.squares(away) / self._groups.size[:, None, None]
        p = self._groups.contact.astype(state.own.dtype)[:, None, None]
        shared = state.cross[:, window]  # (F, m, D)
        rows = state.own[:, window] * (1 - p) + p * shared
        inner = state.own[:, window][:, :, window] * (1 - p)
        inner += p * state.server[np.ix_(window, window)] + p * (1 - p) * scatter
        rows[:, :, window] = inner
        state.own[:, window] = rows
        state.own[:, :, window] = rows.transpose(0, 2, 1)
        q = self._group_contact.astype(state.own.dtype)[:, None, None, None]
        shared = self._groups.by_group(shared)
        state.pairs[:, :, window] += q * (shared[None] - state.pairs[:, :, window])
        state.cross[:, :, window] += p * (state.server[:, window] - state.cross[:, :, window])
        merged = self._groups.by_group(state.cross[:, window]).transpose(0, 2, 1)[:, None]
        columns = state.pairs[:, :, :, window]
        state.pairs[:, :, :, window] += q.reshape(1, -1, 1, 1) * (merged - columns)

    def after_learning(self, state: Covariances, tick: TickOfMeans) -> None:
        """Let members in contact send; messages that arrive move the server."""
        n, before = tick.n, tick.server
        window, down = (np.sort(link(0, n, before.size)) for link in (self._up, self._down))
        if np.isin(window, down).any():
            values = self._just_received(state, window, down, tick.noise)
        else:
            values = _left_alone(state, window)
        self._sent[n] = _OnItsWay(window, values, tick.means.sent, self._shares, self._groups)
        # The oldest first: where newer messages hold the same window, these decide alone.
        for place, age in reversed(list(enumerate(self._ages.tolist()))):
            if age <= n:
                self._arrive(state, self._sent[n - age], place, before)
        self._sent.pop(n - int(self._ages[-1]), None)

    def _just_received(
        self, state: Covariances, window: IntArray, down: IntArray, noise: FloatArray
    ) -> Offers:
        """Return what members send of a window just received: the server's values and a step.

        The step is -mu R u with the merged model u, which is the server's on the window `down`.
        """
        kind, groups = state.own.dtype, self._groups
        received = np.isin(window, down).astype(kind)[:, None]
        by_class = (self._mu * self._mean_R[:, window]).astype(kind) * received  # (F, m, D)
        by_group = groups.by_group(by_class)

        def sends(server: FloatArray, member: FloatArray, rows: FloatArray) -> FloatArray:
            """Return covariances of the values sent.

            `server` and `member` are covariances, (..., D, X), of the server's and the member's
            model.
            """
            merged = np.array(
                np.broadcast_to(member, np.broadcast_shapes(server.shape, member.shape))
            )
            merged[..., down, :] = server[..., down, :]
            learned: FloatArray = merged[..., window, :] - np.matmul(rows, merged)
            return learned

        def turned(values: FloatArray) -> FloatArray:
            return values.swapaxes(-1, -2)

        cross = groups.by_group(state.cross)
        with_server = sends(state.server, turned(state.cross), by_class)
        with_others = sends(cross, state.pairs, by_group[:, None])
        with_sender = sends(state.cross, state.own, by_class)
        server_too = turned(groups.by_group(with_server))[:, None]
        mutual = turned(sends(server_too, turned(with_others), by_group))
        own = turned(sends(turned(with_server), turned(with_sender), by_class))
        own = own + (received * received.T) * noise[:, window][..., window]
        return Offers(with_server, with_others, with_sender, mutual, own)

    def _arrive(self, state: Covariances, sent: _OnItsWay, age: int, server: FloatArray) -> None:
        window, alpha = sent.window, self._alpha[age]
        moved = float(self._shares.moved[age])
        held = sent.with_server[age][:, window]
        inner = (1 - 2 * moved + alpha * moved) * state.server[np.ix_(window, window)]
        inner += (1 - alpha) * (held + held.T) + sent.square[age]
        shares, pulls = self._shares, sent.means - server[window]
        inner += of_presence(
            self._groups, pulls, shares.first[age], shares.square[age], shares.product[age]
        )
        rows = (1 - moved) * state.server[window] + sent.with_server[age]
        rows[:, window] = inner
        state.server[window] = rows
        state.server[:, window] = rows.T
        state.cross[:, window] *= 1 - moved
        state.cross[:, window] += sent.with_members[age]
        sent.applied_before(age, moved)


def _left_alone(state: Covariances, window: IntArray) -> Offers:
    """Return what members send of a window not received at this tick: their own values."""
    return Offers(
        with_server=state.cross[:, :, window].transpose(0, 2, 1),
        with_others=state.pairs[:, :, window],
        with_sender=state.own[:, window],
        mutual=state.pairs[:, :, window][..., window],
        own=state.own[:, window][..., window],
    )
