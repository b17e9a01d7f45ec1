"""One tick of means and second moments, exactly as the reference engine's tick in expectation.

For every mode i (which messages are on their way) the recursion keeps S_i = E[s s^T 1{mode is i}],
where s begins with a 1: the first entry of S_i is the probability of the mode, its first column the
mean. Given the events of a tick everything is linear in s, so that S_i moves linearly as well. A
client's events concern its own entries alone and are independent of the other clients', so one
client is followed after the other. Messages that may arrive are gone through combination by
combination.
"""

import math
from collections.abc import Iterator
from itertools import combinations
from math import comb
from typing import NamedTuple, Self

import numpy as np

from paofed.algorithms.base import Algorithm, PaperParts, Settled
from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.parts import Message
from paofed.core.rules import aggregate
from paofed.errors import InputError
from paofed.theory.exact.sample_moments import SampleMoments
from paofed.theory.exact.vector import StateVector, taken
from paofed.theory.fleet import Contacts

_ROUNDING = 1e-9  # by how much the sum of probabilities may differ from 1


class Draw(NamedTuple):
    """Chances given which the events of one client are independent of those of the others."""

    probability: float  # the probability that these chances apply
    alone: FloatArray  # (K,), chance of a sample without contact
    contact: FloatArray  # (K,), chance of a sample and a contact


class Arrivals(NamedTuple):
    """When messages arrive that are not too old to count."""

    counts: FloatArray  # (K,), probability that a message ever arrives and counts
    # (L + 1, K), probability that a message still on its way arrives at this age.
    hazard: FloatArray

    @property
    def oldest(self) -> int:
        """The highest age L that occurs."""
        return len(self.hazard) - 1

    def on_its_way(self) -> BoolArray:
        """Whether a message may still be on its way at an age, (L + 1, K)."""
        not_yet: BoolArray = np.vstack([self.counts > 0, self.hazard[:-1] < 1])
        return np.logical_and.accumulate(not_yet, axis=0)


def draws(contacts: Contacts, subset: float | None) -> Iterator[Draw]:
    """Yield every way in which the server may pick, with the chances of each client given that.

    A `subset` that is a count makes clients depend on each other: then one Draw is yielded for each
    set of available clients and each pick among them.
    """
    data, there = contacts.data, contacts.available
    if subset is None or subset < 1:
        contact = there * (1.0 if subset is None else subset)
        yield Draw(1.0, data - contact, contact)
        return
    everybody = range(data.size)
    unless_there = np.divide(data - there, 1 - there, out=np.zeros_like(data), where=there < 1)
    for size in range(data.size + 1):
        for present in combinations(everybody, size):
            here = np.isin(everybody, present)
            probability = float(np.where(here, there, 1 - there).prod())
            picked = min(int(subset), size)
            for chosen in combinations(present, picked):
                contact = np.isin(everybody, chosen).astype(np.float64)
                alone = np.where(here, 1.0, unless_there) * (1 - contact)
                yield Draw(probability / comb(size, picked), alone, contact)


def arrivals(contacts: Contacts, max_age: int) -> Arrivals:
    """Return the chances of arriving at each age up to the limit; later messages never count."""
    used = (contacts.ages <= max_age) & (contacts.late > 0).any(axis=0)
    oldest = int(contacts.ages[used].max(initial=0))
    late = np.zeros((oldest + 1, contacts.data.size))
    late[contacts.ages[used]] = contacts.late[:, used].T
    still = np.cumsum(late[::-1], axis=0)[::-1]  # probability of at least this delay
    return Arrivals(still[0], np.divide(late, still, out=np.zeros_like(late), where=still > 0))


def require_chances(contacts: Contacts, clients: int) -> None:
    """Refuse rates that are no probabilities, or that belong to another fleet."""
    data, there, ages, late = contacts
    shapes = data.shape, there.shape, late.shape
    if shapes != ((clients,), (clients,), (clients, ages.size)):
        raise InputError(
            f"data, available and late have the shapes {shapes}, and there are {clients} clients "
            f"and {ages.size} ages: expected (K,), (K,) and (K, ages)"
        )
    if not ((there >= 0) & (there <= data) & (data <= 1)).all():
        raise InputError(
            f"clients have samples with probability {data.tolist()} and contacts with "
            f"{there.tolist()}: expected 0 <= contacts <= samples <= 1"
        )
    if not ((ages[:1] >= 0).all() and (np.diff(ages) > 0).all()):
        raise InputError(f"ages are {ages.tolist()}: expected rising whole numbers from 0 on")
    if not ((late >= 0).all() and (late.sum(axis=1) <= 1 + _ROUNDING).all()):
        raise InputError(
            f"delays have the probabilities {late.tolist()}: expected, for each client, numbers "
            f"from 0 on whose sum is at most 1"
        )


class _Arriving(NamedTuple):
    """Messages that arrive in one tick: from which modes to which, and how likely from each."""

    messages: int  # the messages, encoded as a mode
    before: IntArray
    after: IntArray
    probability: FloatArray


class _Change(NamedTuple):
    """What arriving messages do: the entries `entries` of s become a matrix times s."""

    entries: IntArray  # (R,)
    matrix: FloatArray  # (R, N)


class _Step(NamedTuple):
    """What an LMS step mu z v^T, v = (y, -z), does to moments of (1, w_k) and of all else."""

    mean: FloatArray  # (D, D + 1), mu E[z v^T]
    square: FloatArray  # ((D + 1)^2, D^2), mu^2 E[v v^T z z^T]

    @classmethod
    def all(cls, samples: SampleMoments, mu: float) -> list[Self]:
        """Return the steps of all clients."""
        found = []
        for second, fourth, noise in zip(*samples, strict=True):
            sign = -np.ones(second.shape[1])
            sign[0] = 1.0
            noisy = fourth.copy()
            noisy[:, :, 0, 0] += noise * second[:, 1:]
            square = (noisy * np.outer(sign, sign)).reshape(len(second) ** 2, -1).T
            found.append(cls(mu * second * sign, mu**2 * square))
        return found


class SecondMoments:
    """The recursion of one algorithm in one fleet; its state S, (modes, N, N), is passed along."""

    def __init__(
        self, samples: SampleMoments, contacts: Contacts, method: Algorithm, settings: Settled
    ) -> None:
        clients, features, _ = samples.second.shape
        self._parts = method.require_paper_parts("the exact recursion")
        method.require_fits(features)
        require_chances(contacts, clients)
        self._method = method
        self._mu, max_age = method.settled(**settings._asdict())
        self._steps = _Step.all(samples, self._mu)
        self._chances = arrivals(contacts, max_age)
        self.vector = StateVector(
            clients, features, self._parts.uplink.size(features), self._chances.oldest
        )
        self.vector.require_room()
        self.period = _period(self._parts, features)
        self._draws = list(draws(contacts, method.subset))
        self._arriving = list(_arriving(self.vector, self._chances))
        self._changes: dict[tuple[int, int], _Change] = {}

    def with_samples(self, samples: SampleMoments) -> Self:
        """Return the same recursion over other samples."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _steps=_Step.all(samples, self._mu))
        return other

    def start(self) -> FloatArray:
        """Return the state in which all models are zero, and nothing is on its way."""
        S = np.zeros((self.vector.modes, self.vector.size, self.vector.size))
        S[0, 0, 0] = 1.0
        return S

    def deviations(self) -> FloatArray:
        """Return the state of equal, independent deviations of all models.

        Nothing is on its way.
        """
        S = np.zeros_like(self.start())
        models = np.arange(self.vector.server.start, self.vector.message(0, 0).start)
        S[0, models, models] = 1.0
        return S

    def tick(self, S: FloatArray, n: int) -> FloatArray:
        """Return the state after tick n."""
        # A shift moves every message on by one age; messages of age 0 are added below.
        begun = np.zeros((len(S) << self.vector.clients, *S.shape[1:]))
        begun[:: 1 << self.vector.clients] = S
        met = sum(draw.probability * self._clients(begun, draw, n) for draw in self._draws)
        return self._receive(np.asarray(met), n)

    def _clients(self, S: FloatArray, draw: Draw, n: int) -> FloatArray:
        """Let every client in turn have a sample or none, and a contact or none."""
        for k in range(self.vector.clients):
            S = self._client(S, k, n, float(draw.alone[k]), float(draw.contact[k]))
        return S

    def _client(self, S: FloatArray, k: int, n: int, alone: float, contact: float) -> FloatArray:
        """Let one client learn alone, or merge, learn and send in the order of its exchange."""
        after = (1.0 - alone - contact) * S
        after += alone * (self._learned(S, k) if self._method.learns_while_away else S)
        if contact == 0:
            return after
        counts, features = float(self._chances.counts[k]), self.vector.features
        share = self.vector.overwritten(k, self._parts.downlink(k, n, features))
        send = self.vector.sent(k, self._parts.uplink(k, n, features))
        exchange = self._method.exchange
        model = self._learned(taken(S, share) if exchange == "paper" else S, k)
        sent = taken(model, send)
        if exchange == "single":
            model, sent = taken(model, share), taken(sent, share)
        after += contact * (1.0 - counts) * model
        bit = self.vector.bit(0, k)
        without = np.flatnonzero(~np.arange(len(S)) & bit)
        after[without | bit] += contact * counts * sent[without]
        return after

    def _learned(self, S: FloatArray, k: int) -> FloatArray:
        """Return the moments after an LMS step of client k: s + mu z (y - z.w_k) on its model."""
        mean, square = self._steps[k]
        model, met = self.vector.client(k), self.vector.sample(k)
        cross = mean @ S[:, met, :]
        seen = S[:, met[:, None], met].reshape(len(S), -1)
        learned = S.copy()
        learned[:, model, :] += cross
        learned[:, :, model] += cross.transpose(0, 2, 1)
        learned[:, model, model] += (seen @ square).reshape(len(S), met.size - 1, met.size - 1)
        return learned

    def _receive(self, S: FloatArray, n: int) -> FloatArray:
        """Go through all messages that may arrive; the others become a tick older."""
        after = np.zeros((self.vector.modes, *S.shape[1:]))
        for arriving in self._arriving:
            entries, matrix = self._change(arriving.messages, n)
            moved = S[arriving.before]
            rows = matrix @ moved
            moved[:, entries, :] = rows
            moved[:, :, entries] = rows.transpose(0, 2, 1)
            moved[:, entries[:, None], entries] = rows @ matrix.T
            after[arriving.after] += arriving.probability[:, None, None] * moved
        # Only rounding makes the moments unsymmetric, and an unsymmetric part would grow by itself.
        return taken(0.5 * (after + after.transpose(0, 2, 1)), self.vector.aged())

    def _change(self, messages: int, n: int) -> _Change:
        """Return what the arrival of these messages does at tick n."""
        key = messages, n % self.period
        if key not in self._changes:
            self._changes[key] = self._changed_by(self.vector.messages_of(messages), n)
        return self._changes[key]

    def _changed_by(self, messages: list[tuple[int, int]], n: int) -> _Change:
        """Return the matrix of the server's rule, and of answers that come with an arrival."""
        vector, features = self.vector, self.vector.features
        server = np.arange(vector.server.start, vector.server.stop)
        identity = np.eye(vector.size)
        entries, rows = [server], [self._server_rule(messages, n)]
        if self._method.exchange == "live":
            for k in {k for _, k in messages}:
                window = self._parts.downlink(k, n, features)
                entries.append(vector.client(k).start + window)
                rows.append(identity[server[window]])
        return _Change(np.concatenate(entries), np.concatenate(rows))

    def _server_rule(self, messages: list[tuple[int, int]], n: int) -> FloatArray:
        """Return the matrix, (D, N), of the server's rule: its results for unit vectors."""
        vector, rule = self.vector, self._parts.server
        matrix = np.zeros((vector.features, vector.size))
        concerned = [vector.server, *(vector.message(age, k) for age, k in messages)]
        for i in np.concatenate([np.arange(where.start, where.stop) for where in concerned]):
            unit = np.zeros(vector.size)
            unit[i] = 1.0
            arrived = []
            for age, k in messages:
                window = self._parts.uplink(k, n - age, vector.features)
                arrived.append(Message(k, n - age, window, unit[vector.message(age, k)]))
            matrix[:, i] = aggregate(unit[vector.server], arrived, n, rule.staleness, rule.divisor)
        return matrix


def _period(parts: PaperParts, features: int) -> int:
    """Return the number of ticks after which all windows are where they were."""
    sizes = [windows.size(features) for windows in (parts.downlink, parts.uplink)]
    return math.lcm(*(features // math.gcd(size, features) for size in sizes))


def _arriving(vector: StateVector, chances: Arrivals) -> Iterator[_Arriving]:
    """Yield every combination of messages that may arrive in one tick."""
    hazard, may_be = chances.hazard.ravel(), chances.on_its_way().ravel()
    modes = np.arange(vector.modes << vector.clients)
    on_its_way: BoolArray = (modes[:, None] >> np.arange(hazard.size) & 1).astype(bool)
    possible = ~(on_its_way & ~may_be).any(axis=1)
    for messages in modes.tolist():
        chosen = on_its_way[messages]
        before = modes[possible & ((modes & messages) == messages)]
        chance = np.where(chosen, hazard, np.where(on_its_way[before], 1 - hazard, 1.0))
        probability = chance.prod(axis=1)
        before, probability = before[probability > 0], probability[probability > 0]
        if before.size:
            yield _Arriving(messages, before, before ^ messages, probability)
