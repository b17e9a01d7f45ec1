"""What begins with a model holds it; what cannot is refused."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from paofed.core.arrays import FloatArray
from paofed.core.bounded import Bounded
from paofed.core.parts import Learner, Part, ServerRule, Weights, placed
from paofed.core.rules import LMS, Newest
from paofed.core.staleness import Geometric
from paofed.core.starting import device_from, server_from
from paofed.errors import AlgorithmError

START = np.array([0.5, -1.0, 2.0])
RULES = [Newest(Geometric(1.0)), Bounded(Geometric(1.0), clip=6.0)]


class Sum(NamedTuple):
    """A model that is the sum of two parts."""

    one: FloatArray
    other: FloatArray


def begin_sum(features: int, clients: int = 0) -> Sum:
    return Sum(np.zeros(features), np.full(features, float(clients)))


def model_of_sum(state: Sum) -> FloatArray:
    return state.one + state.other


def nothing(state: Any, *_: Any) -> Any:
    return state


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_a_server_begins_with_a_model_and_with_nothing_else_changed(rule: Any) -> None:
    state, usual = server_from("mine", rule, 4, START), rule.init(3, 4)
    np.testing.assert_array_equal(rule.model(state), START)
    for field, here, there in zip(usual._fields, usual, state, strict=True):
        if field != "w":
            np.testing.assert_array_equal(there, here)


def test_a_device_may_hold_a_model_in_parts() -> None:
    def merge(state: Sum, part: Part) -> Sum:
        heard = Part(part.coordinates, part.values - state.other[part.coordinates])
        return state._replace(one=placed(state.one, heard))

    learner = Learner(learn=nothing, init=begin_sum, model=model_of_sum, merge=merge)
    np.testing.assert_allclose(learner.model(device_from("mine", learner, START)), START)


def test_zeros_are_what_everything_begins_with() -> None:
    """Also what could not begin with anything else."""
    rule = ServerRule(apply=nothing, init=begin_sum, model=model_of_sum)
    assert isinstance(server_from("mine", rule, 2, np.zeros(3)), Sum)
    deaf = replace(LMS, merge=nothing)
    assert isinstance(device_from("mine", deaf, np.zeros(3)), Weights)


def test_a_learner_that_does_not_take_a_model_over_is_refused() -> None:
    with pytest.raises(AlgorithmError, match=r"^mine: its learner cannot begin with a model"):
        device_from("mine", replace(LMS, merge=nothing), START)


@pytest.mark.parametrize(
    "rule",
    [
        ServerRule(apply=nothing, init=begin_sum, model=model_of_sum),
        ServerRule(apply=nothing, model=lambda state: 2 * state.w),
    ],
    ids=["no field w", "another model"],
)
def test_a_server_that_does_not_hold_a_model_is_refused(rule: ServerRule) -> None:
    with pytest.raises(AlgorithmError, match=r"^mine: its server cannot begin with a mod"):
        server_from("mine", rule, 1, START)
