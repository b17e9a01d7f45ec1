"""A plan as people see it: right where everything was tried at length, and repeatable."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed import Interrupted, run
from paofed.algorithms.setup import Setup, resolve
from paofed.core.metrics import decibels
from paofed.core.tariffs import tariff_of
from paofed.errors import AlgorithmError, InputError
from paofed.experiments import experiment as meeting
from paofed.experiments.arena import arena_of
from paofed.experiments.experiment import Experiment, spent
from paofed.experiments.plan import plan as module
from paofed.experiments.plan.field import thinned
from paofed.experiments.plan.judgement import choice
from paofed.experiments.plan.plan import FRESH, PURSES, plan
from paofed.experiments.plan.record import FleetPlan
from paofed.experiments.plan.screening import rates_of
from paofed.experiments.plan.use import FILE, advice, commands, scenario_file
from paofed.simulate.results.result import Result
from paofed.simulate.spread.crew import HERE, Crew
from paofed.simulate.stopping import ignored
from paofed.world.scenario import Scenario
from tests.effort import effort, long
from tests.experiments.plan.plans import BUDGET, METHODS, small_fleet
from tests.experiments.race.tables import racing_fleet, readings
from tests.world.table.tables import fleet, hourly, table, write


@pytest.fixture(scope="module")
def made() -> FleetPlan:
    """Without bounds, which are compiled apart."""
    return plan(small_fleet(), budget=BUDGET, algorithms=METHODS, exchange="single", seed=3)


def test_the_optimum_of_trying_everything_at_length_is_not_better_than_is_said(
    made: FleetPlan,
) -> None:
    """Every candidate in many worlds of other seeds: within each budget, its best is the truth."""
    worlds = effort(everyday=12, thorough=400)
    truth, rates = dict[str, np.ndarray](), dict[str, float]()
    shares = {one.candidate.contacts for one in made.offers} | {1.0, 0.5, 0.25, 0.125}
    for share in shares:
        of_share = {
            one.candidate: one.candidate.partition(" at ")[0]
            for one in made.tried
            if one.candidate.endswith(f" at {share:g} of contacts") == (share != 1)
            and (share != 1 or " at " not in one.candidate)
        }
        if not of_share:
            continue
        fleet = thinned(small_fleet(), share)
        methods = list(map(resolve, of_share.values()))
        result = Experiment(99, HERE).run(fleet, methods, worlds, None)
        for name, word in of_share.items():
            truth[name] = decibels(result.run_finals(word))
            rates[name] = spent([result], word, "mqtt-tls") / (fleet.clients * fleet.ticks)
    assert set(truth) == {one.candidate for one in made.tried}
    for offer in made.offers:
        mine = truth[str(offer.candidate)]
        for name, other in truth.items():
            if rates[name] <= 0.97 * offer.most:  # what nearly costs the budget may not fit it
                gains = mine - other
                sure = gains.mean() - 4 * gains.std(ddof=1) / math.sqrt(worlds)
                assert sure <= max(offer.at_most, 0.0), (name, offer)


def test_what_is_stated_comes_from_fresh_worlds(made: FleetPlan) -> None:
    for offer in made.offers:
        fleet = thinned(small_fleet(), offer.candidate.contacts)
        word, method = str(offer.candidate.setup), offer.candidate.setup.algorithm()
        result = Experiment(3, HERE).run(fleet, [method], FRESH, 0)
        assert offer.error.mean == pytest.approx(decibels(result.run_finals(word)).mean())
        cells = fleet.clients * fleet.ticks
        assert offer.spends == pytest.approx(spent([result], word, "mqtt-tls") / cells)
        contacts = result.run_traffic(word).contacts[:, -1].mean() / cells
        assert offer.contacts == pytest.approx(contacts)
    assert made.worlds == FRESH


def test_budgets_are_kept_and_more_bytes_are_not_worse(made: FleetPlan) -> None:
    per_tick = 100e3 / 720
    assert {one.most for one in made.offers} <= {part * per_tick for part in PURSES}
    spends = [one.spends for one in made.offers]
    assert spends == sorted(spends)
    assert all(one.spends <= one.most for one in made.offers)
    assert made.chosen.most == pytest.approx(per_tick)
    assert max(one.payload for one in made.tried) <= 1.2 * per_tick


def test_the_record_says_everything(made: FleetPlan) -> None:
    told = json.loads(json.dumps(made.as_json(), allow_nan=False))
    assert told["chosen"]["candidate"] == str(made.chosen.candidate.setup)
    assert told["sentence"] in str(made)
    assert Scenario.made(told["scenario"], "") == made.fleet
    assert {one["candidate"] for one in told["tried"]} == {one.candidate for one in made.tried}
    assert "/day/device" in str(made)
    assert "theory: with step sizes from" in str(made)


@long
def test_a_plan_is_the_same_again_whoever_works_on_it(made: FleetPlan) -> None:
    again = plan(small_fleet(), budget=BUDGET, algorithms=METHODS, exchange="single", seed=3,
                 workers=1)  # fmt: skip
    assert again.as_json() == made.as_json()


def test_the_cheapest_that_is_surely_below_an_error_is_chosen(made: FleetPlan) -> None:
    def asked(target: float) -> FleetPlan:
        chosen, reached = choice(made.offers, target)
        return replace(made, target=target, chosen=chosen, reached=reached)

    easy = asked(made.offers[0].reaches)
    assert easy.reached
    assert easy.chosen is made.offers[0]
    assert easy.sentence.startswith("the cheapest judged settings that are surely (95 %) below ")
    never = asked(made.offers[0].error.low - 40)
    assert not never.reached
    assert never.chosen.error.mean == min(one.error.mean for one in made.offers)
    assert " dB; the nearest settings are " in never.sentence


def test_a_plan_can_be_used(made: FleetPlan) -> None:
    """The file is a scenario; no live fleet has this exchange, and that is said."""
    text = scenario_file(made, "paofed plan ...")
    assert Scenario.parse(text, FILE) == made.fleet
    (run,) = commands(made, FILE)
    assert run == f"paofed run {FILE} --algorithm {made.chosen.candidate.setup} --runs 4"
    assert "exchange is single" in advice(made)


@pytest.mark.parametrize("after", [0.0, 0.6])
def test_an_interrupt_tells_what_is_known(after: float) -> None:
    def impatient(share: float) -> None:
        if share > after:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        plan(small_fleet(), budget=BUDGET, algorithms=METHODS, report=impatient, tolerance=0.0)
    assert str(caught.value).endswith("in its `plan`")
    known = caught.value.plan
    assert (known is None) == (after == 0.0)
    if known is not None:
        assert "not judged on fresh worlds" in str(known)
        json.dumps(known.as_json(), allow_nan=False)


def test_every_run_is_on_the_engine_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def spied(*args: Any, engine: str, **kwargs: Any) -> Result:
        asked.append(engine)
        if len(asked) > 2:
            raise KeyboardInterrupt
        return run(*args, **kwargs)

    monkeypatch.setattr(meeting, "run", spied)
    with pytest.raises(Interrupted):
        plan(small_fleet(), budget=BUDGET, algorithms=METHODS, engine="gpu,fast")
    assert asked == 3 * ["gpu,fast"]


@long
def test_over_a_table_the_race_is_on_the_calibration_period(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes after it is judged on, and changes nothing of the choice."""
    monkeypatch.setattr(module, "ROUNDS", (4, 4, 4))
    lines = readings(9)
    later = [*lines[: 9 * 37], *readings(9, seed=1)[9 * 37 :]]
    plans = [
        plan(racing_fleet(tmp_path / f"{name}.csv", own), budget="3kB/day/device", seed=1,
             algorithms=["pao-fed-u1:shared=2"], exchange="paper")
        for name, own in (("one", lines), ("other", later))
    ]  # fmt: skip
    one, other = plans
    assert [t.score for t in one.tried] == [t.score for t in other.tried]
    assert [o.candidate for o in one.offers] == [o.candidate for o in other.offers]
    assert one.chosen.error != other.chosen.error
    assert "calibration period" in one.where
    assert "theory knows no laws of a table: every step size is tried" in one.notes


def test_what_cannot_be_planned_is_told() -> None:
    bare = Scenario.load("setting-1")
    with pytest.raises(InputError, match="a plan needs a budget, as in 2kB/day/device, or an err"):
        plan(bare)
    with pytest.raises(InputError, match="needs to know how long a tick is"):
        plan(bare, budget="2kB/day/device")
    with pytest.raises(InputError, match="unknown exchange 'dead'"):
        plan(bare, error=-7, exchange="dead")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="tolerance is -1: expected"):
        plan(bare, error=-7, tolerance=-1)
    with pytest.raises(InputError, match="tolerance is 'x': expected a number"):
        plan(bare, error=-7, tolerance="x")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"gpu engine does not know bounded .*: give gpu,fast"):
        plan(bare, error=-7, engine="gpu")
    with pytest.raises(InputError, match="unknown engine 'steam'"):
        plan(bare, error=-7, engine="fast,steam")
    with pytest.raises(InputError, match="nothing fits: the cheapest settings"):
        plan(small_fleet(), budget="1B/day/device", algorithms=METHODS)
    with pytest.raises(
        AlgorithmError, match=r"^theory: with step sizes from .* and there are no others: "
    ):
        plan(small_fleet(), error=-7, algorithms=["pao-fed-u1:step_size=9.0,shared=2"])


def test_a_budget_that_chance_alone_may_keep_is_refused_as_one_that_nothing_fits() -> None:
    """The one world that is measured says that the cheapest nearly fits; the race says better."""
    fleet, word = small_fleet(), "pao-fed-u1:shared=2,step_size=0.4"
    arena, alone = arena_of(fleet), Experiment(0, Crew(workers=1))
    own, shape = Setup.of(f"{word},exchange=single"), Setup.of(word)
    rate = rates_of(arena, {own: shape}, tariff_of("mqtt-tls"), alone, 100, ignored)[shape]
    with pytest.raises(InputError, match="nothing fits: the cheapest settings, at 0"):
        plan(fleet, budget=f"{rate / 128 * 24 * 1.01:.6f}B/day/device", algorithms=word,
             exchange="single", workers=1)  # fmt: skip


@pytest.mark.parametrize(
    ("target", "says"), [("y", "did you mean -7dB"), ("y:raw", "unknown tariff 'pigeon'")]
)
def test_an_error_above_0_db_is_for_raw_targets(target: str, says: str, tmp_path: Path) -> None:
    """The error is looked at before the tariff, and the tariff before anything is run."""
    readings = write(tmp_path / "readings.csv", hourly(3, 60))
    with pytest.raises(InputError, match=says):
        plan(fleet(table(readings, target=target)), error=7, tariff="pigeon")
