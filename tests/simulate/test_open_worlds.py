"""`run` over a function that makes traces gives what the scenario that makes them gives."""

import csv
import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paofed import Interrupted, Result, Trace, Worlds, realize, run
from paofed.algorithms import algorithm
from paofed.cli import main
from paofed.errors import FileError, InputError, ScenarioError, TraceError
from paofed.report.run.page import write as write_page
from paofed.world.scenario import Scenario
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


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_that_goes_wrong_is_named(engine: str, workers: int) -> None:
    def fails_late(world: int, run: int) -> Trace:
        return realize(DRIFTING, world, run, seed=1 // (2 - world))

    with pytest.raises(
        TraceError, match="late, world 2, run 0: its function raised ZeroDivisionError: integer"
    ):
        run(Worlds("late", fails_late), "pao-fed-u1", runs=3, engine=engine, workers=workers)


def test_an_interrupt_keeps_what_was_finished() -> None:
    def interrupts(world: int, run: int) -> Trace:
        if world == 2:
            raise KeyboardInterrupt
        return realize(DRIFTING, world, run)

    heard: list[float] = []
    options: dict[str, Any] = {"engine": "reference", "workers": 1, "report": heard.append}
    with pytest.raises(Interrupted) as interrupt:
        run(interrupts, "pao-fed-u1", runs=4, **options)
    assert interrupt.value.result is not None
    assert interrupt.value.result.provenance["runs_finished"] == [0, 1]
    assert heard == [0.25, 0.5]


def test_what_needs_a_scenario_says_so() -> None:
    with pytest.raises(InputError, match="has no table of readings: a function makes its traces"):
        run(worlds_of(DRIFTING), "pao-fed-u1", cold_starts=2)
    with pytest.raises(InputError, match="shared is 40, but the model has only 24 features"):
        run(worlds_of(DRIFTING), algorithm("pao-fed-u1", shared=40))


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


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        (["kind"], "scenario", "kernel_width"),
        (["about"], None, "about"),
        (["max_age"], "10", "max_age"),
        (["stream", "function"], 3, "stream.function"),
    ],
)
def test_a_saved_result_that_says_nonsense_of_its_worlds(
    path: list[str], value: object, place: str, tmp_path: Path
) -> None:
    result = run(worlds_of(DRIFTING), METHODS[:1])
    scenario = json.loads(json.dumps(result.provenance["scenario"]))
    *above, last = path
    inner = scenario
    for key in above:
        inner = inner[key]
    inner[last] = value
    forged = replace(result, provenance={**result.provenance, "scenario": scenario})
    forged.save(tmp_path / "r.npz")
    with pytest.raises(FileError, match=f"its provenance.scenario.{place} is missing or of"):
        Result.load(tmp_path / "r.npz")
