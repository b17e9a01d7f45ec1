"""The learners that can be chosen in LMS's place: what they compute, keep and take over."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.core.bounded_steps import LATEST
from paofed.core.learners import FORGETFUL, Chosen, chosen, learner_of
from paofed.core.least_squares import SquaresWeights
from paofed.core.parts import Learner, Part, State
from paofed.core.rules import lms_step
from paofed.core.two_speed import FORGETTING, TwoSpeedWeights, trusted
from paofed.errors import AlgorithmError

FEATURES, MU = 6, 0.4
samples = st.lists(
    st.tuples(st.integers(0, 10_000), st.floats(-5, 5).map(lambda v: round(v, 3))),
    min_size=1,
    max_size=30,
)
Samples = list[tuple[int, float]]


def z_of(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=FEATURES) / 2


def learned(learner: Learner, data: Samples, mu: float = MU, unit: float = 1.0) -> State:
    state = learner.init(FEATURES)
    for seed, y in data:
        state = learner.learn(state, z_of(seed), unit * y, mu, 0)
    return state


def two_speed(forgetting: float | None = None, bound: float | None = None) -> Learner:
    return learner_of(Chosen("two-speed", forgetting, bound))


def rls(forgetting: float | None = None, bound: float | None = None) -> Learner:
    return learner_of(Chosen("rls", forgetting, bound))


@given(samples, st.sampled_from([0.5, 0.9, 1.0]))
def test_of_two_speeds_the_slow_one_is_lms(data: Samples, forgetting: float) -> None:
    state: TwoSpeedWeights = learned(two_speed(forgetting), data)
    w = np.zeros(FEATURES)
    for seed, y in data:
        w = lms_step(w, z_of(seed), y, MU)
    np.testing.assert_allclose(state.w - state.trust[0] * state.lead, w, rtol=1e-9, atol=1e-9)


@given(samples)
def test_of_two_speeds_the_quick_one_closes_a_whole_error(data: Samples) -> None:
    state: TwoSpeedWeights = learned(two_speed(1.0), data)
    (seed, y), slow = data[-1], state.w - state.trust[0] * state.lead
    assert (slow + state.lead) @ z_of(seed) == pytest.approx(y, abs=1e-9)


def test_the_trust_follows_what_errors_are_like() -> None:
    draw = np.random.default_rng(3)
    z = [z_of(seed) for seed in range(300)]
    independent = draw.normal(size=300)
    level = np.cumsum(0.3 * draw.normal(size=300))
    trust = []
    for noise in (independent, level):
        state = two_speed().init(FEATURES)
        for features, y in zip(z, noise.tolist(), strict=True):
            one = np.append(features[1:] / 10, 1.0)  # nearly the same features in every sample
            state = two_speed().learn(state, one, y, 0.05, 0)
        trust.append(state.trust[0])
    assert trust[0] < 0.3  # independent errors: next to nothing
    assert trust[1] > 0.8  # a level that wanders: nearly all


def test_the_trust_by_hand() -> None:
    """Sums keep 0.99 of themselves; the trust begins at 1, as if four samples had shown that."""
    assert FORGETTING == 0.9
    first = trusted(np.array([1.0, 0.0, 0.0, 0.0]), 2.0, -1.0)
    assert first.tolist() == [(-2.0 + 4.0) / 5.0, -2.0, 1.0, 1.0]
    second = trusted(first, 1.0, 2.0)
    product, square, count = -1.98 + 2.0, 0.99 + 4.0, 1.99
    trust = (count * product / square + 4.0) / (count + 4.0)
    assert second == pytest.approx([trust, product, square, count], rel=1e-12)


@pytest.mark.parametrize(("missing", "trust"), [(10.0, 1.0), (-10.0, 0.0)])
def test_the_trust_is_a_part(missing: float, trust: float) -> None:
    """A lead that was too short by far is taken whole and no more, one that misled not at all."""
    assert trusted(np.array([1.0, 0.0, 0.0, 0.0]), missing, 1.0)[0] == trust


@given(samples, st.sampled_from([0.3, 1.0, 10.0]))
def test_least_squares_without_forgetting_is_the_ridge_fit(data: Samples, mu: float) -> None:
    state: SquaresWeights = learned(rls(1.0), data, mu)
    z = np.stack([z_of(seed) for seed, _ in data])
    y = np.array([y for _, y in data])
    fit = np.linalg.solve(z.T @ z + np.eye(FEATURES) / mu, z.T @ y)
    np.testing.assert_allclose(state.w, fit, rtol=1e-7, atol=1e-7)


@given(samples, st.sampled_from([0.2, 0.9, 1.0]), st.integers(0, 300))
def test_the_matrix_stays_between_0_and_the_identity(
    data: Samples, forgetting: float, repeats: int
) -> None:
    learner = rls(forgetting)
    state: SquaresWeights = learned(learner, data, mu=5.0)
    for _ in range(repeats):  # the same features again: nothing new is excited
        state = learner.learn(state, z_of(1), 1.0, 5.0, 0)
    np.testing.assert_array_equal(state.open, state.open.T)
    sizes = np.linalg.eigvalsh(state.open)
    assert sizes.min() >= 1 - forgetting - 1e-9
    assert sizes.max() <= 1 + 1e-9


@given(samples)
def test_what_is_heard_of_all_coordinates_leaves_nothing_of_before(data: Samples) -> None:
    heard = Part(np.arange(FEATURES), np.arange(FEATURES, dtype=float))
    squares: SquaresWeights = rls().merge(learned(rls(), data), heard)
    np.testing.assert_array_equal(squares.open, np.eye(FEATURES))
    speeds: TwoSpeedWeights = two_speed().merge(learned(two_speed(), data), heard)
    np.testing.assert_array_equal(speeds.lead, np.zeros(FEATURES))


@given(samples)
def test_what_is_heard_is_open_again_and_tied_to_nothing(data: Samples) -> None:
    before: SquaresWeights = learned(rls(), data)
    after: SquaresWeights = rls().merge(before, Part(np.array([4, 1]), np.array([7.0, 8.0])))
    others = np.ix_([0, 2, 3, 5], [0, 2, 3, 5])
    np.testing.assert_array_equal(after.open[others], before.open[others])
    np.testing.assert_array_equal(after.open[[1, 4]], np.eye(FEATURES)[[1, 4]])
    np.testing.assert_array_equal(after.open, after.open.T)


@pytest.mark.parametrize("name", FORGETFUL)
@given(samples, st.sampled_from([2.0**-30, 2.0**40]))
def test_jobs_do_not_matter(name: str, data: Samples, unit: float) -> None:
    for bound in (None, 3.0):
        learner = learner_of(Chosen(name, bound=bound))
        once, other = learned(learner, data), learned(learner, data, unit=unit)
        assert (unit * once.w).tobytes() == other.w.tobytes()


@pytest.mark.parametrize("name", FORGETFUL)
@given(samples)
def test_a_bound_that_nothing_reaches_changes_nothing(name: str, data: Samples) -> None:
    free, bounded = learner_of(Chosen(name)), learner_of(Chosen(name, bound=1e12))
    assert learned(free, data).w.tobytes() == learned(bounded, data).w.tobytes()


@pytest.mark.parametrize("name", FORGETFUL)
def test_one_wild_sample_moves_a_bounded_model_no_further_than_one_at_the_bound(name: str) -> None:
    learner, z = learner_of(Chosen(name, bound=3.0)), z_of(5)
    state = learned(learner, [(seed, 1.0) for seed in range(LATEST)])
    most = 3.0 * float(np.median(state.errors))
    at_the_bound = learner.learn(state, z, float(state.w @ z) + most, MU, 0)
    wild = learner.learn(state, z, 1e9, MU, 0)
    np.testing.assert_allclose(wild.w, at_the_bound.w, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        *(Chosen(), Chosen(bound=2.0), Chosen("two-speed", 0.9), Chosen("two-speed", 0.5, 6.0)),
        *(Chosen("rls", 0.97), Chosen("rls", 1.0, 3.0), Chosen("weighed", 0.9, 6.0)),
    ],
)
def test_a_record_tells_its_options(options: Chosen) -> None:
    assert chosen(learner_of(options)) == options


def test_rules_of_one_s_own_are_no_choice() -> None:
    assert chosen(Learner(learn=lambda state, *_: state)) is None
    assert chosen(Learner(learn=partial(lambda _, state, *__: state, 1.0))) is None


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (Chosen("nlm"), "unknown learner 'nlm'"),
        (Chosen("lms", 0.9), "forgetting is given, but lms keeps nothing that it could forget"),
        (Chosen("rls", 0), "forgetting is 0: expected a number above 0 and up to 1"),
        (Chosen("rls", 1.5), "forgetting is 1.5: expected"),
        (Chosen("two-speed", True), "forgetting is True: expected"),
        (Chosen("two-speed", bound=0), "bound is 0: expected a finite number above 0"),
    ],
)
def test_what_cannot_be_is_told(options: Chosen, complaint: str) -> None:
    with pytest.raises(AlgorithmError, match=f"^{complaint}"):
        learner_of(options)
