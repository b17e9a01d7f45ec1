import pytest

from lab.compare.lineup import LINEUP, SEARCH, entrants_of, own_entrant
from paofed.errors import InputError
from paofed.experiments.candidates import Entrant
from paofed.report.comparison.page import PAO_FED

FEWER = {"one-shot-ridge": 8, "fed-ridge": 8}  # who shares sums


def test_everybody_chooses_among_equally_many_but_who_shares_sums() -> None:
    for name, entrant in LINEUP.items():
        candidates = entrant.candidates()
        assert len(candidates) == len(set(candidates)) == FEWER.get(name, SEARCH), name
        for setup in candidates:
            setup.algorithm().require_fits(200)


def test_candidates_have_names() -> None:
    entrant = Entrant.of("pso-fed:subset=4", {"shared": (None, 2), "step_size": (0.1,)})
    assert list(map(str, entrant.candidates())) == [
        "pso-fed:subset=4,step_size=0.1",
        "pso-fed:subset=4,shared=2,step_size=0.1",
    ]


def test_what_is_wider_than_a_model_is_left_out() -> None:
    assert {one.values["shared"] for one in LINEUP["pao-fed-u"].candidates(30)} == {1, 4}
    whole = map(str, LINEUP["server-momentum"].candidates(1))
    assert "server-momentum:step_size=0.3,momentum=0.9" in whole


def test_pao_fed_is_always_there() -> None:
    assert list(entrants_of("online-fed")) == [*PAO_FED, "online-fed"]
    assert list(entrants_of(None)) == list(LINEUP)
    with pytest.raises(InputError, match="unknown entrant 'online-fd': did you mean 'online-fed'"):
        entrants_of("online-fd")


def test_an_option_of_the_method_cannot_be_chosen_as_well() -> None:
    with pytest.raises(InputError, match=r"^online-fed:subset=4 subset=1,4: subset is given twice"):
        own_entrant("online-fed:subset=4", ["subset=1,4"])
