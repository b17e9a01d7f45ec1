"""Arms over common worlds: who meets whom, in which worlds, and what an interrupt leaves."""

import numpy as np
import pytest

from paofed.algorithms import algorithm
from paofed.experiments.arena import arena_of
from paofed.experiments.experiment import Arm, Arms, Experiment, Findings, seed_of
from paofed.simulate.montecarlo import run
from paofed.simulate.results.result import Result
from paofed.simulate.spread.crew import Crew
from paofed.simulate.stopping import Interrupted, ignored, part_of, parts_of
from tests.natures import small_scenario

SMALL = small_scenario()
OTHER = small_scenario(step_size=0.1)
ARMS = {n: Arm((OTHER, SMALL)[n % 2], algorithm("pao-fed-u1", max_age=n)) for n in range(5)}
EXPERIMENT = Experiment(3, Crew(workers=1))


def test_arms_of_a_setting_meet_together_some_at_a_time() -> None:
    kept, heard = list[tuple[list[int], Result]](), list[float]()

    def keep(some: Arms, result: Result) -> None:
        kept.append((list(some), result))

    EXPERIMENT._replace(at_once=2).meet(ARMS, 2, 1, heard.append, keep)
    assert [keys for keys, _ in kept] == [[0, 2], [4], [1, 3]]
    assert heard == sorted(heard)
    assert heard[-1] == pytest.approx(1.0)
    for keys, result in kept:
        arms = [ARMS[key] for key in keys]
        assert result.algorithms == [arm.method.name for arm in arms]
        alone = run(arms[0].setting, arms[0].method, runs=2, seed=seed_of(3, 1), every=1)
        found = result.run_finals(arms[0].method.name)
        np.testing.assert_array_equal(found, alone.run_finals(arms[0].method.name))


@pytest.mark.parametrize("partly", [True, False])
def test_an_interrupt_leaves_part_of_a_meeting_to_those_who_can_use_it(*, partly: bool) -> None:
    kept = list[Result]()

    def impatient(share: float) -> None:
        if share > 0.3:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        EXPERIMENT.meet(
            {1: ARMS[1]}, 4, None, impatient, lambda _, r: kept.append(r), partly=partly
        )
    assert [result.runs < 4 for result in kept] == [True] * partly


def test_an_arm_that_comes_later_has_worlds_of_its_own_meetings_alone() -> None:
    findings = Findings(EXPERIMENT, arena_of(SMALL), per=2.0)
    for number, keys in ((1, [1]), (2, [1, 3])):
        arms = {key: ARMS[key] for key in keys}
        standings = findings.meet(arms, 2, number, ignored)
        assert list(standings) == keys
    first, second = findings.standing(1), findings.standing(3)
    assert (first.values.size, second.values.size) == (4, 2)
    assert first.kept == second.kept == SMALL.features
    whole = EXPERIMENT.run(SMALL, [ARMS[3].method], 2, 2)
    name = ARMS[3].method.name
    assert second.payload == whole.run_wire(name).both[:, -1].mean() / 2
    assert findings.contacts(3) == whole.run_traffic(name).contacts[:, -1].mean() / 2


def test_a_part_never_reports_more_than_its_end() -> None:
    heard: list[float] = []
    told = part_of(heard.append, 1 / 3, 2 / 3)
    for share in (0.0, 0.5, 1.0):
        told(share)
    assert heard == pytest.approx([1 / 3, 1 / 2, 2 / 3])
    assert heard[-1] <= 2 / 3


def test_parts_of_the_work_report_as_long_as_they_take() -> None:
    heard: list[float] = []
    for told in parts_of(heard.append, (0.1, 0.2, 0.7)):
        for share in (0.0, 0.5, 1.0):
            told(share)
    assert heard == pytest.approx([0.0, 0.05, 0.1, 0.1, 0.2, 0.3, 0.3, 0.65, 1.0])
    assert heard[-1] == 1.0
