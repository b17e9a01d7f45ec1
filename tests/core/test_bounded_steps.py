"""Bounded steps: LMS, but for what is far beyond the usual."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.bounded import _sizes_at_once, _stacked, sizes_of
from paofed.core.bounded_steps import LATEST, BoundedWeights, bounded_lms, middle
from paofed.core.parts import Learner, Message, overwrite
from paofed.core.rules import lms_step
from paofed.errors import AlgorithmError

FEATURES, MU = 5, 0.4
LEARNER = bounded_lms(3.0)
samples = st.lists(
    st.tuples(st.integers(0, 10_000), st.floats(-5, 5).map(lambda v: round(v, 3))), max_size=40
)


def z_of(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=FEATURES) / 2


def learned(learner: Learner, data: list[tuple[int, float]], unit: float = 1.0) -> BoundedWeights:
    state: BoundedWeights = learner.init(FEATURES)
    for seed, y in data:
        state = learner.learn(state, z_of(seed), unit * y, MU, 0)
    return state


@given(samples)
def test_a_bound_that_nothing_reaches_is_lms(data: list[tuple[int, float]]) -> None:
    w = np.zeros(FEATURES)
    for seed, y in data:
        w = lms_step(w, z_of(seed), y, MU)
    np.testing.assert_allclose(learned(bounded_lms(1e12), data).w, w, rtol=1e-12, atol=1e-12)


@given(samples, st.sampled_from([1e6, -1e6, 1e100]))
def test_one_wild_sample_moves_the_model_by_a_bounded_step(
    data: list[tuple[int, float]], wild: float
) -> None:
    state, z = learned(LEARNER, data), z_of(1)
    usual = np.median(state.errors[state.errors > 0]) if state.errors.any() else np.inf
    after = LEARNER.learn(state, z, wild, MU, 0)
    step, most = np.linalg.norm(after.w - state.w), MU * 3.0 * usual * np.linalg.norm(z)
    assert step <= most * (1 + 1e-9) + 1e-9 * np.linalg.norm(state.w)


@given(samples, st.sampled_from([2.0**-30, 2.0**40]))
def test_jobs_do_not_matter(data: list[tuple[int, float]], unit: float) -> None:
    assert (unit * learned(LEARNER, data).w).tobytes() == learned(LEARNER, data, unit).w.tobytes()


def test_a_level_that_has_really_changed_is_learned() -> None:
    before = learned(LEARNER, [(k, 1.0) for k in range(60)])
    state, z = before, z_of(3)
    for _ in range(LATEST // 2):  # as long as most errors that are known are of the old level
        state = LEARNER.learn(state, z, 1e6, MU, 0)
    assert abs(state.w @ z) < 1e3
    for _ in range(60):
        state = LEARNER.learn(state, z, 1e6, MU, 0)
    assert state.w @ z == pytest.approx(1e6, rel=1e-3)


def test_what_is_heard_and_what_is_exact_say_nothing_of_errors() -> None:
    state = learned(LEARNER, [(k, 1.0) for k in range(10)])
    z = z_of(5)
    same = LEARNER.learn(state, z, float(state.w @ z), MU, 0)
    np.testing.assert_array_equal(same.w, state.w)
    np.testing.assert_array_equal(same.errors, state.errors)
    assert LEARNER.merge is overwrite


@pytest.mark.parametrize("bound", [0, np.inf, "6", True])
def test_a_bound_that_is_none(bound: float) -> None:
    with pytest.raises(AlgorithmError, match=r"^bound is .*: expected a finite number above 0"):
        bounded_lms(bound)


FEATURES = 8
W = np.linspace(-2.0, 2.0, FEATURES)


@st.composite
def messages(draw: st.DrawFn) -> list[Message]:
    found = []
    for client in range(draw(st.integers(1, 5))):
        places = draw(st.lists(st.integers(0, FEATURES - 1), min_size=1, unique=True))
        coordinates = np.array(places, dtype=np.int64)
        away = st.one_of(st.just(0.0), st.floats(width=32))
        steps = draw(st.lists(away, min_size=len(places), max_size=len(places)))
        found.append(Message(client, 0, coordinates, W[coordinates] + np.array(steps)))
    return found


@given(messages())
def test_both_ways_give_the_same_bits(arrived: list[Message]) -> None:
    at_once = _sizes_at_once(*_stacked(W, arrived))
    assert at_once.tobytes() == sizes_of(W, arrived).tobytes()


@given(st.lists(st.floats(0, 1e9), max_size=20))
def test_the_middle_is_the_median_of_what_is_known(sizes: list[float]) -> None:
    known = [size for size in sizes if size > 0]
    assert middle(np.array(sizes)) == (np.median(known) if known else 0.0)
