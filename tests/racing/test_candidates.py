import pytest

from paofed.algorithms.spec import parted
from paofed.errors import AlgorithmError
from paofed.racing.candidates import GRIDS, asks, expanded
from tests.natures import small_scenario


def test_a_word_without_auto_stands_for_itself() -> None:
    assert expanded("pao-fed-u1:shared=2", small_scenario()) == ["pao-fed-u1:shared=2"]


@pytest.mark.parametrize("key", GRIDS)
def test_what_is_usual_comes_first_and_every_value_once(key: str) -> None:
    scenario = small_scenario(step_size=0.37, max_age=7)
    usual = {"step_size": 0.37, "max_age": 7, "shared": 4, "staleness": 0.2}
    found = [parted(text) for text in expanded(f"pao-fed-u2:divisor=class,{key}=auto", scenario)]
    assert {name for name, _ in found} == {"pao-fed-u2"}
    assert {options["divisor"] for _, options in found} == {"class"}
    values = [options[key] for _, options in found]
    assert values[0] == usual[key]
    assert len(set(values)) == len(values)
    most = scenario.features if key == "shared" else 1e9
    assert set(values) == {usual[key], *(v for v in GRIDS[key].values if v <= most)}


def test_several_options_are_tried_in_all_combinations() -> None:
    found = expanded("pao-fed-c2:staleness=auto,max_age=auto", small_scenario())
    assert (
        len(found)
        == len(set(found))
        == len(GRIDS["staleness"].values) * len(GRIDS["max_age"].values)
    )
    assert found[0] == "pao-fed-c2:staleness=0.2,max_age=10"


def test_what_cannot_be_chosen_is_told() -> None:
    with pytest.raises(AlgorithmError, match="clip cannot be chosen: auto is for step_size, sha"):
        asks("pao-fed-u1:clip=auto")
    with pytest.raises(AlgorithmError, match="630 candidates: expected at most 200; choose fewer"):
        expanded("pao-fed-u1:step_size=auto,shared=auto,max_age=auto,staleness=auto",
                 small_scenario(features=64))  # fmt: skip
