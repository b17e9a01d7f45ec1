"""What a whole method promises, in every engine: each promise can be broken."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from paofed.algorithms import Algorithm
from paofed.checks import check_algorithm, check_one, methods
from paofed.core.arrays import FloatArray
from paofed.core.parts import Learner, ServerRule, Weights
from paofed.core.rules import Newest, lms_step
from paofed.core.staleness import Geometric
from paofed.core.traffic import Traffic
from paofed.errors import ContractError
from paofed.simulate.engines import Engine, engine_of
from paofed.simulate.results.outcome import Outcome
from paofed.world.trace import Trace
from tests.checks.breaking import U1, broken_promises, with_part
from tests.effort import some


def test_a_model_from_nowhere() -> None:
    """A server rule keeps its own promise of this name, and yet a fleet of nobody has a model."""
    rule = ServerRule(
        apply=Newest(Geometric(1.0)).apply, init=lambda f, _: Weights(np.full(f, 0.5))
    )
    told = broken_promises(with_part("server", rule))
    words = "nobody was ever available, and yet something was learned or sent"
    assert told == {
        "nothing in, nothing out": f"mine fails the check 'nothing in, nothing out': {words}"
    }
    check_algorithm(with_part("server", rule, "nothing in, nothing out"))


def tiring() -> Callable[..., Weights]:
    """Steps that shrink from run to run: the counter is in a closure, not in a state."""
    calls = count()

    def learn(state: Weights, z: FloatArray, y: float, mu: float, _: int) -> Weights:
        return Weights(lms_step(state.w, z, y, mu / (1 + next(calls) // 100)))

    return learn


def test_hidden_state_shows_when_an_engine_runs_twice() -> None:
    with pytest.raises(
        ContractError, match=r"'engines agree': the \w+ engine leaves the reference"
    ):
        check_one("engines agree", with_part("learner", Learner(learn=tiring())))


def wrong(change: Callable[[Outcome], Outcome]) -> Callable[[str], Engine]:
    """An engine's door where the usual engine does something else with what the right one finds."""

    def opened(name: str) -> Engine:
        right = engine_of(name)
        if name != "fast":
            return right

        def replay(trace: Trace, method: str | Algorithm, **options: float) -> Outcome:
            return change(right.replay(trace, method, **options))  # type: ignore[arg-type]

        return replace(right, replay=replay)

    return opened


def with_added(name: str, index: tuple[int, ...], by: float) -> Callable[[Outcome], Outcome]:
    def change(outcome: Outcome) -> Outcome:
        array = getattr(outcome, name).copy()
        array[index] += by
        return replace(outcome, **{name: array})

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (with_added("mse", (17,), 1e-6), "the fast engine leaves the reference at tick 17"),
        (
            with_added("server_model", (3,), 1e-6),
            "the fast engine ends in another model than the reference",
        ),
        (
            with_added("traffic", (2, 17), 1),
            "the fast engine counts other traffic than the reference",
        ),
    ],
)
def test_an_engine_that_errs_is_caught(
    change: Callable[[Outcome], Outcome], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(methods, "engine_of", wrong(change))
    with pytest.raises(ContractError, match=f"^pao-fed-u1 fails .* 'engines agree': {words}$"):
        check_one("engines agree", U1)


@pytest.mark.parametrize("which", some(range(7), everyday=1))
def test_an_engine_that_counts_wrongly_is_caught(
    which: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(methods, "engine_of", wrong(with_added("traffic", (which, -1), 1)))
    told = broken_promises(U1)
    assert set(told) == {"traffic counted", "engines agree"}
    what = Traffic._fields[which].replace("_", " ")
    assert re.search(rf"the fast engine counts \d+ {what}: expected \d+$", told["traffic counted"])
