"""Predicted learning curves beside simulated ones: the gap, and what is refused."""

import signal
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from paofed.core.arrays import FloatArray
from paofed.errors import AlgorithmError
from paofed.experiments.paper.theory import (
    COLUMNS,
    GAP,
    PARTS,
    PREDICTED,
    AskedOfTheory,
    Beside,
    SaidByTheory,
    foreseeing,
    theory_beside,
)
from paofed.report.paper.figures import mean_and_learning
from paofed.simulate.average import Average
from paofed.simulate.stopping import ignored
from paofed.theory.gap import Gap
from paofed.theory.mean import Prediction
from paofed.theory.second.curve import LearningCurve
from tests.effort import long
from tests.natures import small_scenario

TICKS = np.array([9, 49, 59, 99])


def curve(mse: list[float]) -> LearningCurve:
    return LearningCurve(
        "u1", TICKS, 0.01, np.full(4, 0.02), np.array(mse) - 0.04, np.full(4, 0.01)
    )


def beside(predicted: list[float], simulated: list[float], errors: float = 0.0) -> Beside:
    models: FloatArray = np.zeros((1, 4, 2))
    mean = Prediction(["u1"], TICKS, models, np.array([predicted]) - 0.01)
    learning = np.array([simulated])
    average = Average(2, TICKS, models, models, learning / 2, learning, np.full((1, 4), errors))
    return Beside(mean, average, {"u1": curve(predicted)})


def test_the_gap_is_the_largest_from_tick_50_on() -> None:
    both = beside([9.0, 9.0, 1.0, 0.5], [1.0, 1.0, 1.1, 0.5], errors=0.11)
    gap = both.gap("u1")
    assert gap is not None
    assert gap.tick == 59
    assert gap.db == pytest.approx(10 * np.log10(1 / 1.1))
    assert gap.error == pytest.approx(10 * np.log10(np.e) * 0.11 / 1.1)
    assert not gap.refused


@pytest.mark.parametrize(("factor", "refused"), [(1.11, False), (1.13, True), (0.88, True)])
def test_half_a_decibel_is_refused(factor: float, refused: bool) -> None:
    both = beside([1.0, 1.0, 1.0, factor], [1.0] * 4)
    curves = both.curves("u1")
    assert tuple(curves) == COLUMNS
    for key in (PREDICTED, *PARTS):
        assert np.isnan(curves[key]).all() == refused
    assert curves[GAP] == pytest.approx([10 * np.log10(factor)] * 4)
    assert (both.shown("u1") is None) == refused
    (panel,) = mean_and_learning({"here": both}).axes
    assert panel.get_title(loc="left").startswith("u1, gap ")
    lines = [line.get_label() for line in panel.get_lines()]
    assert ("learning curve, predicted" in lines) != refused
    assert "learning curve, simulated" in lines


@pytest.mark.parametrize(
    ("predicted", "simulated", "refused"),
    [(np.inf, np.nan, False), (np.inf, 1.0, True), (1.0, np.nan, True)],
)
def test_what_diverges_must_diverge_in_both(
    predicted: float, simulated: float, refused: bool
) -> None:
    gap = beside([1.0, 1.0, 1.0, predicted], [1.0, 1.0, 1.0, simulated]).gap("u1")
    assert gap is not None
    assert gap.refused == refused


@pytest.mark.parametrize(("db", "refused"), [(0.3, False), (-0.7, True)])
def test_without_runs_beside_those_that_theory_made_count(db: float, refused: bool) -> None:
    gap = Gap(db, tick=99, error=0.1, runs=16)
    second = {"u1": replace(curve([1.0] * 4), gap=gap)}
    alone = beside([1.0] * 4, [1.0] * 4)._replace(simulated=None, second=second)
    assert alone.gap("u1") == gap
    assert (alone.shown("u1") is None) == refused
    assert alone.curves("u1")[GAP] == [db] * 4


def test_without_runs_or_second_moments_there_is_no_gap() -> None:
    both = beside([1.0] * 4, [1.0] * 4)
    alone = both._replace(simulated=None)
    assert alone.gap("u1") is None
    assert alone.shown("u1") is not None
    assert GAP not in alone.curves("u1")
    mean_alone = both._replace(second=None)
    assert mean_alone.gap("u1") is None
    assert PREDICTED not in mean_alone.curves("u1")


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
