"""The contract: kept by the whole registry, and able to fail."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest

from paofed.algorithms import ALGORITHMS, Algorithm, algorithm, options_of
from paofed.checks import CHECKS, check_algorithm, check_one
from paofed.core.arrays import FloatArray, IntArray
from paofed.core.rules import Divisor, Message, aggregate
from paofed.core.staleness import Staleness
from paofed.errors import ContractError


def variants() -> Iterable[Algorithm]:
    for name in ALGORITHMS:
        for subset in (0.3, 2) if "subset" in options_of(name) else (None,):
            row = algorithm(name, subset=subset)
            yield row
            yield replace(row, divisor="coverage")
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
    def broken(
        w: FloatArray, messages: Iterable[Message], tick: int, _: Staleness, __: Divisor
    ) -> FloatArray:
        return rule(w, list(messages), tick)

    return replace(U1, name="broken", aggregate=broken)


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
    w_next = aggregate(w, messages, tick, U1.staleness)
    return w_next + 0.1 * float((w_next - w).mean())


def last_wins(w: FloatArray, messages: list[Message], _: int) -> FloatArray:
    for m in messages:
        w[m.coordinates] = m.values
    return w


def decays(w: FloatArray, messages: list[Message], tick: int) -> FloatArray:
    return aggregate(w * 0.999, messages, tick, U1.staleness)


def repeated(_: int, tick: int, features: int) -> IntArray:
    return np.array([tick % features, tick % features])


def forgetful() -> Callable[[FloatArray, FloatArray, float, float], FloatArray]:
    calls = [0]

    def learn(w: FloatArray, z: FloatArray, y: float, mu: float) -> FloatArray:
        calls[0] += 1
        return w + mu / calls[0] * (y - w @ z) * z

    return learn


@pytest.mark.parametrize(
    ("check", "broken"),
    [
        ("fixed point", with_rule(adds_whole_models)),
        ("convex hull", with_rule(adds_up_weights)),
        ("untouched coordinates", with_rule(smears)),
        ("order independence", with_rule(last_wins)),
        ("nothing in, nothing out", with_rule(decays)),
        ("windows are windows", replace(U1, downlink=repeated)),
        ("weights are weights", replace(U1, staleness=lambda age: 1.0 + age)),
        ("engines agree", replace(U1, learn=forgetful())),
        ("coordinates counted", replace(U1, uplink=lambda k, n, d: _growing(k, n, d))),
    ],
)
def test_each_check_can_fail(check: str, broken: Algorithm) -> None:
    with pytest.raises(ContractError, match=f"fails the check '{check}'"):
        check_one(check, broken)
    with pytest.raises(ContractError):
        check_algorithm(broken)


_asked: dict[tuple[int, int], int] = {}


def _growing(client: int, tick: int, _: int) -> IntArray:
    """Windows that grow each time they are asked for: nobody can count what was sent."""
    _asked[client, tick] = _asked.get((client, tick), 0) + 1
    return np.arange(min(_asked[client, tick], 40))


def test_an_unknown_check() -> None:
    with pytest.raises(KeyError):
        check_one("vibes", "pao-fed-u1")


def learns_in_place(w: FloatArray, z: FloatArray, y: float, mu: float) -> FloatArray:
    w += mu * (y - w @ z) * z
    return w


def learns_nothing_finite(w: FloatArray, z: FloatArray, y: float, mu: float) -> FloatArray:
    return w * np.nan + z * y * mu


def aggregates_in_place(w: FloatArray, messages: list[Message], _: int) -> FloatArray:
    for m in messages:
        w[m.coordinates] = m.values
    return w


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (replace(U1, learn=learns_in_place), "learn changes what it was given"),
        (replace(U1, learn=learns_nothing_finite), "not finite from one that is"),
        (with_rule(aggregates_in_place), "aggregate changes what it was given"),
    ],
)
def test_arguments_are_left_alone(broken: Algorithm, complaint: str) -> None:
    with pytest.raises(ContractError, match=complaint):
        check_one("arguments left alone", broken)


def test_what_an_algorithm_raises_is_told_with_the_check() -> None:
    broken = replace(U1, uplink=lambda *_: [0, 1])  # type: ignore[arg-type]
    with pytest.raises(ContractError, match="'windows are windows': it raised TypeError"):
        check_algorithm(broken)
