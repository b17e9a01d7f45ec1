"""Devices that learn as those of an algorithm do and never have a contact."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from paofed.algorithms import algorithm
from paofed.core.rules import LMS
from paofed.simulate.engines.reference import ticks
from paofed.simulate.montecarlo import run
from paofed.simulate.results.lives import Lives
from paofed.simulate.results.result import Result
from paofed.simulate.results.table_result import TableResult
from paofed.simulate.table.baselines import USUAL
from paofed.simulate.table.learners_alone import kind_of, learners_apart, without_contacts
from paofed.world.realize_samples import realize_samples
from paofed.world.scenario import Scenario
from tests.world.table.tables import fleet, hourly, table, with_gaps, write

TWO_SPEED = "pao-fed-u1:learner=two-speed,step_size=0.1"


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    return fleet(table(write(tmp_path_factory.mktemp("table") / "t.csv", with_gaps(hourly(4, 60)))))


def lives(result: Result) -> Lives:
    return TableResult.of(result).lives


def names(scenario: Scenario, *methods: Any, baselines: Any = USUAL) -> list[str]:
    found = learners_apart([algorithm(m) if isinstance(m, str) else m for m in methods],
                           scenario, baselines)  # fmt: skip
    return [method.name for method in found]


def test_every_way_of_learning_that_no_baseline_has_is_there_once(scenario: Scenario) -> None:
    def made(name: str = "pao-fed-u1", **options: Any) -> Any:
        return algorithm(name, **options)

    assert names(scenario, made(), made("online-fed", subset=0.5), made(step_size=0.4)) == []
    others = [
        made(learner="two-speed"),
        made("pao-fed-c2", learner="two-speed", shared=2),  # learns like the one before
        made(learner="rls", forgetting=0.5, step_size=3.0, bound=2.0),
        made(step_size=0.1),
        replace(made(), name="mine", learner=replace(LMS, served=False)),
    ]
    assert names(scenario, *others) == [
        "start alone:learner=two-speed",
        "start alone:learner=rls,forgetting=0.5,bound=2.0,step_size=3.0",
        "start alone:step_size=0.1",
        "start alone:mine",
    ]
    zeros = scenario.model_copy(update={"start": "zeros"})
    assert names(zeros, others[0]) == ["alone:learner=two-speed"]
    for asked in (["alone"], []):  # who leaves out what begins likewise leaves them out
        assert names(scenario, *others, baselines=asked) == []
    assert [kind_of(name) for name in names(scenario, *others)] == ["start alone"] * 4


def test_lms_steps_of_another_size_are_those_of_the_baseline(scenario: Scenario) -> None:
    """Two programs: the engine where nobody is there, and the baseline's own loop."""
    found = lives(run(scenario, "pao-fed-u1:step_size=0.1", precision="float64"))
    small = scenario.model_copy(update={"step_size": 0.1})
    beside = lives(run(small, "pao-fed-u1", baselines="start-alone"))
    assert "start alone:step_size=0.1" in found.baselines
    np.testing.assert_allclose(
        found.mean_sums("start alone:step_size=0.1", "baseline").squared,
        beside.mean_sums("start alone", "baseline").squared,
        rtol=1e-5,  # a fleet begins with a start in float32, the baseline with all digits
    )


def test_no_contact_ever_reaches_them(scenario: Scenario) -> None:
    """The reference engine, with everybody away, makes the same errors."""
    result = run(scenario, [TWO_SPEED, "online-fedsgd"], precision="float64", runs=2)
    (name,) = [name for name in lives(result).baselines if name not in USUAL]
    alone = without_contacts(scenario)
    for i in range(2):
        trace = realize_samples(alone, i)
        assert not trace.available.any()
        errors = [info.errors[0] for _, info in ticks(trace, TWO_SPEED)]
        index = lives(result).learners.tolist().index([name, "baseline"])
        found = lives(result).sums[i, index, 0].sum()
        np.testing.assert_allclose(found, (np.concatenate(errors) ** 2).sum(), rtol=1e-9)
