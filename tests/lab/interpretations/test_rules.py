"""The server rules of interpretations: each is what it says, beside a plain transcription."""

from collections import defaultdict
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from lab.interpretations.interpretations import newest_before_counting, plain_mean
from paofed import algorithm
from paofed.checks import check_one
from paofed.core.arrays import FloatArray
from paofed.core.parts import SERVER, Message, ServerRule, Stamp, Weights, keys_of
from paofed.core.rules import aggregate
from paofed.core.selection import window
from paofed.core.staleness import Geometric
from paofed.simulate.engines import engine_of
from tests.effort import long
from tests.natures import small_trace

TICK, FEATURES = 20, 12
STAMP = Stamp(SERVER, TICK, FEATURES, keys_of(0).server)
BEFORE_COUNTING = partial(newest_before_counting, 0.5)


def random_messages(seed: int, *, width: int = 4, apart: bool = True) -> list[Message]:
    """Windows of several ages that often collide, in the order in which a server gets messages."""
    rng = np.random.default_rng(seed)
    found = []
    for age in range(4):
        for client in np.sort(rng.choice(8, size=rng.integers(0, 5), replace=False)).tolist():
            start = width * int(rng.integers(0, 3)) if apart else width * age
            coordinates = window(start, width, FEATURES)
            found.append(Message(client, TICK - age, coordinates, rng.normal(size=width)))
    return found


def applied(rule: Any, w: FloatArray, messages: list[Message]) -> FloatArray:
    result: FloatArray = rule(Weights(w), messages, STAMP).w
    return result


@pytest.mark.parametrize("seed", range(20))
def test_the_plain_mean_by_coordinate(seed: int) -> None:
    messages, w = random_messages(seed), np.random.default_rng(seed + 99).normal(size=FEATURES)
    said: defaultdict[int, list[float]] = defaultdict(list)
    for message in messages:
        for c, value in zip(message.coordinates, message.values, strict=True):
            said[int(c)].append(float(value))
    expected = [sum(said[c]) / len(said[c]) if said[c] else w[c] for c in range(FEATURES)]
    np.testing.assert_allclose(applied(plain_mean, w, messages), expected, atol=1e-12)


def test_the_plain_mean_of_whole_models_is_eq_4_whatever_their_age() -> None:
    models = np.random.default_rng(3).normal(size=(5, FEATURES))
    sent = [Message(k, TICK - k % 3, np.arange(FEATURES), w) for k, w in enumerate(models)]
    got = applied(plain_mean, np.ones(FEATURES), sent)
    np.testing.assert_allclose(got, models.mean(axis=0), atol=1e-12)


def transcribed(w: FloatArray, messages: list[Message], base: float) -> FloatArray:
    """Adjust the selection matrices, drop those that became zero, then compute eq. 9."""
    selections = {}
    for index, message in enumerate(messages):
        newer = [m for m in messages if m.sent > message.sent]
        covered = {int(c) for m in newer for c in m.coordinates}
        selections[index] = {int(c) for c in message.coordinates} - covered
    new = w.copy()
    for age in range(4):
        members = [i for i, m in enumerate(messages) if TICK - m.sent == age and selections[i]]
        for i in members:
            for c, value in zip(messages[i].coordinates, messages[i].values, strict=True):
                if int(c) in selections[i]:
                    new[c] += base**age / len(members) * (value - w[c])
    return new


@pytest.mark.parametrize("seed", range(30))
def test_newest_before_counting_as_the_note_can_be_read(seed: int) -> None:
    messages, w = random_messages(seed), np.random.default_rng(seed + 99).normal(size=FEATURES)
    got = applied(BEFORE_COUNTING, w, messages)
    np.testing.assert_allclose(got, transcribed(w, messages, 0.5), atol=1e-12)


def test_newest_before_counting_by_hand() -> None:
    """Of two messages of age 1, a new one covers the first: the second is alone in its class."""

    def message(client: int, sent: int, value: float, *coordinates: int) -> Message:
        values = np.full(len(coordinates), value)
        return Message(client, sent, np.array(coordinates), values)

    messages = [message(5, 20, 8.0, 0, 1), message(1, 19, 6.0, 0, 1), message(2, 19, 4.0, 2, 3)]
    w = np.zeros(FEATURES)
    got = applied(partial(newest_before_counting, 1.0), w, messages)
    assert got.tolist() == [8.0, 8.0, 4.0, 4.0, *[0.0] * 8]
    usual = aggregate(w, messages, TICK, Geometric(1.0))
    assert usual.tolist() == [8.0, 8.0, 2.0, 2.0, *[0.0] * 8]


@pytest.mark.parametrize("seed", range(10))
def test_counting_makes_no_difference_where_windows_of_one_age_are_the_same(seed: int) -> None:
    """Why coordinated rows are left alone: a class is covered as a whole or not at all."""
    messages = random_messages(seed, apart=False)
    w = np.random.default_rng(seed + 99).normal(size=FEATURES)
    got = applied(BEFORE_COUNTING, w, messages)
    np.testing.assert_allclose(got, aggregate(w, messages, TICK, Geometric(0.5)), atol=1e-12)


PROMISES = (
    "arguments left alone",
    "repeats itself",
    "fixed point",
    "convex hull",
    "untouched coordinates",
    "order independence",
    "nothing in, nothing out",
)


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("rule", [plain_mean, BEFORE_COUNTING], ids=["mean", "newest"])
def test_the_promises_of_a_server(promise: str, rule: Any) -> None:
    method = replace(algorithm("pao-fed-u1"), name="read", server=ServerRule(apply=rule))
    if promise != "nothing in, nothing out":  # that of a method asks every engine
        check_one(promise, method)
    else:
        w = np.arange(FEATURES, dtype=np.float64)
        assert applied(rule, w, []).tolist() == w.tolist()


@long
@pytest.mark.parametrize("rule", [plain_mean, BEFORE_COUNTING], ids=["mean", "newest"])
def test_they_compile_and_both_engines_agree(rule: Any) -> None:
    method = replace(algorithm("pao-fed-u1"), name="read", server=ServerRule(apply=rule))
    assert engine_of("fast").refuses(method) is None
    here, there = (
        engine_of(name).replay(small_trace(3), method).mse for name in ("fast", "reference")
    )
    np.testing.assert_allclose(here, there, atol=1e-9)
