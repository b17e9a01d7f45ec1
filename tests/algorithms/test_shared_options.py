"""clip, aside, bound, learner and forgetting: options of every row that shares and learns."""

from dataclasses import replace
from typing import Any

import pytest

from paofed.algorithms import ALGORITHMS, algorithm, options_of
from paofed.algorithms.setup import resolve
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
    quick = algorithm(plain, learner="two-speed", forgetting=0.5)
    assert chosen(quick.learner) == Chosen("two-speed", 0.5)
    assert replace(quick, name=plain.name, learner=LMS) == plain


def test_they_are_said_in_names() -> None:
    assert algorithm("pao-fed-c2", clip=6).name == "pao-fed-c2:clip=6"
    said = resolve("pao-fed-c2:clip=4.5,aside=no,bound=6,divisor=coverage")
    assert said.server == Bounded(Geometric(0.2), "coverage", 4.5, aside=False)
    assert said.name == "pao-fed-c2:clip=4.5,aside=no,bound=6,divisor=coverage"
    assert resolve("pao-fed-c2:clip=4.5,aside=yes").server == Bounded(Geometric(0.2), clip=4.5)
    squares = resolve("pao-fed-u1:learner=rls,bound=6")
    assert chosen(squares.learner) == Chosen("rls", 0.97, 6.0)
    assert squares.name == "pao-fed-u1:learner=rls,bound=6"


def test_they_can_be_set_again() -> None:
    cut = algorithm("pao-fed-u1", clip=6, bound=6)
    other = algorithm(cut, clip=3, aside=False, staleness=0.2, bound=2)
    assert other.server == Bounded(Geometric(0.2), clip=3, aside=False)
    assert chosen(other.learner) == Chosen(bound=2)
    assert other.name == "pao-fed-u1:staleness=0.2,clip=3,aside=false,bound=2"
    assert algorithm(cut, aside=False).server == Bounded(Geometric(1.0), clip=6, aside=False)
    squares = algorithm(cut, learner="rls", forgetting=0.5)
    assert chosen(algorithm(squares, forgetting=0.9).learner) == Chosen("rls", 0.9, 6.0)
    quick = algorithm(squares, learner="two-speed")
    assert chosen(quick.learner) == Chosen("two-speed", 0.9, 6.0)  # its own forgetting
    assert chosen(algorithm(quick, learner="lms").learner) == Chosen(bound=6.0)


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
        ("clip=6,aside=maybe", "aside is 'maybe': expected yes or no"),
        ("bound=0", "bound is 0: expected a finite number above 0"),
    ],
)
def test_what_cannot_be_is_told(options: str, complaint: str) -> None:
    with pytest.raises(AlgorithmError, match=f"^{complaint}"):
        resolve(f"pao-fed-u1:{options}")


SERVER = replace(U1, name="mine", server=ServerRule(apply=lambda state, *_: state))
LEARNER = replace(U1, name="mine", learner=Learner(learn=lambda state, *_: state))


@pytest.mark.parametrize(
    ("mine", "options", "complaint"),
    [
        (SERVER, {"clip": 6}, "a server rule of its own, which has no option 'clip'"),
        (LEARNER, {"bound": 6}, "a learner of its own, which has no option 'bound'"),
        (LEARNER, {"learner": "rls"}, "a learner of its own, which has no option 'learner'"),
    ],
)
def test_rules_of_one_s_own_have_no_such_options(
    mine: Any, options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(AlgorithmError, match=complaint):
        algorithm(mine, **options)


LINEAR = "cuts what lies far out, which is not linear: theory knows linear rules alone; leave out"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("bound=6", f"{LINEAR} bound"),
        ("clip=6,bound=6", f"{LINEAR} clip and bound"),
        ("learner=rls,bound=6", "learns by rls: theory knows LMS steps alone; leave out learner"),
    ],
)
def test_who_knows_linear_rules_alone_says_so(options: str, why: str) -> None:
    with pytest.raises(AlgorithmError, match=rf"^pao-fed-u1:{options} {why}$"):
        resolve(f"pao-fed-u1:{options}").require_paper_parts("theory")
