"""Trials foretell samples that they have not seen, and the best one is used."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from paofed.algorithms.fed_ridge.deciding import (
    DOUBT,
    PAST,
    RECENT,
    RIDGES,
    TOTAL,
    best,
    fit_of,
    foretold,
    judged,
    tried,
)
from paofed.algorithms.fed_ridge.pooling import GROUPS, total_without
from paofed.core.arrays import FloatArray
from paofed.core.sums import COUNT, add_all, fitted, leave_first_out, size_of

FEATURES = 5
TRIED = len(RIDGES)
SEEN, LARGE = 17.0, 1e9  # no error is as large as so many usual ones


def samples(seed: int, count: int, noise: float = 0.1) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    u = np.cos(rng.normal(size=(count, FEATURES))) / 2
    return u, u @ np.linspace(-1, 2, FEATURES) + noise * rng.normal(size=count)


def sums(*drawn: tuple[FloatArray, FloatArray]) -> FloatArray:
    total = np.zeros(size_of(FEATURES))
    for u, y in drawn:
        add_all(total, u, y)
    return total


def errors(model: FloatArray, drawn: tuple[FloatArray, FloatArray]) -> float:
    u, y = drawn
    return float(((y - u[:, : model.size] @ model) ** 2).sum())


@given(st.integers(0, 99), st.integers(0, 7))
def test_trials_are_judged_on_what_came_between_two_copies(seed: int, client: int) -> None:
    """Each by what it missed, times the samples that it had seen; so is the first model."""
    trials = np.random.default_rng(seed).normal(size=(TRIED, GROUPS, FEATURES))
    old, new = samples(seed, 10), samples(seed + 1, 6)
    losses = np.ones((TRIED + 1, 2))
    judged(trials, losses, SEEN, LARGE, client, sums(old), sums(old, new))
    models = [*trials[:, client % GROUPS], np.ones(1)]
    missed = np.array([SEEN * errors(model, new) for model in models])
    np.testing.assert_allclose(losses[:, TOTAL], 1 + missed, rtol=1e-9)
    np.testing.assert_allclose(losses[:, DOUBT], 1 + (missed - missed[-1]) ** 2, rtol=1e-6)


@given(st.sampled_from([1e3, 1e12]), st.integers(0, 99))
def test_no_error_counts_as_more_than_sixteen_usual_ones(factor: float, seed: int) -> None:
    """So what a broken device tells is not all that is asked of trials, for ever."""
    trials = np.random.default_rng(seed).normal(size=(TRIED, GROUPS, FEATURES))
    u, y = samples(seed, 6)
    losses, usual = np.zeros((TRIED + 1, 2)), 0.25
    judged(trials, losses, SEEN, usual, 0, sums(), sums((u, factor * y)))
    np.testing.assert_allclose(losses[:, TOTAL], SEEN * 16 * usual * 6)


def test_trials_of_fewer_features_need_no_more_of_the_sums() -> None:
    """A device that sums fewer features tells those alone, and the rest is not looked at."""
    trials = np.zeros((TRIED, GROUPS, FEATURES))
    trials[:, :, :2] = 0.5
    new, losses = samples(1, 6), np.zeros((TRIED + 1, 2))
    fewer = sums(new)
    fewer[size_of(2) :] = np.nan
    judged(trials, losses, SEEN, LARGE, 0, np.zeros(fewer.size), fewer)
    np.testing.assert_allclose(losses[0, TOTAL], SEEN * errors(np.full(2, 0.5), new), rtol=1e-9)


def test_copies_between_which_nothing_can_lie_are_not_judged() -> None:
    """As where a device tells of another sensor than before."""
    trials = np.ones((TRIED, GROUPS, FEATURES))
    many, few = sums(samples(0, 10)), sums(samples(1, 12))
    losses = np.zeros((TRIED + 1, 2))
    judged(trials, losses, SEEN, LARGE, 0, many, few)
    judged(trials, losses, SEEN, LARGE, 0, many, many)
    assert not losses.any()


def test_the_past_foretells_what_came_after_it() -> None:
    """By fits of every size, without anything of the fleet's samples."""
    old, new = samples(0, 40), samples(1, 20)
    losses, sizes = np.zeros((2, TRIED + 1, 2)), np.array([3, FEATURES])
    foretold(losses, sizes, sums(old), sums(new))
    for p, size in enumerate(sizes.tolist()):
        past = sums(old)[: size_of(size)]
        for r in range(TRIED):
            model = fit_of(r, 0.0, np.zeros(past.size), past)
            np.testing.assert_allclose(losses[p, r, TOTAL], 40 * errors(model, new), rtol=1e-9)
        np.testing.assert_allclose(losses[p, -1, TOTAL], 40 * errors(np.ones(1), new), rtol=1e-9)
    assert not losses[..., DOUBT].any()


def test_the_best_is_what_missed_the_smallest_part_of_what_the_first_model_missed() -> None:
    """Sizes were judged on different samples, so that sums of their errors say nothing."""
    losses = np.zeros((3, TRIED + 1, 2))
    assert best(losses) == (0, -1)  # nothing is known
    missed = losses[..., TOTAL]
    missed[:] = 10.0
    assert best(losses) == (0, -1)  # nothing is better than the first model
    missed[0, 4] = 9.0
    assert best(losses) == (0, 4)
    missed[2] = 100.0
    missed[2, 1] = 80.0
    assert best(losses) == (2, 1)
    missed[1] = 0.0  # never judged
    assert best(losses) == (2, 1)
    missed[2, 6] = np.nan
    assert best(losses) == (2, 1)


def test_what_is_not_sure_to_be_better_is_not_used() -> None:
    """A trial that a single device speaks for is no better than the first model."""
    losses = np.zeros((1, TRIED + 1, 2))
    losses[..., TOTAL] = 10.0
    losses[0, 2] = 8.0, 2.0**2  # better by one standard error
    assert best(losses) == (0, -1)
    losses[0, 2, DOUBT] = 1.9**2
    assert best(losses) == (0, 2)
    losses[0, 5] = 9.0, 0.5**2  # worse, and surer
    assert best(losses) == (0, 5)


def test_fits_hold_more_or_less_of_what_was_known_before() -> None:
    new, old = sums(samples(0, 30)), sums(samples(1, 50))
    first, zeros = np.eye(FEATURES)[0], np.zeros(FEATURES)
    afresh = 0
    for r, (ridge, part) in enumerate(zip(RIDGES, PAST, strict=True)):
        both = new + part * old
        without = both.copy()
        leave_first_out(without)
        found = fit_of(r, 0.0, new, old)
        if found[0] == 0.0:
            afresh += 1
            np.testing.assert_allclose(found, fitted(without, ridge, zeros), rtol=1e-9)
            np.testing.assert_allclose(
                fit_of(r, 5.0, new, old), fitted(without, 5.0, zeros), rtol=1e-9
            )
        else:
            np.testing.assert_allclose(found, fitted(both, ridge, first), rtol=1e-9)
            np.testing.assert_allclose(
                fit_of(r, 5.0, new, old), fitted(both, 5.0, first), rtol=1e-9
            )
    assert 0 < afresh < TRIED


def test_a_trial_has_seen_nothing_of_the_group_that_judges_it() -> None:
    groups = [samples(seed, 12) for seed in range(GROUPS)]
    totals = np.array([sums(group) for group in groups])
    recent = np.array([sums(group) for group in reversed(groups)])
    past = sums(samples(9, 30))
    trials = np.full((TRIED, GROUPS, FEATURES), np.nan)
    tried(0.0, trials, totals, recent, past)
    for group in range(GROUPS):
        others = sums(*(drawn for g, drawn in enumerate(groups) if g != group))
        assert others[COUNT] == 12 * (GROUPS - 1)
        np.testing.assert_allclose(total_without(group, totals), others, rtol=1e-9)
        late = total_without(group, recent)
        assert 0 < RECENT < TRIED
        for r in range(TRIED):
            expected = fit_of(r, 0.0, late if r >= RECENT else others, past)
            np.testing.assert_allclose(trials[r, group], expected, rtol=1e-6, atol=1e-9)


def test_a_trial_of_few_features_leaves_the_others_out() -> None:
    few = np.array([sums(samples(seed, 12))[: size_of(2)] for seed in range(GROUPS)])
    trials = np.zeros((TRIED, GROUPS, FEATURES))
    tried(3.0, trials, few, few, np.zeros(size_of(2)))
    assert trials[:, :, :2].any(axis=(1, 2)).all()
    assert not trials[:, :, 2:].any()
