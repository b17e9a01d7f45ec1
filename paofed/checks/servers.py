"""What a server rule promises."""

from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import Any

import numpy as np

from paofed.checks.cases import CLIENTS, arrivals, copied, leaves_alone, repeats, same
from paofed.core.arrays import FloatArray
from paofed.core.bounded import Bounded
from paofed.core.parts import Message, Stamp
from paofed.core.rules import Newest


def _met(rule: Any, features: int, heard: int) -> Iterator[tuple[Any, list[Message], Stamp]]:
    """Yield states of a server that has heard something, and the messages that arrive next."""
    state = rule.init(features, CLIENTS)
    for messages, stamp in arrivals(features, heard):
        yield state, messages, stamp
        state = _applied(rule, state, messages, stamp)


def _applied(rule: Any, state: Any, messages: list[Message], stamp: Stamp) -> Any:
    """Return the state after these messages; the rule is given a copy of the state before."""
    return rule.apply(copied(state), list(messages), stamp)


def _moved(rule: Any, state: Any, messages: list[Message], stamp: Stamp) -> FloatArray:
    """Return the model after these messages."""
    w: FloatArray = rule.model(_applied(rule, state, messages, stamp))
    return w


def _fixed_point(rule: Any, features: int, heard: int) -> str | None:
    for state, messages, stamp in _met(rule, features, heard):
        w = rule.model(state)
        agreeing = [m._replace(values=w[m.coordinates]) for m in messages]
        if not np.array_equal(w, _moved(rule, state, agreeing, stamp)):
            return "moves its model, although all models are equal"
    return None


def _convex_hull(rule: Any, features: int, heard: int) -> str | None:
    for state, messages, stamp in _met(rule, features, heard):
        w = rule.model(state)
        low, high = w.copy(), w.copy()
        for m in messages:
            np.minimum.at(low, m.coordinates, m.values)
            np.maximum.at(high, m.coordinates, m.values)
        rounding = 1e-12 * (np.abs(low) + np.abs(high))
        moved = _moved(rule, state, messages, stamp)
        if ((moved < low - rounding) | (moved > high + rounding)).any():
            return "leaves the interval between the old value and those received"
    return None


def _untouched(rule: Any, features: int, heard: int) -> str | None:
    for state, messages, stamp in _met(rule, features, heard):
        few = messages[:2]
        touched = np.zeros(features, dtype=bool)
        for m in few:
            touched[m.coordinates] = True
        before, after = rule.model(state), _moved(rule, state, few, stamp)
        if not np.array_equal(before[~touched], after[~touched]):
            return "changes a coordinate that no message holds"
    return None


def _order_independence(rule: Any, features: int, heard: int) -> str | None:
    """Compare within rounding: the last bits of a sum may depend on the order."""
    for state, messages, stamp in _met(rule, features, heard):
        first = _applied(rule, state, messages, stamp)
        for order in permutations(messages[:4]):
            other = _applied(rule, state, [*order, *messages[4:]], stamp)
            if not all(map(_nearly, first, other)):
                return "gives another result for another order of arrival"
    return None


def _nearly(one: FloatArray, other: FloatArray) -> bool:
    return np.allclose(one, other, rtol=1e-12, atol=1e-12, equal_nan=True)


def _nothing_in(rule: Any, features: int, heard: int) -> str | None:
    for state, _, stamp in _met(rule, features, heard):
        if not np.array_equal(rule.model(state), _moved(rule, state, [], stamp)):
            return "moves its model, although no message arrived"
    return None


def _left_alone(rule: Any, features: int, heard: int) -> str | None:
    for state, messages, stamp in _met(rule, features, heard):
        if not leaves_alone(rule.apply, state, messages, stamp):
            return "changes what apply was given: work on a copy"
    return None


def _repeats_itself(rule: Any, features: int, heard: int) -> str | None:
    for state, messages, stamp in _met(rule, features, heard):
        if not repeats(rule.apply, state, messages, stamp):
            return "does something else with the same messages when asked again"
    return None


def _served(rule: Any, features: int, heard: int) -> str | None:
    if not rule.served:
        return None
    joining = rule.init(features, 0)
    for state, messages, stamp in _met(rule, features, heard):
        if not same(rule.model(joining), rule.model(state)):
            return "says that it is served, but begins otherwise for another number of clients"
        joining = rule.apply(joining, messages, stamp)
        if not same(state, rule.apply(state, [], stamp)):
            return "says that it is served, but does not rest when no message arrives"
    return None


def _weights(
    rule: Any,
    features: int,  # noqa: ARG001 (the interface of a check)
    heard: int,  # noqa: ARG001 (likewise)
) -> str | None:
    if isinstance(rule, Newest | Bounded):
        for age in range(200):
            # Calling is the check: the guard around one's own function refuses a wrong weight.
            rule.staleness(age)
    return None


PROMISES: Mapping[str, Any] = {
    "weights are weights": _weights,
    "fixed point": _fixed_point,
    "convex hull": _convex_hull,
    "untouched coordinates": _untouched,
    "order independence": _order_independence,
    "nothing in, nothing out": _nothing_in,
    "arguments left alone": _left_alone,
    "repeats itself": _repeats_itself,
    "can be served": _served,
}
