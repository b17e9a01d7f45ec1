"""A race as people see it: fair, repeatable, apart from the run, and ended by Ctrl-C in order."""

import json
import math
from dataclasses import FrozenInstanceError, replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from paofed.algorithms import algorithm
from paofed.algorithms.setup import resolve
from paofed.core.learners import AGREED
from paofed.core.metrics import decibels
from paofed.errors import AlgorithmError, InputError
from paofed.experiments.experiment import kept_by, seed_of
from paofed.experiments.race.race import race
from paofed.experiments.race.record import Fresh, Race, lms_step
from paofed.simulate.montecarlo import run
from paofed.simulate.results.estimates import Estimate
from paofed.simulate.results.result import Result
from paofed.simulate.stopping import Interrupted
from tests.experiments.race.records import won_by
from tests.experiments.race.tables import racing_fleet, readings
from tests.natures import small_scenario

STEPS = [f"pao-fed-u1:step_size={step}" for step in (0.3, 0.05, 0.002)]
EVERY = 1  # of the curves of so short a scenario


@pytest.fixture(scope="module")
def raced() -> Race:
    return race(small_scenario(), STEPS, seed=7)


def test_scores_are_those_of_runs_anybody_can_repeat(raced: Race) -> None:
    """Worlds of the seeds that the documents tell, the same for all: four, four more, eight..."""
    rounds = [
        run(small_scenario(), STEPS, runs=runs, seed=seed_of(7, number), every=EVERY)
        for number, runs in enumerate((4, 4, 8, 16), start=1)
    ]
    assert {one.worlds for one in raced.tried} <= {4, 8, 16, 32}
    for one in raced.tried:
        finals, won = (
            decibels(np.concatenate([r.run_finals(name) for r in rounds])[: one.worlds])
            for name in (one.candidate, raced.winner)
        )
        assert one.score.mean == pytest.approx(finals.mean())
        assert one.behind.mean == pytest.approx((finals - won).mean())


def test_the_winner_is_judged_where_nothing_was_chosen(raced: Race) -> None:
    fresh = run(small_scenario(), STEPS, runs=16, seed=seed_of(7, 0), every=EVERY)
    assert raced.fresh is not None
    score = decibels(fresh.run_finals(raced.winner))
    assert raced.fresh.score.mean == pytest.approx(score.mean())
    assert f"on 16 fresh worlds {score.mean():.2f} ± " in raced.sentence
    assert raced.sentence.endswith(" mean dB")
    assert "mean dB" in raced.table.splitlines()[0]
    gain = decibels(fresh.run_finals(raced.usual)) - score
    assert raced.fresh.gain.mean == pytest.approx(gain.mean())


def test_no_round_has_a_world_of_the_run_or_of_another_round() -> None:
    seeds = [7, *(seed_of(7, number) for number in range(9))]
    assert len(set(seeds)) == len(seeds)
    assert seed_of(2**64 - 1, 3) == 2**63 + 2


def test_the_record_says_everything_and_does_not_change(raced: Race) -> None:
    told = json.loads(json.dumps(raced.as_json(), allow_nan=False))
    assert told["winner"] == raced.winner
    assert told["sentence"] in str(raced)
    assert {one["candidate"] for one in told["tried"]} == set(STEPS)
    assert told["fresh"]["score"]["low"] < told["fresh"]["score"]["mean"]
    assert all(name in str(raced) for name in STEPS)
    with pytest.raises(FrozenInstanceError):
        raced.winner = "mine"  # type: ignore[misc]


def test_a_race_is_the_same_again_whoever_works_on_it(raced: Race) -> None:
    assert race(small_scenario(), STEPS, seed=7, workers=1).as_json() == raced.as_json()


def test_options_are_filled_in(tmp_path: Path) -> None:
    """`auto` and a record of one's own; the result of the run keeps what was chosen."""
    found = race(small_scenario(), "pao-fed-u1:shared=auto", rounds=1)
    values = sorted(found.options["shared"])
    assert found.usual == "pao-fed-u1:shared=4"
    assert {one.candidate for one in found.tried} == {f"pao-fed-u1:shared={v}" for v in values}
    best = min(found.tried, key=lambda one: one.score.mean)
    won = next(one for one in found.tried if one.candidate == found.winner)
    cheaper = [one for one in found.tried if one.payload < won.payload]
    assert won.score.mean <= best.score.mean + found.tolerance
    assert all(one.score.mean > best.score.mean + found.tolerance for one in cheaper)
    result = found.kept_in(run(small_scenario(), found.winner))
    result.save(tmp_path / "r.npz")
    assert Result.load(tmp_path / "r.npz").provenance["chosen"] == [found.as_json()]


def test_baselines_have_the_step_that_is_best_for_lms() -> None:
    """Of all races, whatever learner won them; one that diverged, or none, has no say."""
    two = won_by("learner=two-speed,step_size=0.05", "learner=lms,step_size=0.2", "step_size=0.8")
    best = won_by("learner=rls,step_size=10", "bound=6,step_size=0.1", score=-6.0)
    assert lms_step([two]) == 0.2
    assert lms_step([two, best]) == lms_step([best, two]) == 0.1
    assert lms_step([two, won_by("step_size=1.6", score=math.inf)]) == 0.2
    assert lms_step([]) is None
    assert lms_step([won_by("learner=rls,step_size=10", "learner=lms")]) is None


def test_learners_race() -> None:
    small = small_scenario(features=4, ticks=30, stream={"samples": (15,)})
    found = race(small, "pao-fed-u1:learner=auto", rounds=1, engine="reference", workers=1)
    assert found.usual == "pao-fed-u1:learner=lms"
    assert found.options == {"learner": ("lms", *AGREED)}
    assert len(found.tried) == 1 + len(AGREED)
    assert "among learner lms, rls, two-speed; " in found.sentence


def test_a_winner_that_is_not_the_best_is_explained() -> None:
    best = won_by("learner=rls,step_size=1", "learner=lms,step_size=0.2")
    cheapest = replace(best, winner=best.tried[1].candidate)
    said = "; it is the cheapest within 0.1 dB of the best; "
    assert said in cheapest.sentence
    assert said not in best.sentence


@pytest.mark.parametrize(
    ("gain", "told"),
    [
        (0.25, ", 0.25 ± 0.10 dB better than the usual"),
        (-0.25, ", 0.25 ± 0.10 dB worse than the usual"),
    ],
)
def test_a_winner_may_be_cheaper_and_worse_than_the_usual(gain: float, told: str) -> None:
    estimate = Estimate(gain, gain - 0.1, gain + 0.1, 16)
    fresh = Fresh(worlds=16, score=estimate, gain=estimate)
    assert replace(won_by("shared=1"), usual="the usual", fresh=fresh).sentence.endswith(told)


def test_where_not_everything_was_combined_the_sentence_does_not_say_so() -> None:
    tried = won_by("learner=lms,step_size=1", "learner=rls,step_size=10")
    found = replace(tried, options={"learner": ("lms", "rls"), "step_size": (1, 10)})
    assert "among 2 combinations of learner lms, rls with step_size 1, 10; " in found.sentence


def test_a_single_candidate_wins_and_a_record_is_one() -> None:
    found = race(small_scenario(), algorithm("pao-fed-c1", step_size=0.2), rounds=1)
    assert found.winner == "pao-fed-c1:step_size=0.2"
    assert "all else that was tried was worse" in found.sentence


def test_progress_rises_to_the_end() -> None:
    heard: list[float] = []
    race(small_scenario(), STEPS, report=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 1.0


@pytest.mark.parametrize("after", [0.02, 0.5])
def test_an_interrupt_keeps_what_is_known(after: float) -> None:
    def impatient(share: float) -> None:
        if share > after:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        race(small_scenario(), STEPS, tolerance=0.0, report=impatient)
    known = caught.value.race
    assert (known is None) == (after < 0.1)
    assert str(caught.value).endswith("in its `race`")
    if known is not None:
        assert known.fresh is None
        assert "not judged on fresh worlds" in str(known)


def test_what_cannot_be_raced_is_told() -> None:
    with pytest.raises(AlgorithmError, match="every candidate diverged, online-fedsgd:step_size"):
        race(small_scenario(), ["online-fedsgd:step_size=90", "online-fedsgd:step_size=99"])
    with pytest.raises(AlgorithmError, match="no candidate was given"):
        race(small_scenario(), [])
    with pytest.raises(AlgorithmError, match=r"step_size=0\.3 is given twice: name every candid"):
        race(small_scenario(), [*STEPS, STEPS[0]])
    with pytest.raises(InputError, match="rounds is 0: expected a whole number from 1 on"):
        race(small_scenario(), STEPS, rounds=0)
    with pytest.raises(InputError, match=r"tolerance is -0\.1: expected a number of dB from 0 on"):
        race(small_scenario(), STEPS, tolerance=-0.1)


_files = count()


def over(folder: Path, lines: list[str]) -> Race:
    scenario = racing_fleet(folder / f"{next(_files)}.csv", lines)
    return race(scenario, "pao-fed-u1:step_size=auto", rounds=1)


def test_over_a_table_the_choice_depends_on_the_calibration_period_alone(tmp_path: Path) -> None:
    """Whatever comes later: shuffled, spoilt, new devices, none; every number stays the same."""
    lines = readings(9)
    before, after = lines[: 9 * 36], lines[9 * 36 :]
    order = np.random.default_rng(0).permutation(len(after))
    shuffled = [
        ",".join(one.split(",")[:2] + after[i].split(",")[2:])
        for one, i in zip(after, order.tolist(), strict=True)
    ]
    spoilt = [",".join([*line.split(",")[:2], "999", "-999", ""]) for line in after[:-1]]
    newcomers = [line.replace("d", "new", 1) for line in after]
    one, *others = (
        over(tmp_path, [*before, *later]).as_json()
        for later in (after, shuffled, [*spoilt, after[-1]], after + newcomers, after[:9])
    )
    assert one["tried"]
    # The mean over devices is taken before dB, so the number is that of a run and has its name.
    assert "error (dB)" in one["table"]
    assert "mean dB" not in f"{one['table']} {one['sentence']}"
    assert [other == one for other in others] == [True] * 4
    # The same comparison sees a change in the period itself.
    cells = before[-1].split(",")
    before[-1] = ",".join([*cells[:2], "3", *cells[3:]])
    assert over(tmp_path, [*before, *after]).as_json() != one


def test_with_too_little_to_choose_by_the_usual_is_taken_and_it_is_said(tmp_path: Path) -> None:
    found = over(tmp_path, readings(3))
    assert found.winner == found.usual == "pao-fed-u1:step_size=0.4"
    assert not found.tried
    assert "nothing could be chosen: the earlier half of the calibration period" in str(found)
    assert json.loads(json.dumps(found.as_json(), allow_nan=False))["at_most"] is None


@pytest.mark.parametrize(
    ("word", "kept"),
    [
        ("pao-fed-u1", 40),
        ("fed-prox", 40 + 40),  # and what it heard last
        ("top-k", 40 + 40),  # and what the server has heard
        ("ternary", 40 + 40),
        ("triggered", 40 + 40 + 1),  # and how many contacts were silent
    ],
)
def test_what_a_device_keeps_is_its_learner_s_state_and_its_uplink_s(word: str, kept: int) -> None:
    assert kept_by(resolve(word), 40) == kept
