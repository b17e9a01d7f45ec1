"""Jobs: as large as their runs take, and with another key whenever anything differs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paofed.algorithms.setup import resolve
from paofed.errors import FileError, ScenarioError
from paofed.simulate.engines import engine_of
from paofed.simulate.engines.task import Task
from paofed.simulate.spread import identity, jobs
from paofed.simulate.spread.jobs import JobSize, around, cut, files_of, key_of_task, require_same
from paofed.world.scenario import Scenario
from paofed.world.worlds import setting_of
from tests.natures import small_trace
from tests.world.table.tables import fleet, hourly, table, write

SETTING = Scenario.load("setting-1")


def task(**changes: Any) -> Task:
    usual: dict[str, Any] = {
        "scenario": SETTING,
        "methods": [resolve("pao-fed-u1")],
        "seed": 0,
        "same_world": False,
        "every": 10,
        "precision": "float32",
        "runs": (),
        "workers": 1,
    }
    return Task(**{**usual, **changes})


def key(engine: str = "fast", **changes: Any) -> str:
    asked = task(**changes)
    return key_of_task(engine, asked, files_of(asked.scenario))


def size_after(*measured: tuple[int, float], engine: str = "fast") -> int:
    """How many runs a job has, after some numbers of runs took some seconds."""
    size = JobSize(engine)
    for runs, seconds in measured:
        size.learn(runs, seconds)
    return size.runs


def test_a_job_is_one_run_until_it_is_known_what_a_run_takes() -> None:
    assert size_after() == 1
    assert size_after((1, 70.0)) == 1
    assert size_after((1, jobs.SECONDS / 3)) == 3
    assert size_after((6, jobs.SECONDS)) == 6
    assert size_after((1, 1e-4)) == size_after((1, 0.0)) == jobs.MOST


def test_a_compiler_that_is_waited_for_counts_once() -> None:
    assert size_after((1, 30.0), (1, jobs.SECONDS / 20), (1, jobs.SECONDS / 2)) == 20


def test_a_card_takes_as_many_as_there_may_be_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    card = replace(engine_of("fast"), on_card=True)
    monkeypatch.setattr(jobs, "engine_of", lambda _: card)
    assert size_after() == jobs.MOST


@given(st.lists(st.integers(0, 300), unique=True).map(sorted), st.lists(st.floats(0.0, 9.0)))
def test_jobs_hold_every_run_once_in_rows_of_the_size_of_the_time(
    runs: list[int], seconds: list[float]
) -> None:
    size, found, left = JobSize("fast"), list[int](), iter(seconds)
    for job in cut(runs, size):
        assert 1 <= len(job) <= size.runs
        found += job
        size.learn(len(job), next(left, 9.0))
    assert found == runs


@given(st.sets(st.integers(0, 300), min_size=1), st.floats(0.01, 9.0), st.data())
def test_a_job_around_a_run_holds_missing_runs_alone_and_is_cut_alike_by_all(
    missing: set[int], seconds: float, data: st.DataObject
) -> None:
    size = JobSize("fast")
    size.learn(1, seconds)
    run = data.draw(st.sampled_from(sorted(missing)))
    job = around(run, missing, size)
    assert run in job
    assert missing >= {*job}
    assert len({one // size.runs for one in job}) == 1
    assert all(around(one, missing, size) == job for one in job)


def test_whatever_is_asked_is_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [
        key(),
        key("reference"),
        key(seed=1),
        key(same_world=True),
        key(every=20),
        key(precision="float64"),
        key(methods=[resolve("pao-fed-u2")]),
        key(methods=[resolve("pao-fed-u1"), resolve("pao-fed-u2")]),
        key(scenario=SETTING.model_copy(update={"step_size": 0.3})),
        key(scenario=setting_of(lambda _, run: small_trace(run))),
        key(scenario=setting_of(lambda _, run: small_trace(run + 1))),
    ]
    here = identity.program()
    monkeypatch.setattr(jobs, "program", lambda: {**here, "numba": "0.1"})
    assert len({*keys, key()}) == len(keys) + 1
    assert key(workers=7) == key()  # who computes is not


def test_files_count_by_their_content(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", hourly(3, 40))
    first, files = key(scenario=fleet(table(path))), files_of(fleet(table(path)))
    other = write(tmp_path / "other.csv", hourly(3, 40))
    assert key(scenario=fleet(table(other), name=fleet(table(path)).name)) == first
    require_same(files, "here")
    write(path, hourly(3, 40, seed=1))
    assert key(scenario=fleet(table(path))) != first
    with pytest.raises(ScenarioError, match=r"t\.csv on here is another file than it was"):
        require_same(files, "here")
    path.unlink()
    with pytest.raises(FileError, match=r"t\.csv cannot be read"):
        require_same(files, "here")
