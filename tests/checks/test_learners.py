"""Every promise of a learner can be broken alone."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import NamedTuple

import numpy as np
import pytest

from paofed.checks import check_algorithm, check_one, learners
from paofed.core.arrays import FloatArray
from paofed.core.parts import Learner, Part, Weights, overwrite
from paofed.core.rules import LMS, lms_step
from paofed.errors import ContractError
from tests.checks.breaking import assert_breaks_only, with_part
from tests.effort import some


class Noted(NamedTuple):
    """A model and something noted beside it."""

    w: FloatArray
    note: FloatArray


def begin(features: int) -> Noted:
    return Noted(np.zeros(features), np.zeros(1))


def no_number(state: Weights, z: FloatArray, y: float, mu: float, tick: int) -> Weights:
    return Weights(lms_step(state.w, z, y, mu) * (np.nan if tick == 30 else 1.0))


def uphill(state: Weights, z: FloatArray, y: float, mu: float, _: int) -> Weights:
    return Weights(lms_step(state.w, z, y, -mu))


def half_way(state: Weights, part: Part) -> Weights:
    w = state.w.copy()
    w[part.coordinates] = (w[part.coordinates] + part.values) / 2
    return Weights(w)


def forgetful(state: Noted, part: Part) -> Noted:
    """What was heard is taken over, and so is a coordinate that was not."""
    merged: Noted = overwrite(state, part)
    merged.w[part.coordinates[0] - 1] = 0.5
    return merged


def in_place(state: Weights, z: FloatArray, y: float, mu: float, _: int) -> Weights:
    state.w[:] = lms_step(state.w, z, y, mu)
    return state


def scales_the_sample(state: Weights, z: FloatArray, y: float, mu: float, _: int) -> Weights:
    learned = Weights(lms_step(state.w, z, y, mu))
    z /= np.linalg.norm(z)  # the second time nothing changes any more
    return learned


def merged_in_place(state: Weights, part: Part) -> Weights:
    state.w[part.coordinates] = part.values
    return state


def counting_steps() -> Callable[..., Noted]:
    calls = count()

    def learn(state: Noted, z: FloatArray, y: float, mu: float, _: int) -> Noted:
        return Noted(lms_step(state.w, z, y, mu), np.full(1, float(next(calls))))

    return learn


def counting_merges() -> Callable[..., Noted]:
    calls = count()

    def merge(state: Noted, part: Part) -> Noted:
        merged: Noted = overwrite(state, part)
        return merged._replace(note=np.full(1, float(next(calls))))

    return merge


def noted(state: Noted, z: FloatArray, y: float, mu: float, tick: int) -> Noted:
    return Noted(lms_step(state.w, z, y, mu), np.full(1, float(tick)))


ALONE = "arguments left alone"
OTHERWISE = "merges otherwise than by overwriting what it heard, and nothing else"
BROKEN: list[tuple[str, Learner, str]] = [
    ("stays finite", Learner(learn=no_number), "makes a model that is not finite from one that is"),
    (
        "a step helps",
        Learner(learn=uphill),
        "predicts a sample worse after learning from it (tick 0)",
    ),
    ("merge overwrites", replace(LMS, merge=half_way), OTHERWISE),
    ("merge overwrites", replace(LMS, merge=forgetful), OTHERWISE),
    (ALONE, Learner(learn=in_place), "changes what learn was given: work on a copy"),
    (ALONE, Learner(learn=scales_the_sample), "changes what learn was given: work on a copy"),
    (ALONE, replace(LMS, merge=merged_in_place), "changes what merge was given: work on a copy"),
    (
        "repeats itself",
        Learner(learn=counting_steps(), init=begin),
        "learns something else from the same sample when asked again",
    ),
    (
        "repeats itself",
        Learner(learn=noted, merge=counting_merges(), init=begin),
        "merges the same part otherwise when asked again",
    ),
]


@pytest.mark.parametrize(("promise", "learner", "complaint"), BROKEN)
def test_each_promise_can_be_broken_alone(promise: str, learner: Learner, complaint: str) -> None:
    assert_breaks_only(promise, "learner", learner, complaint)


def test_these_are_all_promises_of_a_learner() -> None:
    served = {"can be served"}  # tests/checks/test_served.py
    assert {promise for promise, _, _ in BROKEN} | served == set(learners.PROMISES)


def decaying(state: Weights, z: FloatArray, y: float, mu: float, tick: int) -> Weights:
    return Weights(lms_step(state.w, z, y, mu / np.sqrt(1 + tick)))


class Inverse(NamedTuple):
    """A model and the inverse of its samples' second moments."""

    w: FloatArray
    P: FloatArray


def least_squares(state: Inverse, z: FloatArray, y: float, _: float, __: int) -> Inverse:
    gain = state.P @ z / (1 + z @ state.P @ z)
    return Inverse(state.w + gain * (y - state.w @ z), state.P - np.outer(gain, z @ state.P))


GOOD = [
    Learner(learn=least_squares, init=lambda f: Inverse(np.zeros(f), np.eye(f))),
    Learner(learn=decaying),
    Learner(learn=noted, init=begin),
]


@pytest.mark.parametrize("learner", some(GOOD, everyday=1))
def test_good_learners_keep_every_promise(learner: Learner) -> None:
    check_algorithm(with_part("learner", learner))


def test_a_waived_promise_does_not_cover_another() -> None:
    both = Learner(learn=uphill, merge=half_way)
    for waived, held in (
        ("a step helps", "merge overwrites"),
        ("merge overwrites", "a step helps"),
    ):
        mine = with_part("learner", both, waived)
        check_one(waived, mine)
        with pytest.raises(ContractError, match=held):
            check_one(held, mine)
