"""Predicted learning curves beside simulated ones: the gap, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from paofed.core.arrays import FloatArray
from paofed.report.paper.figures import mean_and_learning
from paofed.report.paper.theory import COLUMNS, GAP, PARTS, PREDICTED, Beside
from paofed.simulate.average import Average
from paofed.theory.gap import Gap
from paofed.theory.mean import Prediction
from paofed.theory.second.curve import LearningCurve

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
