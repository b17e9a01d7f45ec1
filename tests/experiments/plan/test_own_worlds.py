"""`sweep`, `race` and `plan` over worlds of one's own, told apart by their numbers."""

from pathlib import Path

import numpy as np
import pytest

from paofed import Trace, Worlds, plan, race, realize, run, sweep
from paofed.algorithms import algorithm
from paofed.core.metrics import decibels
from paofed.errors import InputError, ScenarioError
from paofed.experiments.experiment import Experiment
from paofed.experiments.plan.use import scenario_file
from paofed.experiments.sweep.swept import Swept
from paofed.report.sweep.page import write as write_page
from paofed.simulate.spread.crew import HERE
from paofed.world.worlds import setting_of
from tests.experiments.plan.plans import small_fleet

FLEET = small_fleet(ticks=30, stream={"samples": (30,)})
METHODS = ["pao-fed-u1", "pao-fed-u1:step_size=0.1"]


class Own:
    """A function that makes traces, and notes of which worlds."""

    def __init__(self) -> None:
        self.made: list[int] = []

    def __call__(self, world: int, run: int) -> Trace:
        self.made.append(world)
        return realize(FLEET, world, run, seed=3)


def own_worlds() -> tuple[Worlds, list[int]]:
    function = Own()
    worlds = Worlds("mine", function, step_size=FLEET.step_size, max_age=FLEET.max_age)
    return worlds, function.made


def test_every_meeting_has_worlds_of_its_own_and_none_of_those_of_the_run() -> None:
    worlds, _ = own_worlds()
    setting = setting_of(worlds)
    firsts = [Experiment(0, HERE).worlds(setting, number)[1] for number in range(102)]
    assert firsts == [10_000 * (1 + number) for number in range(102)]
    for seed in (0, 2**63 - 1, 2**64 - 1):
        first = Experiment(seed, HERE).worlds(setting, 101)[1]
        assert 10_000 <= first < 2**32 - 10_000
    assert Experiment(5, HERE).worlds(FLEET, 1) == (5 + 2**63 + 1, 0)
    assert Experiment(5, HERE).worlds(setting, None) == (5, 0)


def test_a_race_scores_what_runs_of_its_worlds_score() -> None:
    worlds, made = own_worlds()
    found = race(worlds, METHODS, rounds=1, workers=1)
    # World 0 tells the sizes; four worlds are those of the round, sixteen those of the judgement.
    assert {*made} == {0, *range(20_000, 20_004), *range(10_000, 10_016)}
    again = run(worlds, METHODS, runs=4, first=20_000, every=1, workers=1)
    for one in found.tried:
        mean = decibels(again.run_finals(one.candidate)).mean()
        assert one.score.mean == pytest.approx(mean, abs=1e-9)


def test_a_sweep_finds_what_runs_find_and_can_be_kept(tmp_path: Path) -> None:
    worlds, made = own_worlds()
    found = sweep(worlds, METHODS[:1], {"step_size": [0.1, 0.5]}, runs=2, fresh=2, workers=1)
    assert {*made} == {0, 1, 10_000, 10_001}
    alone = run(worlds, "pao-fed-u1:step_size=0.1", runs=2, workers=1)
    np.testing.assert_array_equal(found.finals[0, :, 1], alone.run_finals(alone.algorithms[0]))
    found.save(tmp_path / "s.npz")
    again = Swept.load(tmp_path / "s.npz")
    np.testing.assert_array_equal(again.finals, found.finals)
    assert again.provenance["scenario"]["kind"] == "worlds"
    (tmp_path / "page").mkdir()
    write_page(again, tmp_path / "page")
    page = (tmp_path / "page" / "report.html").read_text()
    assert "made by a function in Python" in page


def test_a_share_of_contacts_takes_some_of_them_and_a_smaller_share_some_of_these() -> None:
    """Of 240 contacts a fair coin keeps fewer than 90 or more than 150 in 1 of 9,000 worlds."""
    worlds, _ = own_worlds()
    setting = Worlds("all", lambda w, r: _always(worlds.trace(w, r))).sized()
    traces = [setting.model_copy(update={"contacts": share}).trace(0, 0) for share in (0.5, 0.25)]
    half, quarter = (trace.available for trace in traces)
    assert half.size == 240
    assert 90 <= half.sum() <= 150
    assert not (quarter & ~half).any()
    assert 0 < quarter.sum() < half.sum()
    assert setting.trace(0, 0).available.all()


def _always(trace: Trace) -> Trace:
    return Trace(**{**vars(trace), "available": np.ones_like(trace.available)})


def test_a_plan_for_worlds_keeps_its_budget_on_fresh_ones() -> None:
    worlds, made = own_worlds()
    found = plan(
        worlds, budget="2kB/run/device", algorithms="pao-fed-u1:shared=2,step_size=0.5",
        exchange="single", workers=1,
    )  # fmt: skip
    assert min({*made} - {0}) == 10_000
    assert {*range(10_000, 10_016)} < {*made}
    assert found.chosen.spends * FLEET.ticks <= 2_000
    assert found.chosen.candidate.contacts < 1
    assert found.fleet.contacts == found.chosen.candidate.contacts
    assert "theory knows no laws of a function" in str(found)
    told = found.as_json()["scenario"]
    assert (told["kind"], told["contacts"]) == ("worlds", found.fleet.contacts)
    with pytest.raises(InputError, match="mine is made by a function: use its plan from Python"):
        scenario_file(found, "paofed plan")


def test_what_worlds_do_not_have_is_told_in_one_line() -> None:
    worlds, _ = own_worlds()
    with pytest.raises(InputError, match=r"unknown key 'features'.*step_size, max_age, .*contacts"):
        sweep(worlds, "pao-fed-u1", {"features": [8, 16]})
    with pytest.raises(ScenarioError, match=r"contacts=2: mine: contacts is 2: expected a share"):
        sweep(worlds, "pao-fed-u1", {"contacts": [2]})
    with pytest.raises(InputError, match=r"needs to know how long a tick is, and mine does not"):
        plan(worlds, budget="2kB/day/device")


def test_a_record_in_a_plan_is_told_in_one_readable_line() -> None:
    with pytest.raises(InputError) as told:
        plan(FLEET, error=-7, algorithms=[algorithm("pao-fed-u1", shared=2)])  # type: ignore[list-item]
    assert str(told.value) == (
        "the record pao-fed-u1:shared=2 is no algorithm's word: expected one as in "
        "pao-fed-u1:shared=4 or file.py:name, since a plan tries options by their names; race and "
        "sweep take records"
    )
