import pytest

from lab.compare.lineup import LINEUP, SEARCH, entrants_of
from paofed.algorithms.spec import from_text
from paofed.errors import InputError
from paofed.racing.entrants import Entrant
from paofed.report.comparison.judged import PAO_FED


@pytest.mark.parametrize("name", LINEUP)
def test_everybody_chooses_among_equally_many(name: str) -> None:
    candidates = LINEUP[name].candidates()
    assert len(candidates) == len(set(candidates)) == SEARCH
    for word in candidates:
        from_text(word).require_fits(200)


def test_candidates_are_words() -> None:
    entrant = Entrant("pso-fed:subset=4", {"shared": (None, 2), "step_size": (0.1,)})
    assert entrant.candidates() == [
        "pso-fed:subset=4,step_size=0.1",
        "pso-fed:subset=4,shared=2,step_size=0.1",
    ]


def test_what_is_wider_than_a_model_is_left_out() -> None:
    assert {word.partition(",")[0] for word in LINEUP["pao-fed-u"].candidates(30)} == {
        "pao-fed-u1:shared=1",
        "pao-fed-u1:shared=4",
    }
    assert "server-momentum:step_size=0.3,momentum=0.9" in LINEUP["server-momentum"].candidates(1)


def test_pao_fed_is_always_there() -> None:
    assert list(entrants_of("online-fed")) == [*PAO_FED, "online-fed"]
    assert list(entrants_of(None)) == list(LINEUP)
    with pytest.raises(InputError, match="unknown entrant 'online-fd': did you mean 'online-fed'"):
        entrants_of("online-fd")
