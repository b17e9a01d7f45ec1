"""The folder of a task: which runs are free, whatever jobs others make of them."""

import resource
from pathlib import Path

import numpy as np
import pytest

from paofed.simulate.results.outcome import RunRecord
from paofed.simulate.spread.store import FinishedJob, JobStore


def test_names_that_no_job_has_are_passed_over(tmp_path: Path) -> None:
    """A name may say any number of runs: none of them is counted one by one."""
    folder = tmp_path / "key"
    folder.mkdir()
    for name in ("0-999999999999", f"0-{'9' * 99}", "3", "-", "a-b", "5-2", "²-³"):
        (folder / f"{name}.npz").touch()
    store = JobStore(tmp_path, "key")
    assert store.runs == set()
    assert list(store.finished(range(5))) == []


def save(store: JobStore, job: range) -> None:
    """Write a job of small records."""
    shapes = [(1, 2), (1, 7, 2), (1, 3), (1, 2, 0), (1, 2, 5, 0)]
    record = RunRecord._make(np.ones(shape) for shape in shapes)
    store.save(FinishedJob(dict.fromkeys(job, record), "a processor", 1.0), {})


def runs_in(store: JobStore, runs: range) -> list[int]:
    return [run for job in store.finished(runs) for run in job.records]


def test_a_job_that_cannot_be_read_now_is_computed_again_and_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """This process may open no more files, once the first job is read."""
    store = JobStore(tmp_path, "key")
    for run in range(2):
        save(store, range(run, run + 1))
    path = tmp_path / "key" / "1-1.npz"
    whole, jobs = path.read_bytes(), store.finished(range(2))
    assert [*next(jobs).records] == [0]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        assert list(jobs) == []
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert caplog.messages == [f"{path} cannot be read: Too many open files; it is computed again"]
    assert path.read_bytes() == whole
    assert store.runs == {0}
    assert runs_in(JobStore(tmp_path, "key"), range(2)) == [0, 1]


def test_a_damaged_job_is_missing_until_it_is_written_again(tmp_path: Path) -> None:
    store = JobStore(tmp_path, "key")
    save(store, range(2))
    (tmp_path / "key" / "0-1.npz").write_bytes(b"")
    assert runs_in(store, range(2)) == []
    assert store.runs == set()
    save(store, range(2))
    assert store.runs == {0, 1}
    assert runs_in(store, range(2)) == [0, 1]


def test_a_damaged_job_whose_runs_are_in_other_jobs_is_not_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Jobs were cut otherwise when its runs were computed again, so nothing replaced its file."""
    store = JobStore(tmp_path, "key")
    save(store, range(1))
    save(store, range(1, 2))
    (tmp_path / "key" / "0-1.npz").write_bytes(b"")
    assert runs_in(store, range(2)) == [0, 1]
    assert caplog.messages == []
