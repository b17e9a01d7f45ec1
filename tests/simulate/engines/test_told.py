"""What a method's sides tell other than their models is heard in full."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from paofed.algorithms import Algorithm, algorithm
from paofed.core.arrays import FloatArray
from paofed.core.parts import Learner, Message, Part, ServerRule, Stamp, Weights, placed
from paofed.simulate.engines import engine_of
from tests.natures import small_trace


class Echo(NamedTuple):
    """What a device heard last; it has nothing to say of its own."""

    w: FloatArray
    heard: FloatArray


def begin(features: int) -> Echo:
    return Echo(np.zeros(features), np.zeros(features))


def learn(state: Echo, z: FloatArray, y: float, mu: float, tick: int) -> Echo:  # noqa: ARG001
    return state._replace(w=state.w.copy())


def hear(state: Echo, part: Part) -> Echo:
    return state._replace(heard=placed(state.heard, part))


def heard(state: Echo) -> FloatArray:
    return state.heard


def apply(state: Weights, messages: Sequence[Message], stamp: Stamp) -> Weights:  # noqa: ARG001
    w = state.w.copy()
    for message in messages:
        for i, c in enumerate(message.coordinates):
            w[c] = message.values[i]
    return state._replace(w=w)


def one_more(state: Weights) -> FloatArray:
    return state.w + 1.0


def counting() -> Algorithm:
    """A method whose server counts, for each number that is told, how often it went round."""
    return replace(
        algorithm("pao-fed-u1", shared=3),
        name="counting",
        learner=Learner(learn=learn, init=begin, merge=hear, tells=heard),
        server=ServerRule(apply=apply, tells=one_more),
    )


@pytest.mark.parametrize("engine", ["reference", "fast"])
def test_numbers_that_are_no_model_have_no_linear_terms_of_a_device_s_own(engine: str) -> None:
    """Also where they are as many as the model's."""
    trace = small_trace(9, linear=True, personal=True)
    linear = slice(trace.sparse().heard, trace.features)
    found = engine_of(engine).replay(trace, counting()).server_model
    assert len(found[linear]) == 3
    assert (found[linear] > 0).all()
