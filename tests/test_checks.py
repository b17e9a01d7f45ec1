"""The contract: kept by the whole registry, and able to fail."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from paofed.algorithms import ALGORITHMS, Algorithm, algorithm, options_of
from paofed.checks import CHECKS, check_algorithm, check_one
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.parts import Channel, Learner, Message, Part, ServerRule, Stamp, Weights
from paofed.core.rules import Newest, aggregate
from paofed.core.staleness import Geometric
from paofed.errors import ContractError


def variants() -> Iterable[Algorithm]:
    for name in ALGORITHMS:
        for subset in (0.3, 2) if "subset" in options_of(name) else (None,):
            row = algorithm(name, subset=subset)
            yield row
            yield algorithm(row, divisor="coverage")
            if row.uplink != row.downlink:
                yield replace(row, exchange="single")
                yield replace(row, exchange="live")


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("row", list(variants()), ids=lambda row: f"{row.name}-{row.exchange}")
def test_the_registry_keeps_the_contract(row: Algorithm, check: str) -> None:
    check_one(check, row)


def test_by_name() -> None:
    check_algorithm("pao-fed-u2")


def test_windows_larger_than_the_usual_model() -> None:
    check_algorithm(algorithm("pao-fed-u1", shared=100))


U1 = algorithm("pao-fed-u1")


def with_rule(rule: Callable[[FloatArray, list[Message], int], FloatArray]) -> Algorithm:
    def apply(state: Weights, messages: Sequence[Message], stamp: Stamp) -> Weights:
        return Weights(rule(state.w.copy(), list(messages), stamp.tick))

    return replace(U1, name="broken", server=ServerRule(apply=apply))


def learning(learn: Callable[..., FloatArray]) -> Algorithm:
    def step(state: Weights, z: FloatArray, y: float, mu: float, _: int) -> Weights:
        return Weights(learn(state.w, z, y, mu))

    return replace(U1, name="broken", learner=Learner(learn=step))


def sending(schedule: Callable[[int, int, int], IntArray]) -> Channel:
    def send(w: FloatArray, memory: Any, stamp: Stamp) -> tuple[Part, Any]:
        coordinates = schedule(stamp.client, stamp.tick, stamp.features)
        return Part(coordinates, w[coordinates]), memory

    return Channel(send=send)


def adds_whole_models(w: FloatArray, messages: list[Message], _: int) -> FloatArray:
    for m in messages:
        w[m.coordinates] += m.values
    return w


def adds_up_weights(w: FloatArray, messages: list[Message], _: int) -> FloatArray:
    w_next = w.copy()
    for m in messages:
        w_next[m.coordinates] += m.values - w[m.coordinates]
    return w_next


def smears(w: FloatArray, messages: list[Message], tick: int) -> FloatArray:
    w_next = aggregate(w, messages, tick, Geometric(1.0))
    return w_next + 0.1 * float((w_next - w).mean())


def last_wins(w: FloatArray, messages: list[Message], _: int) -> FloatArray:
    for m in messages:
        w[m.coordinates] = m.values
    return w


def decays(w: FloatArray, messages: list[Message], tick: int) -> FloatArray:
    return aggregate(w * 0.999, messages, tick, Geometric(1.0))


def repeated(_: int, tick: int, features: int) -> IntArray:
    return np.array([tick % features, tick % features])


def forgetful() -> Callable[[FloatArray, FloatArray, float, float], FloatArray]:
    calls = [0]

    def learn(w: FloatArray, z: FloatArray, y: float, mu: float) -> FloatArray:
        calls[0] += 1
        return w + mu / calls[0] * (y - w @ z) * z

    return learn


def learns_in_place(w: FloatArray, z: FloatArray, y: float, mu: float) -> FloatArray:
    w += mu * (y - w @ z) * z
    return w


def learns_nothing_finite(w: FloatArray, z: FloatArray, y: float, mu: float) -> FloatArray:
    return w * np.nan + z * y * mu


_asked: dict[tuple[int, int], int] = {}


def _growing(client: int, tick: int, _: int) -> IntArray:
    """Windows that grow each time they are asked for: nobody can count what was sent."""
    _asked[client, tick] = _asked.get((client, tick), 0) + 1
    return np.arange(min(_asked[client, tick], 40))


@pytest.mark.parametrize(
    ("check", "broken"),
    [
        ("fixed point", with_rule(adds_whole_models)),
        ("convex hull", with_rule(adds_up_weights)),
        ("untouched coordinates", with_rule(smears)),
        ("order independence", with_rule(last_wins)),
        ("nothing in, nothing out", with_rule(decays)),
        ("coordinates are coordinates", replace(U1, downlink=sending(repeated))),
        ("weights are weights", replace(U1, server=Newest(lambda age: 1.0 + age))),
        ("engines agree", learning(forgetful())),
        ("traffic counted", replace(U1, uplink=sending(_growing))),
        ("stays finite", learning(learns_nothing_finite)),
    ],
)
def test_each_check_can_fail(check: str, broken: Algorithm) -> None:
    with pytest.raises(ContractError, match=f"fails the check '{check}'"):
        check_one(check, broken)
    with pytest.raises(ContractError):
        check_algorithm(broken)


def test_an_unknown_check() -> None:
    with pytest.raises(ContractError, match="unknown promise 'vibes'"):
        check_one("vibes", "pao-fed-u1")


def applies_in_place(state: Weights, messages: Sequence[Message], _: Stamp) -> Weights:
    for m in messages:
        state.w[m.coordinates] = m.values
    return state


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (learning(learns_in_place), "its learner changes what learn was given"),
        (replace(U1, server=ServerRule(apply=applies_in_place)), "changes what apply was given"),
    ],
)
def test_arguments_are_left_alone(broken: Algorithm, complaint: str) -> None:
    with pytest.raises(ContractError, match=complaint):
        check_one("arguments left alone", broken)


def test_what_an_algorithm_raises_is_told_with_the_check() -> None:
    broken = replace(U1, uplink=Channel(send=lambda *_: 1 / 0))  # type: ignore[arg-type]
    words = "its uplink's send raised ZeroDivisionError: division by zero"
    with pytest.raises(ContractError, match=f"'coordinates are coordinates': {words}"):
        check_algorithm(broken)
