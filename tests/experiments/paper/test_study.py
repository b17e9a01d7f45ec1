"""The study: every number it judges by is written down, to the last digit."""

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from paofed.core.arrays import FloatArray
from paofed.experiments.paper.claims import CLAIMS, better
from paofed.experiments.paper.study import EXCHANGES, ROWS, Cell, Study
from paofed.simulate.results.estimates import estimate
from paofed.simulate.results.result import Result
from tests.experiments.paper.test_claims import from_db, made_up

DATA = Path(__file__).parents[3] / "docs" / "data"
LINEUP = (*ROWS, *(str(other) for _, other in EXCHANGES))
ON_GRID = tuple(name for name in ROWS if not name.startswith("pso-fed"))
CELLS = tuple(Cell(width, step) for width in (0.7, 1.0) for step in (0.1, 0.2, 0.4))


def random_result(rng: np.random.Generator, names: Sequence[str], runs: int) -> Result:
    curves = {name: from_db(rng.normal(-10, 3, size=(runs, 40))) for name in names}
    sent = {name: np.cumsum(rng.integers(1, 9, size=(runs, 40)), axis=1) for name in names}
    return made_up(curves, sent)


@pytest.fixture(scope="module")
def study() -> Study:
    rng = np.random.default_rng(5)
    results = {name: random_result(rng, LINEUP, 5) for name in ("setting-1", "setting-2")}
    results["ideal"] = random_result(rng, ("pao-fed-c1", "pao-fed-u1"), 5)
    grid = {
        cell: {name: random_result(rng, ON_GRID, 4) for name in ("setting-1", "setting-2")}
        for cell in CELLS
    }
    return Study(results, grid)


@pytest.fixture(scope="module")
def folder(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    study.save(folder)
    return folder


def read(path: Path, *keys: str) -> dict[tuple[str, ...], dict[str, str]]:
    """The rows of a table by the columns that name them; no name may come twice."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    named = {tuple(row[key] for key in keys): row for row in rows}
    assert len(named) == len(rows)
    return named


def floats(row: Mapping[str, str], *columns: str) -> list[float]:
    return [float(row[column]) for column in columns]


INTERVAL = ("mean", "low", "high", "runs")


def test_the_final_errors_and_traffic_of_everyone(study: Study, folder: Path) -> None:
    rows = read(folder / "finals.csv", "setting", "algorithm")
    assert len(rows) == 2 * len(LINEUP) + 2
    for setting, result in study.results.items():
        for name in result.algorithms:
            row = rows[setting, name]
            assert floats(row, "db", "db_se") == list(result.final(name))
            assert floats(row, "sent_up", "sent_down") == list(result.sent(name))
            assert row["runs"] == "5"


def test_every_claim_with_what_was_judged(study: Study, folder: Path) -> None:
    rows = read(folder / "claims.csv", "claim")
    assert len(rows) == len(CLAIMS)
    for claim in CLAIMS:
        row, found = rows[(claim.key,)], claim.judge(study.results)
        assert floats(row, *INTERVAL) == list(found.above(claim.level))
        assert (row["verdict"], row["unit"]) == (found.verdict, claim.unit)


def test_every_claim_with_its_count_over_the_grid(folder: Path) -> None:
    cells = read(folder / "grid.csv", "claim", "kernel_width", "step_size")
    for (key,), row in read(folder / "claims.csv", "claim").items():
        verdicts = [cell["verdict"] for (claim, *_), cell in cells.items() if claim == key]
        counts = [verdicts.count(v) for v in ("holds", "does not hold")]
        expected = [str(count) for count in (*counts, len(verdicts))] if verdicts else [""] * 3
        assert [row[f"grid_{what}"] for what in ("holds", "fails", "cells")] == expected


@pytest.mark.parametrize(
    ("name", "same"),
    [("claims.csv", ("claim", "unit", "level")), ("exchanges.csv", ("setting", "paper", "other"))],
)
def test_the_documents_have_what_a_study_writes_today(
    name: str, same: tuple[str, ...], folder: Path
) -> None:
    """Their numbers are of a study that takes minutes; if this fails, run it again."""
    kept, today = (read(place / name, *same) for place in (DATA, folder))
    assert list(kept) == list(today)
    for key, row in today.items():
        assert list(kept[key]) == list(row)
        assert [cell == "" for cell in kept[key].values()] == [cell == "" for cell in row.values()]


def test_every_claim_in_every_cell_of_the_grid(study: Study, folder: Path) -> None:
    rows = read(folder / "grid.csv", "claim", "kernel_width", "step_size")
    judged = [claim for claim in CLAIMS if claim.on_grid]
    assert len(rows) == len(judged) * len(CELLS)
    for claim in judged:
        for cell in CELLS:
            row = rows[claim.key, str(cell.kernel_width), str(cell.step_size)]
            found = claim.judge(study.grid[cell])
            assert floats(row, *INTERVAL) == list(found.above(claim.level))
            assert row["verdict"] == found.verdict


def test_how_much_worse_one_exchange_is(study: Study, folder: Path) -> None:
    rows = read(folder / "exchanges.csv", "setting", "paper", "other")
    assert len(rows) == 2 * len(EXCHANGES)
    for (setting, paper, other), row in rows.items():
        assert other.startswith(f"{paper}:exchange=")
        worse = estimate(better(paper, other, setting)(study.results))
        assert floats(row, *INTERVAL) == list(worse)


def test_the_curves_of_everyone(study: Study, folder: Path) -> None:
    for setting, result in study.results.items():
        rows = read(folder / f"curves-{setting}.csv", "algorithm", "tick")
        assert len(rows) == len(result.algorithms) * len(result.ticks)
        for name in result.algorithms:
            mean, _ = result.curve(name)
            written = [float(rows[name, str(tick)]["mse"]) for tick in result.ticks]
            assert written == mean.tolist()


def graded(errors: Mapping[Cell, float]) -> Study:
    """A study whose algorithms have the given final error in dB in each cell of the grid."""
    grid = {}
    for cell, db in errors.items():
        curve: FloatArray = np.full((3, 40), 10 ** (db / 10))
        grid[cell] = {
            name: made_up({"a": curve, "b": curve}) for name in ("setting-1", "setting-2")
        }
    return Study({}, grid)


def test_the_best_cell_of_the_grid(study: Study, folder: Path) -> None:
    rows = read(folder / "best-steps.csv", "setting", "algorithm")
    assert len(rows) == 2 * len(ON_GRID)
    for (setting, name), row in rows.items():
        best = Cell(*floats(row, "kernel_width", "step_size"))
        last_two = {  # 5 % of 40 ticks
            cell: np.log10(results[setting].run_curves(name)[:, -2:].mean(axis=1)).mean() * 10
            for cell, results in study.grid.items()
        }
        assert last_two[best] == min(last_two.values())
        assert float(row["db"]) == pytest.approx(last_two[best])


@pytest.mark.parametrize("diverged", [math.inf, math.nan])
def test_a_diverged_cell_is_not_the_best(diverged: float) -> None:
    errors = [diverged, -3.0, diverged, -7.0, -5.0, diverged]
    found = list(graded(dict(zip(CELLS, errors, strict=True))).best_steps())
    assert [line[:4] for line in found] == [
        (setting, name, CELLS[3].step_size, CELLS[3].kernel_width)
        for setting in ("setting-1", "setting-2")
        for name in ("a", "b")
    ]
    assert [line[4] for line in found] == pytest.approx([-7.0] * 4)


def test_an_algorithm_that_diverges_everywhere_does_not_end_the_study() -> None:
    found = list(graded(dict.fromkeys(CELLS, math.nan)).best_steps())
    assert not any(math.isfinite(line[4]) for line in found)
