"""What theory predicts for the study is the same whoever works it out."""

import signal
import subprocess

import numpy as np
import pytest

from paofed.errors import AlgorithmError
from paofed.report.paper.foreseen import AskedOfTheory, SaidByTheory, foreseeing
from paofed.report.paper.theory import theory_beside
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


def test_who_asks_for_theory_beside_runs_is_told_the_same() -> None:
    asked = foreseen(workers=1)
    beside = theory_beside(QUESTION.scenario, NAMES, learning=NAMES[1:], seed=3, every=30)
    assert beside.simulated is None
    assert np.array_equal(beside.prediction.mse, asked.mean.mse)
    assert beside.second is not None
    assert list(beside.second) == list(NAMES[1:])
    for name, curve in beside.second.items():
        assert np.array_equal(curve.mse, asked.second[name].mse)


@long
def test_what_goes_wrong_in_the_process_is_raised_where_the_answer_is_awaited() -> None:
    wrong = QUESTION._replace(methods=("nobody",))
    with (
        foreseeing({"here": wrong}, 3, workers=2) as answers,
        pytest.raises(AlgorithmError, match="unknown algorithm 'nobody'"),
    ):
        answers["here"](ignored)


def test_whoever_leaves_early_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)  # type: ignore[call-overload]
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    with pytest.raises(KeyboardInterrupt), foreseeing({"here": QUESTION, "too": QUESTION}, 3, 2):
        raise KeyboardInterrupt
    (process,) = started
    assert process.returncode == -signal.SIGKILL
