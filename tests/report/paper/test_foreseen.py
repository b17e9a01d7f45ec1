"""What theory predicts for the study is the same whoever works it out."""

import numpy as np

from paofed.report.paper.foreseen import AskedOfTheory, SaidByTheory, foreseeing
from paofed.simulate.stopping import ignored
from tests.effort import long
from tests.natures import small_scenario

NAMES = ("online-fedsgd", "pao-fed-u1:shared=2")
QUESTION = AskedOfTheory(small_scenario(), NAMES, NAMES[1:], every=30)


def foreseen(workers: int) -> SaidByTheory:
    with foreseeing({"here": QUESTION}, 3, workers) as answers:
        return answers["here"](ignored)


@long
def test_a_process_of_its_own_finds_the_same() -> None:
    here, elsewhere = foreseen(workers=1), foreseen(workers=2)
    assert QUESTION.takes_long
    assert np.array_equal(here.mean.mse, elsewhere.mean.mse)
    assert here.mean.names == elsewhere.mean.names == list(NAMES)
    assert list(elsewhere.second) == list(NAMES[1:])
    for name, curve in elsewhere.second.items():
        assert np.array_equal(curve.mse, here.second[name].mse)
    assert (here.steps.bound, here.steps.typical) == (
        elsewhere.steps.bound,
        elsewhere.steps.typical,
    )


def test_progress_is_told_to_the_end() -> None:
    shares: list[float] = []
    with foreseeing({"here": QUESTION}, 3, workers=1) as answers:
        answers["here"](shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
