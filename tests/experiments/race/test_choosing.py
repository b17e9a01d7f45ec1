"""`auto` in the place of a value, as a user of `run` meets it."""

from dataclasses import replace

import pytest

from paofed import Interrupted, run
from paofed.algorithms import Algorithm, algorithm
from paofed.algorithms.setup import resolve
from paofed.errors import AlgorithmError, InputError
from paofed.experiments.race.choosing import choose
from paofed.experiments.race.race import race
from paofed.simulate.results.result import Result
from tests.experiments.race.records import won_by
from tests.natures import small_scenario

ASKED = "pao-fed-u1:max_age=auto"


@pytest.mark.parametrize(
    ("tried", "step"),
    [
        (["learner=two-speed,step_size=0.05", "learner=lms,step_size=0.2"], 0.2),
        (["learner=two-speed,step_size=0.05"], 0.37),
    ],
)
def test_baselines_have_no_step_of_another_learner(tried: list[str], step: float) -> None:
    found = won_by(*tried)
    words = ["pao-fed-u1:learner=auto,step_size=auto", "pao-fed-c1:step_size=0.3"]
    chosen = choose(words, lambda _: found)
    assert [method.name for method in chosen.methods] == [found.winner, words[1]]
    assert chosen.with_step_of_lms(small_scenario(step_size=0.37)).step_size == step


def test_what_is_chosen_and_given_is_one() -> None:
    found = won_by("step_size=0.2")
    mine = replace(algorithm("pao-fed-u1"), name="mine")
    asked: list[str | Algorithm] = ["pao-fed-u1:step_size=auto", mine, found.winner]
    assert choose(asked, lambda _: found).methods == [resolve(found.winner), mine]
    assert choose([mine, mine], lambda _: found) == ([mine, mine], [])


def test_a_run_takes_the_winner_and_says_so() -> None:
    scenario, shares = small_scenario(), list[float]()
    expected = race(scenario, ASKED, seed=3)
    result = run(scenario, ASKED, runs=2, seed=3, report=shares.append)
    assert result.algorithms == [expected.winner]
    assert result.provenance["chosen"] == [expected.as_json()]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    without = run(scenario, expected.winner, runs=2, seed=3)
    assert (result.mse == without.mse).all()
    assert "chosen" not in without.provenance


def test_what_cannot_be_chosen_ends_before_anything_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AlgorithmError, match="bound cannot be chosen"):
        run(small_scenario(), "pao-fed-u1:bound=auto")
    monkeypatch.setattr("paofed.experiments.race.race.race", None)  # nobody calls it
    with pytest.raises(AlgorithmError, match="unknown algorithm 'pao-fed-u9'"):
        run(small_scenario(), [ASKED, "pao-fed-u9"])
    with pytest.raises(InputError, match="only tables have them"):
        run(small_scenario(), ASKED, baselines="alone")


def test_an_interrupted_race_has_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, **__: object) -> Result:
        raise KeyboardInterrupt

    monkeypatch.setattr("paofed.experiments.experiment.run", stopped)
    with pytest.raises(Interrupted) as interrupt:
        run(small_scenario(), ASKED)
    assert interrupt.value.result is None
