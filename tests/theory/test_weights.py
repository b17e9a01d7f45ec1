"""The server's expected move against the mean of its rule over all patterns of arrival."""

from itertools import product
from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.arrays import BoolArray, FloatArray, IntArray
from paofed.core.parts import Message
from paofed.core.rules import Divisor, aggregate
from paofed.core.selection import Windows
from paofed.theory.weights import ExpectedWeights

CHANCES = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0), st.floats(0.9, 1.0))


class Case(NamedTuple):
    """A tick at which messages may arrive; those of age l were sent l ticks ago."""

    features: int
    windows: Windows
    ages: tuple[int, ...]
    alpha: tuple[float, ...]
    q: tuple[tuple[float, ...], ...]  # (L, K)
    tick: int
    seed: int

    @property
    def clients(self) -> int:
        return len(self.q[0])

    def coordinates(self, client: int, age: int) -> IntArray:
        return self.windows(client, self.tick - age, self.features)

    def held(self) -> BoolArray:
        """Over D ticks the windows begin again, whatever their width."""
        held = np.zeros((self.features, self.clients, self.features), dtype=bool)
        for n, k in np.ndindex(held.shape[:2]):
            held[n, k, self.windows(k, n, self.features)] = True
        return held

    def values(self) -> tuple[FloatArray, FloatArray]:
        """The server's model, and the senders' by age: (D,) and (L, K, D)."""
        rng = np.random.default_rng(self.seed)
        shape = len(self.ages), self.clients, self.features
        return rng.normal(size=self.features), rng.normal(size=shape)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    clients, classes = draw(
        st.sampled_from([(1, 1), (1, 3), (2, 2), (3, 1), (3, 2), (2, 3), (5, 1)])
    )
    features = draw(st.integers(1, 5))
    width = draw(st.one_of(st.none(), st.integers(1, features)))
    windows = Windows(width, coordinated=draw(st.booleans()), ahead=draw(st.integers(0, 1)))
    ages = draw(st.lists(st.integers(0, 7), min_size=classes, max_size=classes, unique=True))
    weights = st.lists(st.floats(0.0, 1.0), min_size=classes, max_size=classes)
    chances = st.lists(CHANCES, min_size=clients, max_size=clients).map(tuple)
    return Case(
        features=features,
        windows=windows,
        ages=tuple(sorted(ages)),
        alpha=tuple(draw(weights)),
        q=tuple(draw(st.lists(chances, min_size=classes, max_size=classes))),
        tick=draw(st.integers(0, 20)),
        seed=draw(st.integers(0, 1000)),
    )


def made(case: Case, *, by_coverage: bool) -> ExpectedWeights:
    ages, alpha, q = np.array(case.ages), np.array(case.alpha), np.array(case.q)
    return ExpectedWeights(ages, alpha, q, case.held(), by_coverage=by_coverage)


def expected_move(case: Case, divisor: Divisor) -> tuple[FloatArray, FloatArray]:
    """The mean over all patterns: of the server's new model, and of who has anything arrive."""
    w, sent = case.values()
    weight = dict(zip(case.ages, case.alpha, strict=True))
    places = [
        (i, age, k)
        for i, age in enumerate(case.ages)
        for k in range(case.clients)
        if age <= case.tick  # nothing was sent before the first tick
    ]
    mean, answered = np.zeros_like(w), np.zeros(case.clients)
    for pattern in product((False, True), repeat=len(places)):
        probability, messages = 1.0, []
        for arrives, (i, age, k) in zip(pattern, places, strict=True):
            probability *= case.q[i][k] if arrives else 1 - case.q[i][k]
            if arrives:
                j = case.coordinates(k, age)
                messages.append(Message(k, case.tick - age, j, sent[i, k, j]))
        if probability:
            moved = aggregate(w, messages, case.tick, weight.__getitem__, divisor)
            mean += probability * moved
            answered[sorted({message.client for message in messages})] += probability
    return mean, answered


def found_move(case: Case, weights: ExpectedWeights) -> FloatArray:
    w, sent = case.values()
    held = case.held()
    pulls = np.zeros((len(case.ages), case.features))
    for i, age in enumerate(case.ages):
        phase = (case.tick - age) % case.features
        pulls[i] = weights.pulls(phase, np.where(held[phase], sent[i], 0.0))[i]
    return weights.move(w, case.tick, pulls)


@given(cases())
def test_shares_of_a_class_move_the_server_as_its_rule_does_on_average(case: Case) -> None:
    weights = made(case, by_coverage=False)
    mean, _ = expected_move(case, "class")
    np.testing.assert_allclose(found_move(case, weights), mean, rtol=0, atol=1e-12)


@given(cases())
def test_shares_of_the_holders_move_the_server_as_its_rule_does_on_average(case: Case) -> None:
    weights = made(case, by_coverage=True)
    mean, _ = expected_move(case, "coverage")
    np.testing.assert_allclose(found_move(case, weights), mean, rtol=0, atol=1e-12)
    if case.windows.coordinated:  # all messages of an age hold the same window
        alike = found_move(case, made(case, by_coverage=False))
        np.testing.assert_allclose(alike, mean, rtol=0, atol=1e-12)


def test_shares_add_up_for_more_messages_than_there_are_nodes() -> None:
    """1000 messages of one age: E[X / (1 + (X - 1))] = P(X > 0) in all, whatever their chances."""
    rng = np.random.default_rng(1)
    q = rng.uniform(0, 0.02, size=(1, 1000))
    for by_coverage in (False, True):
        held = np.ones((1, 1000, 1), dtype=bool)
        weights = ExpectedWeights(np.array([0]), np.array([1.0]), q, held, by_coverage=by_coverage)
        some = 1 - np.prod(1 - q)
        np.testing.assert_allclose(weights.pulls(0, held[0]), [[some]], rtol=1e-12)
        np.testing.assert_allclose(weights.move(np.ones(1), 0, np.zeros((1, 1))), [1 - some])
