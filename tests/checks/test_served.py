"""What says that it is served in a live fleet can be."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from paofed.algorithms import algorithm
from paofed.checks import check_one
from paofed.core.arrays import FloatArray
from paofed.core.parts import Learner, Message, ServerRule, Stamp, Weights
from paofed.errors import ContractError

U1 = algorithm("pao-fed-u1")


def by_client(features: int, clients: int) -> Weights:
    return Weights(np.full(features, float(clients)))


def ages(state: Weights, _: Sequence[Message], __: Stamp) -> Weights:
    return Weights(state.w + 1)


class Pair(NamedTuple):
    model: FloatArray
    more: FloatArray


def steps_by_tick(state: Weights, z: FloatArray, y: float, mu: float, tick: int) -> Weights:
    return Weights(state.w + mu / (1 + tick) * (y - state.w @ z) * z)


def pair(features: int) -> Pair:
    return Pair(np.zeros(features), np.zeros(1))


def of_pair(state: Pair) -> FloatArray:
    return state.model


SERVER = ServerRule(apply=lambda state, *_: state, served=True)
LEARNER = Learner(learn=lambda state, *_: state, served=True)


@pytest.mark.parametrize(
    ("part", "record", "complaint"),
    [
        ("server", replace(SERVER, init=by_client), "begins otherwise for another number"),
        ("server", replace(SERVER, apply=ages), "does not rest when no message arrives"),
        ("learner", replace(LEARNER, init=pair, model=of_pair), "keeps no model as the field w"),
        ("learner", replace(LEARNER, model=lambda s: 2 * s.w + 1), "keeps no model as the field w"),
        ("learner", replace(LEARNER, learn=steps_by_tick), "its step depends on the tick"),
    ],
)
def test_what_says_that_it_is_served_can_be(part: str, record: Any, complaint: str) -> None:
    with pytest.raises(
        ContractError, match=f"its {part} says that it is served, but .*{complaint}"
    ):
        check_one("can be served", replace(U1, **{part: record}))
    check_one("can be served", replace(U1, **{part: replace(record, served=False)}))
