"""Every promise of a server rule can be broken alone."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
import pytest

from paofed.checks import check_algorithm, check_one, servers
from paofed.core.arrays import FloatArray
from paofed.core.parts import Message, ServerRule, Stamp, Weights
from paofed.core.rules import Newest, aggregate
from paofed.core.staleness import Geometric
from paofed.errors import ContractError
from tests.checks.breaking import assert_breaks_only, broken_promises, with_part


def newest(w: FloatArray, messages: Sequence[Message], stamp: Stamp) -> FloatArray:
    return aggregate(w, messages, stamp.tick, Geometric(1.0))


Rule = Callable[[FloatArray, Sequence[Message], Stamp], FloatArray]


def rule_of(moved: Rule) -> ServerRule:
    """A rule that keeps a model and nothing else."""
    return ServerRule(apply=lambda state, messages, stamp: Weights(moved(state.w, messages, stamp)))


def weighted_sum(w: FloatArray, messages: Sequence[Message], stamp: Stamp) -> FloatArray:
    """Where the two are equal, this is w but for its last bits."""
    moved, mixed = newest(w, messages, stamp), w.copy()
    for message in messages:
        mixed[message.coordinates] = (0.3 * moved + 0.7 * w)[message.coordinates]
    return mixed


def overshoots(w: FloatArray, messages: Sequence[Message], stamp: Stamp) -> FloatArray:
    return w + 1.5 * (newest(w, messages, stamp) - w)


def rescales(w: FloatArray, messages: Sequence[Message], stamp: Stamp) -> FloatArray:
    """Whatever moved, all coordinates change in their last digits."""
    moved = newest(w, messages, stamp)
    return moved * (1 + 1e-14) if (moved != w).any() else moved


def last_wins(w: FloatArray, messages: Sequence[Message], _: Stamp) -> FloatArray:
    w = w.copy()
    for message in messages:
        w[message.coordinates] = message.values
    return w


def added_in_turn(w: FloatArray, messages: Sequence[Message], _: Stamp) -> FloatArray:
    """Only the last bits of a sum depend on the order of arrival: messages come sorted."""
    moved = w.copy()
    for message in messages:
        moved[message.coordinates] += 0.05 * (message.values - w[message.coordinates])
    return moved


def decays(w: FloatArray, messages: Sequence[Message], stamp: Stamp) -> FloatArray:
    return newest(w, messages, stamp) if messages else 0.999 * w


def in_place(state: Weights, messages: Sequence[Message], stamp: Stamp) -> Weights:
    state.w[:] = newest(state.w, messages, stamp)
    return state


def takes_them_away(state: Weights, messages: list[Message], stamp: Stamp) -> Weights:
    moved = Weights(newest(state.w, messages, stamp))
    messages.clear()
    return moved


class Counted(NamedTuple):
    """A model and a number."""

    w: FloatArray
    calls: FloatArray


def counting() -> Callable[..., Counted]:
    calls = count()

    def apply(state: Counted, messages: Sequence[Message], stamp: Stamp) -> Counted:
        return Counted(newest(state.w, messages, stamp), np.full(1, float(next(calls))))

    return apply


def begin(features: int, _: int) -> Counted:
    return Counted(np.zeros(features), np.zeros(1))


ALONE = "arguments left alone"
BROKEN: list[tuple[str, ServerRule, str]] = [
    ("fixed point", rule_of(weighted_sum), "moves its model, although all models are equal"),
    (
        "convex hull",
        rule_of(overshoots),
        "leaves the interval between the old value and those received",
    ),
    ("untouched coordinates", rule_of(rescales), "changes a coordinate that no message holds"),
    (
        "order independence",
        rule_of(last_wins),
        "gives another result for another order of arrival",
    ),
    (
        "nothing in, nothing out",
        rule_of(decays),
        "moves its model, although no message arrived",
    ),
    (ALONE, ServerRule(apply=in_place), "changes what apply was given: work on a copy"),
    (ALONE, ServerRule(apply=takes_them_away), "changes what apply was given: work on a copy"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("promise", "rule", "complaint"), BROKEN)
def test_each_promise_can_be_broken_alone(promise: str, rule: ServerRule, complaint: str) -> None:
    assert_breaks_only(promise, "server", rule, complaint)


def test_a_rule_that_does_not_repeat_itself_breaks_two_promises() -> None:
    rule = ServerRule(apply=counting(), init=begin)
    broken = broken_promises(with_part("server", rule))
    assert set(broken) == {"repeats itself", "order independence"}
    words = "its server does something else with the same messages when asked again"
    assert broken["repeats itself"].endswith(words)
    check_algorithm(with_part("server", rule, *broken))


def test_these_are_all_promises_of_a_server_rule() -> None:
    tried = {promise for promise, _, _ in BROKEN} | {
        "weights are weights",
        "repeats itself",
        "can be served",  # tests/checks/test_served.py
    }
    assert tried == set(servers.PROMISES)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (lambda age: 1.0 if age < 150 else 1.5, "of age 150 returned 1.5: expected a weight"),
        (lambda age: 1 / (150 - age), "of age 150 raised ZeroDivisionError: division by zero"),
    ],
)
def test_weights_that_no_run_meets_are_looked_at_too(
    weight: Callable[[int], float], words: str
) -> None:
    mine = with_part("server", Newest(weight))
    with pytest.raises(
        ContractError, match=rf"'weights are weights': its server's staleness {words}"
    ):
        check_one("weights are weights", mine)


def test_a_weight_that_is_none_is_told_as_the_promise_that_it_breaks() -> None:
    """Other checks meet such a weight, too: none of them is named."""
    words = "mine fails the check 'weights are weights': its server's staleness of age 0 returned"
    with pytest.raises(ContractError, match=words):
        check_algorithm(with_part("server", Newest(lambda _: 1.5)))


class Buffer(NamedTuple):
    """A model, and the sum and the number of messages that wait."""

    w: FloatArray
    change: FloatArray
    waiting: FloatArray


def buffered(state: Buffer, messages: Sequence[Message], _: Stamp) -> Buffer:
    """Move after at least three messages."""
    change = state.change.copy()
    for message in messages:
        change[message.coordinates] += message.values - state.w[message.coordinates]
    waiting = state.waiting + len(messages)
    if waiting[0] < 3:
        return Buffer(state.w, change, waiting)
    return Buffer(state.w + change / waiting[0], np.zeros_like(change), np.zeros(1))


def test_the_last_bits_of_a_sum_are_not_held_against_it() -> None:
    check_algorithm(with_part("server", rule_of(added_in_turn)))


def test_a_buffered_server_waives_what_it_must_and_is_held_to_the_rest() -> None:
    rule = ServerRule(
        apply=buffered, init=lambda f, _: Buffer(np.zeros(f), np.zeros(f), np.zeros(1))
    )
    broken = set(broken_promises(with_part("server", rule)))
    assert broken == {"fixed point", "convex hull", "untouched coordinates"}
    for waived in broken:
        check_one(waived, with_part("server", rule, waived))
        for held in broken - {waived}:
            with pytest.raises(ContractError, match=held):
                check_one(held, with_part("server", rule, waived))
    check_algorithm(with_part("server", rule, *broken))
