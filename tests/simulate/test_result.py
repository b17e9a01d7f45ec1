import csv
from pathlib import Path

import numpy as np
import pytest

from paofed.errors import FileError, InputError
from paofed.simulate.result import Result, curve_ticks
from tests.natures import small_trace


def made(mse: list[list[list[float]]], ticks: int = 4) -> Result:
    curves = np.array(mse)
    runs, algorithms, _ = curves.shape
    names = ["a", "b", "c"][:algorithms]
    return Result(
        provenance={"algorithms": [{"name": name} for name in names], "scenario": {"name": "s"}},
        ticks=np.arange(ticks),
        mse=curves,
        sent=np.broadcast_to(25 * np.arange(1, ticks + 1), curves.shape),
        sent_up=np.full((runs, algorithms), 40),
        sent_down=np.full((runs, algorithms), 60),
        models=np.zeros((runs, algorithms, 3)),
    )


TWO_RUNS = made([[[1.0, 1.0, 0.1, 0.1]], [[3.0, 1.0, 0.1, 0.3]]])


def test_curves_are_linear_means_with_standard_errors() -> None:
    mean, error = TWO_RUNS.curve("a")
    np.testing.assert_allclose(mean, [2.0, 1.0, 0.1, 0.2])
    np.testing.assert_allclose(error, [1.0, 0.0, 0.0, 0.1])
    db, db_error = TWO_RUNS.curve_db("a")
    np.testing.assert_allclose(db, 10 * np.log10(mean))
    # The first-order error is the derivative of the decibel: compare with a small difference.
    step = 1e-6
    slope = (10 * np.log10(2.0 + step) - 10 * np.log10(2.0)) / step
    assert db_error[0] == pytest.approx(slope * 1.0, rel=1e-5)


def test_the_final_error_is_the_mean_of_the_last_twentieth() -> None:
    curve = [1.0] * 95 + [0.1] * 5
    result = made([[curve], [curve]], ticks=100)
    assert result.final("a").db == pytest.approx(-10.0)
    assert result.final("a").standard_error == pytest.approx(0.0)


def test_one_run_has_no_standard_error() -> None:
    assert np.isnan(made([[[1.0, 1.0, 1.0, 1.0]]]).final("a").standard_error)


def test_divergence_is_counted_and_located() -> None:
    result = made([[[1.0, np.inf, np.nan, np.nan], [1.0] * 4], [[1.0] * 4, [1.0] * 4]])
    assert result.diverged("a") == (1, 1)
    assert result.diverged("b") == (0, None)
    assert not np.isfinite(result.final("a").db)


def test_traffic_and_summary() -> None:
    line = TWO_RUNS.summary()[0]
    assert (line["sent_up"], line["bytes_up"], line["bytes_down"]) == (40, 160, 240)


def test_one_file_there_and_back(tmp_path: Path) -> None:
    TWO_RUNS.save(tmp_path / "r.npz")
    back = Result.load(tmp_path / "r.npz")
    np.testing.assert_array_equal(back.mse, TWO_RUNS.mse)
    assert back.provenance == TWO_RUNS.provenance
    assert back.algorithms == ["a"]


def test_a_file_that_is_no_result(tmp_path: Path) -> None:
    small_trace(0).save(tmp_path / "t.npz")
    with pytest.raises(FileError, match=r"t\.npz is not a result: it holds x, y"):
        Result.load(tmp_path / "t.npz")


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="unknown algorithm 'x'"):
        TWO_RUNS.final("x")


def test_tidy_csv(tmp_path: Path) -> None:
    TWO_RUNS.to_csv(tmp_path / "c.csv")
    with (tmp_path / "c.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4
    assert rows[3]["algorithm"] == "a"
    assert (int(rows[3]["tick"]), int(rows[3]["runs"])) == (3, 2)
    assert float(rows[3]["mse"]) == 0.2  # every digit is kept
    assert float(rows[3]["db"]) == pytest.approx(10 * np.log10(0.2))


@pytest.mark.parametrize(
    ("ticks", "every", "points"),
    [(6, 2, [1, 3, 5]), (7, 3, [2, 5, 6]), (3, 10, [2]), (3, 1, [0, 1, 2])],
)
def test_points_of_a_curve(ticks: int, every: int, points: list[int]) -> None:
    assert curve_ticks(ticks, every).tolist() == points
