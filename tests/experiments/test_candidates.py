from pathlib import Path

import pytest

from paofed.algorithms.setup import Setup
from paofed.core.learners import AGREED
from paofed.errors import AlgorithmError
from paofed.experiments.candidates import GRIDS, STEPS, asks
from paofed.experiments.candidates import expanded as expanded_setup
from paofed.world.scenario import Scenario
from tests.natures import small_scenario


def expanded(word: str, scenario: Scenario) -> dict[str, Setup]:
    return {str(one): one for one in expanded_setup(Setup.of(word), scenario)}


def test_a_word_without_auto_stands_for_itself() -> None:
    assert expanded("pao-fed-u1:shared=2", small_scenario()) == {
        "pao-fed-u1:shared=2": Setup("pao-fed-u1").with_(shared=2)
    }


@pytest.mark.parametrize("key", GRIDS)
def test_what_is_usual_comes_first_and_every_value_once(key: str) -> None:
    scenario = small_scenario(step_size=0.37, max_age=7)
    usual = {"step_size": 0.37, "max_age": 7, "shared": 4, "staleness": 0.2, "learner": "lms"}
    found = expanded(f"pao-fed-u2:divisor=class,{key}=auto", scenario).values()
    assert {one.row for one in found} == {"pao-fed-u2"}
    assert {one.values["divisor"] for one in found} == {"class"}
    values = [one.values[key] for one in found]
    assert values[0] == usual[key]
    assert len(set(values)) == len(values)
    most = scenario.features
    assert set(values) == {
        usual[key],
        *(v for v in GRIDS[key].values if key != "shared" or v <= most),
    }


def test_several_options_are_tried_in_all_combinations() -> None:
    found = list(expanded("pao-fed-c2:staleness=auto,max_age=auto", small_scenario()))
    assert (
        len(found)
        == len(set(found))
        == len(GRIDS["staleness"].values) * len(GRIDS["max_age"].values)
    )
    assert found[0] == "pao-fed-c2:staleness=0.2,max_age=10"


def test_every_learner_is_tried_with_steps_that_suit_it() -> None:
    found = expanded("pao-fed-u1:step_size=auto,learner=auto", small_scenario(step_size=0.2))
    steps = {
        learner: [
            one.values["step_size"] for one in found.values() if one.values["learner"] == learner
        ]
        for learner in ("lms", *AGREED)
    }
    assert next(iter(found)) == "pao-fed-u1:step_size=0.2,learner=lms"
    assert len(set(found)) == sum(map(len, steps.values()))
    assert steps["lms"] == steps["two-speed"]
    assert set(steps["lms"]) == set(GRIDS["step_size"].values)
    assert steps["rls"] == list(STEPS["rls"])
    alone = expanded("pao-fed-u1:learner=rls,step_size=auto", small_scenario(step_size=0.2))
    assert [one.values["step_size"] for one in alone.values()] == steps["rls"]


def test_without_a_step_size_learners_have_the_usual_one_of_each() -> None:
    found = expanded("pao-fed-u1:learner=auto,shared=2", small_scenario(step_size=0.2))
    assert list(found) == [
        "pao-fed-u1:learner=lms,shared=2",
        "pao-fed-u1:learner=two-speed,shared=2",
        "pao-fed-u1:learner=rls,shared=2,step_size=10.0",
    ]
    given = expanded("pao-fed-u1:learner=auto,step_size=0.3", small_scenario())
    assert [one.algorithm().step_size for one in given.values()] == [0.3] * (1 + len(AGREED))


def test_matrices_of_a_large_fleet_are_not_tried() -> None:
    few, many = (
        expanded("pao-fed-u1:learner=auto", small_scenario(features=features, clients=12))
        for features in (1600, 1700)
    )
    assert [word for word in few if word not in many] == ["pao-fed-u1:learner=rls,step_size=10.0"]
    assert set(many) < set(few)


def test_what_cannot_be_chosen_is_told() -> None:
    with pytest.raises(AlgorithmError, match="clip cannot be chosen: auto is for step_size, sha"):
        asks(Setup.of("pao-fed-u1:clip=auto"))
    with pytest.raises(AlgorithmError, match="630 candidates: expected at most 200; choose fewer"):
        expanded("pao-fed-u1:step_size=auto,shared=auto,max_age=auto,staleness=auto",
                 small_scenario(features=64))  # fmt: skip


OWN = """
from dataclasses import replace
from paofed import algorithm
from paofed.errors import AlgorithmError

def mine(gain=0.4, buffer=3, mirrored=False, name="mine", cap=None, offset=0):
    if not gain < 1:
        raise AlgorithmError("gain is too large")
    return replace(algorithm("pao-fed-u1", step_size=gain), name=name)
"""


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("gain", ["0.4", "0.1", "0.2", "0.8"]),  # four times the default is too much for it
        ("buffer", ["3", "1", "2", "6", "12"]),
        ("mirrored", ["false", "true"]),
    ],
)
def test_values_around_the_default_of_an_option_of_one_s_own(
    key: str, values: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    found = expanded(f"{file}:mine:{key}=auto", small_scenario())
    assert list(found) == [f"{file}:mine:{key}={value}" for value in values]
    for one in found.values():
        one.algorithm()


@pytest.mark.parametrize("key", ["name", "cap", "offset"])
def test_an_option_whose_values_nobody_knows_is_told(key: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    with pytest.raises(AlgorithmError, match=f"{key} cannot be chosen: auto is for .* a number ab"):
        asks(Setup.of(f"{file}:mine:{key}=auto"))


def test_options_of_shipped_rows_can_be_chosen_too() -> None:
    found = expanded("fed-async:alpha=auto", small_scenario())
    assert next(iter(found)) == "fed-async:alpha=0.6"
    assert 3 <= len(found) <= 5
