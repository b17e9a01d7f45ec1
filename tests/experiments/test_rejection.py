"""Who is dropped, who wins and what is said of the others: truths about numbers, without runs."""

import math

import numpy as np
import pytest

from paofed.experiments.rejection import (
    ERROR,
    Standing,
    Standings,
    Student,
    at_most,
    settled,
    student_of_race,
    survivors,
    winner_of,
)
from paofed.simulate.results.estimates import student_95
from tests.effort import effort

CANDIDATES, ROUNDS = 5, 4


def standings(
    *scores: float, spread: float = 0.1, payloads: tuple[float, ...] = ()
) -> Standings[str]:
    """Candidates in eight worlds whose values are their scores and noise of their own."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(len(scores), 8))
    noise -= noise.mean(axis=1, keepdims=True)
    sent = payloads or (1.0,) * len(scores)
    return {str(i): Standing(score + spread * noise[i], sent[i]) for i, score in enumerate(scores)}


@pytest.mark.parametrize("freedom", [1, 2, 3, 7, 30, 200])
def test_a_single_two_sided_comparison_has_the_usual_interval(freedom: int) -> None:
    """With half of the error left for each of two comparisons, it is the interval of 95 %."""
    assert student_of_race(3, 1)(freedom) == pytest.approx(student_95(freedom), rel=1e-3)


def one_race(rng: np.random.Generator, means: np.ndarray, student: Student) -> tuple[bool, float]:
    """Whether the best was dropped, and by how much more than is said it beats the winner."""
    left, history, values = [str(i) for i in range(means.size)], [], np.zeros((means.size, 0))
    for number in range(ROUNDS):
        worlds = rng.normal(size=(means.size, 4 << max(0, number - 1))) + rng.normal()
        values = np.concatenate([values, means[:, None] + worlds], axis=1)
        history.append({name: Standing(values[int(name)], 1.0) for name in left})
        left = survivors(history[-1], 0.0, student)
    winner = winner_of({name: history[-1][name] for name in left}, 0.0)
    best = str(int(means.argmin()))
    worse = means[int(winner)] - means.min()
    return best not in left, float(worse - max(0.0, at_most(history, winner, student)))


def test_mistakes_are_as_rare_as_is_said() -> None:
    """In races of equals and near equals; more than 84 of 1,000 have a chance below one in 10^6."""
    rng, student = np.random.default_rng(1), student_of_race(CANDIDATES, ROUNDS)
    races = effort(everyday=200, thorough=1000)
    for means in (np.zeros(CANDIDATES), np.linspace(0.0, 0.4, CANDIDATES)):
        found = [one_race(rng, means, student) for _ in range(races)]
        wrong = sum(dropped or beyond > 0 for dropped, beyond in found)
        most = ERROR * races + 5 * math.sqrt(races * ERROR * (1 - ERROR))
        assert wrong <= most


def test_clear_differences_are_found() -> None:
    student = student_of_race(CANDIDATES, ROUNDS)
    found = [one_race(np.random.default_rng(s), np.arange(5.0) * 6, student) for s in range(20)]
    assert not any(dropped for dropped, _ in found)
    now = standings(0.0, 1.0, 2.0, 0.01)
    assert survivors(now, 0.1, student) == ["0", "3"]


def test_what_differs_together_is_told_apart() -> None:
    """Pairs: a hundredth of the noise that all worlds share is enough."""
    shared = 10 * np.random.default_rng(2).normal(size=8)
    own = 0.01 * np.random.default_rng(3).normal(size=8)
    now = {"best": Standing(shared, 1.0), "worse": Standing(shared + 0.1 + own, 1.0)}
    assert survivors(now, 0.0, student_of_race(2, 4)) == ["best"]


def test_a_cheaper_one_may_be_a_little_worse() -> None:
    student = student_of_race(3, 4)
    now = standings(0.0, 0.06, 0.5, spread=0.001, payloads=(9.0, 3.0, 1.0))
    assert survivors(now, 0.1, student) == ["0", "1"]
    assert winner_of({name: now[name] for name in ("0", "1")}, 0.1) == "1"
    assert winner_of({name: now[name] for name in ("0", "1")}, 0.05) == "0"
    dear = standings(0.0, 0.06, spread=0.001, payloads=(1.0, 3.0))
    assert survivors(dear, 0.1, student) == ["0"]


def test_of_those_who_send_as_much_one_that_keeps_less_may_be_a_little_worse() -> None:
    now = {
        name: one._replace(kept=kept)
        for (name, one), kept in zip(
            standings(0.0, 0.06, 0.08, spread=0.001, payloads=(1.0, 1.0, 3.0)).items(), (9, 4, 1),
            strict=True,
        )
    }  # fmt: skip
    student = student_of_race(3, 4)
    assert survivors(now, 0.1, student) == ["0", "1"]
    assert winner_of(now, 0.1) == "1"
    assert winner_of(now, 0.05) == "0"
    assert not settled([{"0": now["0"], "1": now["1"]}], ["0", "1"], 0.05, student)


def test_of_equals_the_first_wins() -> None:
    same = Standing(np.arange(4.0), 1.0)
    assert winner_of({"usual": same, "other": same}, 0.1) == "usual"
    student = student_of_race(2, 4)
    history = [{"usual": same, "other": same}]
    assert survivors(history[0], 0.0, student) == ["usual", "other"]
    assert at_most(history, "usual", student) == 0.0
    assert settled(history, ["usual", "other"], 0.0, student)


def test_who_diverged_is_dropped_and_no_rival() -> None:
    student = student_of_race(3, 4)
    now = {**standings(0.0, 0.0), "2": Standing(np.full(8, np.inf), 1.0)}
    assert survivors(now, 0.1, student) == ["0", "1"]
    assert survivors({"2": now["2"]}, 0.1, student) == []
    assert math.isfinite(at_most([now], "0", student))
    nobody = {"0": now["0"], "2": now["2"]}
    assert at_most([nobody], "0", student) == -math.inf


def test_a_race_goes_on_while_something_cheaper_may_do() -> None:
    student = student_of_race(2, 4)
    history = [standings(0.0, 0.12, spread=0.1, payloads=(9.0, 3.0))]
    assert winner_of(history[0], 0.1) == "0"
    assert survivors(history[0], 0.1, student) == ["0", "1"]
    assert not settled(history, ["0", "1"], 0.1, student)
    assert settled(history, ["0"], 0.3, student)


def test_nothing_is_said_of_others_after_a_single_unit() -> None:
    student = student_of_race(2, 4)
    one = {"a": Standing(np.zeros(1), 1.0), "b": Standing(np.ones(1), 1.0)}
    assert survivors(one, 0.1, student) == ["a", "b"]
    assert at_most([one], "a", student) == math.inf
