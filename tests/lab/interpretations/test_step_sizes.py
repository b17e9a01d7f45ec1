"""StepChoice are chosen so that methods start alike, or each at its best, from what trials say."""

from collections.abc import Sequence

import numpy as np
import pytest

from lab.interpretations.step_sizes import StepChoice, error_db, matched
from paofed.algorithms import Algorithm
from paofed.algorithms.setup import resolve
from paofed.core.metrics import decibels
from paofed.experiments.paper.stages import stretched
from paofed.simulate.results.result import Result
from paofed.world.scenario import Scenario
from tests.experiments.paper.test_claims import from_db, made_up

GRID = tuple(float(step) for step in np.geomspace(0.05, 1.6, 11))
SPEEDS = {"pao-fed-u1": 1.0, "online-fedsgd": 3.0, "pao-fed-c2": 0.5, "pao-fed-u0": 0.01}
METHODS = [resolve(name) for name in SPEEDS]


class Trials:
    """Runs in which the error in dB falls by 10 for a step ten times as large, then rises."""

    def __init__(self, best: float = np.inf) -> None:
        self.best = best
        self.asked: list[Scenario] = []

    def __call__(self, scenario: Scenario, methods: Sequence[Algorithm]) -> Result:
        self.asked.append(scenario)
        curves = {}
        for method in methods:
            strength = scenario.step_size * SPEEDS[method.name]
            db = -float(decibels(strength)) if strength < self.best else 100.0
            curves[method.name] = from_db(np.full((3, 20), db))
        return made_up(curves)


def chosen(steps: StepChoice, trials: Trials) -> dict[str, float]:
    scenario = Scenario.load("setting-1")
    found = steps.choose(scenario, METHODS, GRID, 200, trials)
    assert [method.name for method in found] == list(SPEEDS)
    return {method.name: method.step_size or 0.0 for method in found}


def test_all_start_as_one_of_them_does() -> None:
    """The error goes by step times speed, so that equal starts have equal products."""
    found = chosen(StepChoice("pao-fed-u1"), Trials())
    assert found["pao-fed-u1"] == 0.4
    for name in ("online-fedsgd", "pao-fed-c2"):
        assert found[name] * SPEEDS[name] == pytest.approx(0.4)


def test_they_may_all_start_at_a_slower_pace() -> None:
    found = chosen(StepChoice("pao-fed-u1", 0.25), Trials())
    assert found["pao-fed-u1"] == 0.1
    assert found["pao-fed-c2"] == pytest.approx(0.2)


def test_who_cannot_start_so_fast_comes_as_near_as_it_can() -> None:
    assert chosen(StepChoice("pao-fed-u1"), Trials())["pao-fed-u0"] == GRID[-1]


def test_the_start_is_tried_at_the_same_rates_and_at_no_more_ticks() -> None:
    trials = Trials()
    chosen(StepChoice("online-fedsgd"), trials)
    assert {scenario.ticks for scenario in trials.asked} == {200}
    assert {scenario.synthetic.samples for scenario in trials.asked} == {(50, 100, 150, 200)}
    assert [scenario.step_size for scenario in trials.asked] == [*GRID, 0.4]


def test_the_best_step_is_that_of_the_least_final_error() -> None:
    trials = Trials(best=1.0)  # beyond, steps blow up
    found = chosen(StepChoice(), trials)
    for name, step in found.items():
        below = [tried for tried in GRID if tried * SPEEDS[name] < 1.0]
        assert step == below[-1]
    assert {scenario.ticks for scenario in trials.asked} == {2000}


@pytest.mark.parametrize("level", [0.5, 1.0, 1.7, 3.9, 4.0])
def test_between_two_steps_the_logarithm_is_interpolated(level: float) -> None:
    grid = (0.1, 0.2, 0.4, 0.8, 1.6)
    errors = np.array([4.0, 3.0, 2.0, 1.0, 0.0])
    assert matched(grid, errors, level) == pytest.approx(0.1 * 2 ** (4.0 - level))


def test_the_first_step_at_the_level_is_taken_though_others_are_there_too() -> None:
    assert matched((0.1, 0.2, 0.4), np.array([2.0, 0.0, 2.0]), 1.0) == pytest.approx(0.1 * 2**0.5)
    assert matched((0.1, 0.2, 0.4), np.array([0.5, 0.0, 2.0]), 1.0) == 0.1
    assert matched((0.1, 0.2, 0.4), np.array([np.inf, 5.0, 3.0]), 1.0) == 0.4


def test_a_run_that_diverged_is_the_worst() -> None:
    curves = {"a": [[1.0, np.inf]], "b": [[1.0, np.nan]], "c": [[1.0, 100.0]]}
    result = made_up(curves)
    assert [error_db(result, name, "start") for name in "abc"] == [np.inf, np.inf, 10.0]
    assert [error_db(result, name, "end") for name in "abc"] == [np.inf, np.inf, 20.0]


@pytest.mark.parametrize("ticks", [100, 200, 50_000])
def test_other_ticks_at_the_same_rates(ticks: int) -> None:
    scenario = Scenario.load("setting-2")
    other = stretched(scenario, ticks)
    assert other.ticks == ticks
    for here, there in zip(scenario.synthetic.samples, other.synthetic.samples, strict=True):
        assert there / ticks == pytest.approx(here / scenario.ticks)
    Scenario.model_validate(other.model_dump())
