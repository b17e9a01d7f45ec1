"""learner and forgetting: options of every row that learns."""

from dataclasses import replace

import pytest

from paofed.algorithms import ALGORITHMS, algorithm, options_of
from paofed.algorithms.spec import from_text
from paofed.core.learners import Chosen, chosen
from paofed.core.parts import Learner
from paofed.core.rules import LMS
from paofed.errors import AlgorithmError

U1 = algorithm("pao-fed-u1")


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_row_takes_them(name: str) -> None:
    plain = algorithm(name, subset=0.5 if "subset" in options_of(name) else None)
    row = algorithm(plain, learner="two-speed", forgetting=0.5)
    assert chosen(row.learner) == Chosen("two-speed", 0.5)
    assert replace(row, name=plain.name, learner=LMS) == plain


def test_they_are_said_in_names_and_can_be_set_again() -> None:
    said = from_text("pao-fed-u1:learner=rls,bound=6")
    assert chosen(said.learner) == Chosen("rls", 0.97, 6.0)
    assert said.name == "pao-fed-u1:learner=rls,bound=6"
    assert chosen(algorithm(said, forgetting=0.9).learner) == Chosen("rls", 0.9, 6.0)
    other = algorithm(algorithm(said, forgetting=0.5), learner="two-speed")
    assert chosen(other.learner) == Chosen("two-speed", 0.9, 6.0)  # its own forgetting
    assert chosen(algorithm(other, learner="lms").learner) == Chosen(bound=6.0)


def test_rules_of_one_s_own_have_no_such_options() -> None:
    mine = replace(U1, name="mine", learner=Learner(learn=lambda state, *_: state))
    with pytest.raises(AlgorithmError, match="a learner of its own, which has no option 'learner'"):
        algorithm(mine, learner="rls")


def test_who_knows_lms_alone_says_so() -> None:
    with pytest.raises(
        AlgorithmError,
        match=r"^pao-fed-u1:learner=rls,bound=6 learns by rls: theory knows LMS steps alone; "
        r"leave out learner$",
    ):
        from_text("pao-fed-u1:learner=rls,bound=6").require_paper_parts("theory")
