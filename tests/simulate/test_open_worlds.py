"""`run` over a function that makes traces gives what the scenario that makes them gives."""

import csv
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed import Result, Trace, Worlds, realize, run
from paofed.cli import main
from paofed.errors import FileError, ScenarioError, TraceError
from paofed.report.run.page import write as write_page
from paofed.world.scenario import Scenario
from tests.effort import some
from tests.natures import small_scenario

SEED = 6
DRIFTING = small_scenario(ticks=90, clients=6, stream={"samples": (40, 60, 90), "drifts": (50,)})
METHODS = ["pao-fed-u1:step_size=0.3", "online-fed:subset=0.5", "pao-fed-c2:exchange=live"]


def worlds_of(scenario: Scenario, **about: Any) -> Worlds:
    return Worlds(
        scenario.name,
        lambda world, run: realize(scenario, world, run, seed=SEED),
        step_size=scenario.step_size,
        max_age=scenario.max_age,
        about=about,
    )


@pytest.fixture(scope="module", params=["fast", "reference"])
def both(request: pytest.FixtureRequest) -> tuple[Result, Result]:
    """The same from a scenario and from a function, on one of the engines."""
    options: dict[str, Any] = {"runs": 3, "precision": "float64", "every": 20, "workers": 1}
    options |= {"engine": request.param}
    known = run(DRIFTING, METHODS, seed=SEED, **options)
    return known, run(worlds_of(DRIFTING, rooms=4), METHODS, seed=SEED, **options)


def test_events_and_counts_are_equal_and_errors_nearly(both: tuple[Result, Result]) -> None:
    known, found = both
    np.testing.assert_array_equal(found.ticks, known.ticks)
    np.testing.assert_array_equal(found.traffic, known.traffic)
    np.testing.assert_allclose(found.mse, known.mse, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.models, known.models, rtol=0, atol=1e-9)
    assert (found.drifts, found.places) == (known.drifts, known.places)
    assert [line.keys() for line in found.summary()] == [line.keys() for line in known.summary()]
    assert found.provenance.keys() == known.provenance.keys()


def test_the_same_files_and_columns(both: tuple[Result, Result], tmp_path: Path) -> None:
    arrays, columns = [], []
    for name, result in zip(("known", "found"), both, strict=True):
        result.save(tmp_path / f"{name}.npz")
        with np.load(tmp_path / f"{name}.npz") as file:
            arrays.append({key: (file[key].shape, file[key].dtype.kind) for key in file.files})
        result.to_csv(tmp_path / f"{name}.csv")
        with (tmp_path / f"{name}.csv").open() as lines:
            columns.append(next(csv.reader(lines)))
    assert arrays[0] == arrays[1]
    assert columns[0] == columns[1]


def test_one_world_for_all_runs() -> None:
    options: dict[str, Any] = {"runs": 2, "same_world": True, "precision": "float64"}
    asked = set()

    def heard(world: int, run: int) -> Trace:
        asked.add((world, run))
        return realize(DRIFTING, world, run, seed=SEED)

    found = run(Worlds("one", heard, step_size=DRIFTING.step_size), METHODS, **options)
    known = run(DRIFTING, METHODS, seed=SEED, **options)
    np.testing.assert_allclose(found.mse, known.mse, rtol=0, atol=1e-9)
    assert asked == {(0, 0), (0, 1)}


def test_worker_processes_are_sent_the_function() -> None:
    options: dict[str, Any] = {"runs": 3, "engine": "reference"}
    here = run(worlds_of(DRIFTING), METHODS[:1], workers=1, **options)
    there = run(worlds_of(DRIFTING), METHODS[:1], workers=2, **options)
    assert (here.mse == there.mse).all()


def test_what_cannot_be_sent_is_told() -> None:
    lock = threading.Lock()

    def locked(world: int, run: int) -> Trace:
        with lock:
            return realize(DRIFTING, world, run)

    options: dict[str, Any] = {"runs": 2, "engine": "reference"}
    with pytest.raises(ScenarioError, match=r"the function of locks cannot be sent .*workers=1"):
        run(Worlds("locks", locked), "pao-fed-u1", workers=2, **options)
    run(Worlds("locks", locked), "pao-fed-u1", workers=1, **options)


@pytest.mark.parametrize(
    ("workers", "engine"),
    some([(1, "fast"), (2, "fast"), (2, "reference"), (1, "reference")], everyday=2),
)
def test_a_run_that_goes_wrong_is_named(engine: str, workers: int) -> None:
    def fails_late(world: int, run: int) -> Trace:
        return realize(DRIFTING, world, run, seed=1 // (2 - world))

    with pytest.raises(
        TraceError, match="late, world 2, run 0: its function raised ZeroDivisionError: integer"
    ):
        run(Worlds("late", fails_late), "pao-fed-u1", runs=3, engine=engine, workers=workers)


@pytest.mark.usefixtures("without_png")
def test_the_command_line_shows_what_was_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run(worlds_of(DRIFTING, rooms=4), METHODS, runs=2)
    result.save(tmp_path / "r.npz")
    back = Result.load(tmp_path / "r.npz")
    about = back.provenance["scenario"]
    assert about["about"] == {"rooms": 4}
    assert about["stream"]["function"].endswith("<lambda>")
    words = ["result", str(tmp_path / "r.npz"), "--report", str(tmp_path / "page")]
    assert main([*words, "--figure", str(tmp_path / "r.svg")]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{DRIFTING.name}, 2 runs")
    assert "ticks to recover" in out
    again = tmp_path / "again"
    again.mkdir()
    write_page(back, again)
    assert {path.name for path in again.iterdir()} == {
        path.name for path in (tmp_path / "page").iterdir()
    }


def test_a_saved_result_that_says_nonsense_of_its_worlds(tmp_path: Path) -> None:
    result = run(worlds_of(DRIFTING), METHODS[:1])
    scenario = {**result.provenance["scenario"], "about": None}
    forged = replace(result, provenance={**result.provenance, "scenario": scenario})
    forged.save(tmp_path / "r.npz")
    with pytest.raises(FileError, match=r"its provenance\.scenario\.about is missing or of"):
        Result.load(tmp_path / "r.npz")
