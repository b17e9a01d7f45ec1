"""clip, aside and bound: options of every row that shares."""

from dataclasses import replace

import pytest

from paofed.algorithms import ALGORITHMS, algorithm, options_of
from paofed.algorithms.spec import from_text
from paofed.core.bounded import Bounded
from paofed.core.learners import Chosen, chosen
from paofed.core.parts import Learner, ServerRule
from paofed.core.rules import LMS, Newest
from paofed.core.staleness import Geometric
from paofed.errors import AlgorithmError

U1 = algorithm("pao-fed-u1")


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_row_takes_them(name: str) -> None:
    plain = algorithm(name, subset=0.5 if "subset" in options_of(name) else None)
    row = algorithm(plain, clip=6, aside=False, bound=3.5)
    assert isinstance(plain.server, Newest)
    assert row.server == Bounded(plain.server.staleness, "class", 6, aside=False)
    assert chosen(row.learner) == Chosen(bound=3.5)
    assert replace(row, name=plain.name, server=plain.server, learner=LMS) == plain


def test_they_are_said_in_names() -> None:
    assert algorithm("pao-fed-c2", clip=6).name == "pao-fed-c2:clip=6"
    said = from_text("pao-fed-c2:clip=4.5,aside=no,bound=6,divisor=coverage")
    assert said.server == Bounded(Geometric(0.2), "coverage", 4.5, aside=False)
    assert said.name == "pao-fed-c2:clip=4.5,aside=no,bound=6,divisor=coverage"
    assert from_text("pao-fed-c2:clip=4.5,aside=yes").server == Bounded(Geometric(0.2), clip=4.5)


def test_they_can_be_set_again() -> None:
    cut = algorithm("pao-fed-u1", clip=6, bound=6)
    other = algorithm(cut, clip=3, aside=False, staleness=0.2, bound=2)
    assert other.server == Bounded(Geometric(0.2), clip=3, aside=False)
    assert other.describe()["learner"] == algorithm("pao-fed-u1", bound=2).describe()["learner"]
    assert other.describe()["learner"] != cut.describe()["learner"]
    assert other.name == "pao-fed-u1:staleness=0.2,clip=3,aside=false,bound=2"
    assert algorithm(cut, aside=False).server == Bounded(Geometric(1.0), clip=6, aside=False)


def test_a_record_says_what_they_are() -> None:
    assert algorithm(U1, clip=6).describe()["server"] == {
        "kind": "Bounded",
        "staleness": {"kind": "Geometric", "base": 1.0},
        "divisor": "class",
        "clip": 6,
        "aside": True,
    }


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("aside=no", "pao-fed-u1:aside=false sets nobody aside without clip: give clip too"),
        ("clip=0", "clip is 0: expected a finite number above 0"),
        ("clip=-2", "clip is -2: expected a finite number above 0"),
        ("clip=much", "clip is 'much': expected a finite number above 0"),
        ("clip=6,aside=maybe", "aside is 'maybe': expected yes or no"),
        ("bound=0", "bound is 0: expected a finite number above 0"),
    ],
)
def test_what_cannot_be_is_told(options: str, complaint: str) -> None:
    with pytest.raises(AlgorithmError, match=f"^{complaint}"):
        from_text(f"pao-fed-u1:{options}")


def test_rules_of_one_s_own_have_no_such_options() -> None:
    server = replace(U1, name="mine", server=ServerRule(apply=lambda state, *_: state))
    with pytest.raises(
        AlgorithmError, match="a server rule of its own, which has no option 'clip'"
    ):
        algorithm(server, clip=6)
    learner = replace(U1, name="mine", learner=Learner(learn=lambda state, *_: state))
    with pytest.raises(AlgorithmError, match="a learner of its own, which has no option 'bound'"):
        algorithm(learner, bound=6)


@pytest.mark.parametrize(
    ("options", "left_out"),
    [("clip=6", "clip"), ("bound=6", "bound"), ("clip=6,bound=6", "clip and bound")],
)
def test_who_knows_linear_rules_alone_says_so(options: str, left_out: str) -> None:
    with pytest.raises(
        AlgorithmError,
        match=rf"^pao-fed-u1:{options} cuts what lies far out, which is not linear: theory knows "
        rf"linear rules alone; leave out {left_out}$",
    ):
        from_text(f"pao-fed-u1:{options}").require_paper_parts("theory")
