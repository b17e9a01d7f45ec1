from copy import deepcopy

import pytest

from paofed.algorithms import Algorithm, algorithm
from paofed.algorithms.setup import Setup, method_of, methods_of, resolve
from paofed.core.selection import Windows
from paofed.errors import AlgorithmError


def test_options_are_read_as_what_they_look_like() -> None:
    assert resolve("pao-fed-u1:shared=8").uplink == Windows(8, coordinated=False, ahead=1)
    for word, coordinated in (("true", True), ("false", False)):
        method = resolve(f"pso-fed:subset=2,coordinated={word}")
        assert method.downlink == Windows(4, coordinated=coordinated)
        assert method.subset == 2
    assert resolve("online-fed:subset=0.5,exchange=single").exchange == "single"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("pao-fed-u1:shared=4,shared=8", "option 'shared' is given twice"),
        ("pao-fed-u1:", "unknown option ''"),
        ("pao-fed-u1:shared", "has no value: write shared=VALUE"),
        ("pao-fed-u1:max_age=99999999999999999999", "expected a whole number of ticks from 0 to"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(AlgorithmError, match=complaint):
        resolve(text)


@pytest.mark.parametrize(
    "word",
    ["pao-fed-u1", "pao-fed-u1:shared=08,step_size=0.40", "pso-fed:subset=1e-1,coordinated=yes"],
)
def test_the_name_in_results_is_what_people_wrote(word: str) -> None:
    setup = Setup.of(word)
    assert str(setup) == setup.algorithm().name == word
    assert method_of(setup) is setup
    assert resolve(setup) == resolve(word)


def test_a_setup_is_changed_as_a_record() -> None:
    setup = Setup.of("pao-fed-u1:shared=08,step_size=0.40")
    assert str(setup.with_(step_size=None, max_age=3)) == "pao-fed-u1:shared=08,max_age=3"
    assert str(setup.with_(shared=4, aside=True)) == "pao-fed-u1:shared=4,step_size=0.40,aside=true"
    assert str(setup.only("step_size")) == "pao-fed-u1:step_size=0.40"
    assert setup.values == {"shared": 8, "step_size": 0.4}


def test_setups_are_told_apart_by_their_names() -> None:
    setups = [Setup.of("pao-fed-u1:shared=4"), Setup("pao-fed-u1").with_(shared=4)]
    assert len({*setups, Setup.of("pao-fed-u1:shared=04"), Setup.of("pao-fed-u1")}) == 3
    assert deepcopy(setups) == setups


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("pao-fed-u1:shraed=4", "shraed"),
        ("pao-fed-u1:shared=0", "shared"),
        ("pao-fed-u1:step_size=-1", "step_size"),
        ("pao-fed-u1:exchange=dead", "exchange"),
        ("pao-fed-u1:staleness=2", "staleness"),
        ("pao-fed-u1:aside=true", "aside"),
        ("pao-fed-u1:learner=best", "learner"),
        ("fed-prox:pull=-1", "pull"),
        ("quantised:bits=99", "bits"),
        ("pao-fed-u9", None),
    ],
)
def test_an_error_says_which_option_is_wrong(text: str, key: str | None) -> None:
    with pytest.raises(AlgorithmError) as caught:
        resolve(text)
    assert caught.value.key == key
    assert deepcopy(caught.value).key == key


def test_a_record_of_one_s_own_is_what_it_is() -> None:
    mine = algorithm("pao-fed-u1")
    assert method_of(mine) is mine
    with pytest.raises(AlgorithmError, match="3 is no algorithm"):
        method_of(3)  # type: ignore[arg-type]


def test_methods_are_given_one_alone_or_several() -> None:
    mine, setup = algorithm("pao-fed-u1"), Setup("pao-fed-c1")
    for one in (mine, setup):
        assert methods_of(one) == [one]
    assert methods_of("pao-fed-c1") == [setup]
    several: list[str | Algorithm] = ["pao-fed-c1", mine]
    assert methods_of(iter(several)) == [setup, mine]
    with pytest.raises(AlgorithmError, match="3 is no algorithm"):
        methods_of(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("word", "by_lms"),
    [
        ("pao-fed-u1", True),
        ("pao-fed-u1:bound=6", True),
        ("pao-fed-u1:learner=rls", False),
        ("decaying", False),  # rules of its own
    ],
)
def test_step_sizes_of_lms_are_told_from_those_of_others(word: str, *, by_lms: bool) -> None:
    assert resolve(word).steps_by_lms == by_lms
